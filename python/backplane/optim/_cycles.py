"""Schedulers along cosines and cycles."""

import math

from ._scheduler import LRScheduler, check_count, per_group

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR"]


class CosineAnnealingLR(LRScheduler):
    """From the first rate to eta_min in T_max steps along half a cosine, and back (Loshchilov and Hutter, 2017, without
    restarts).

    Raises:
        ValueError: T_max is below 1.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        check_count("CosineAnnealingLR", "T_max", T_max)
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        epoch, low, rates = self.last_epoch, self.eta_min, self._rates()
        if epoch == 0:
            return rates
        if self._step_count == 1:
            return self._closed_form()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the lowest, times which is 0
            return [
                rate + (base - low) * (1 - math.cos(math.pi / self.T_max)) / 2
                for rate, base in zip(rates, self.base_lrs)
            ]
        factor = (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max))
        return [factor * (rate - low) + low for rate in rates]

    def _closed_form(self):
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine again and again, the first in T_0 steps, each next T_mult times as long (Loshchilov and Hutter,
    2017).

    Raises:
        ValueError: T_0 or T_mult is below 1, or step is given a negative epoch.
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        check_count("CosineAnnealingWarmRestarts", "T_0", T_0)
        check_count("CosineAnnealingWarmRestarts", "T_mult", T_mult)
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch=None):
        """Goes on to the next step, or to a certain one, which may lie between two."""
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            self.T_cur += 1
            if self.last_epoch == 0:
                self.T_cur = 0
            elif self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"CosineAnnealingWarmRestarts: epoch is {epoch}; it must not be negative")
            self.T_cur, self.T_i = self._place(epoch)
            self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())

    def _place(self, epoch):
        if self.T_mult == 1:
            return epoch % self.T_0, self.T_0
        length = self.T_0
        while epoch >= length:
            epoch -= length
            length *= self.T_mult
        return epoch, length


class _WithMomentum(LRScheduler):
    """Momentum, or the first of betas, goes against the rate."""

    def _find_momentum(self, cycle_momentum):
        defaults = self.optimizer.defaults
        self.cycle_momentum = cycle_momentum
        if cycle_momentum and "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                f"{type(self).__name__}: {type(self.optimizer).__name__} has no momentum; give cycle_momentum=False"
            )

    def _set_momentum(self, group, momentum):
        if "betas" in group:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class OneCycleLR(_WithMomentum):
    """Up to max_lr and down far below where it began, while momentum, or the first of betas, goes the other way (Smith
    and Topin, 2018).

    Args:
        total_steps: of the cycle; or `epochs` and `steps_per_epoch`.

    Raises:
        ValueError: options fit nothing; or step is called more often than the cycle has steps.
    """

    _apart = ("optimizer", "_phases")

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
            check_count("OneCycleLR", "epochs", epochs)
            check_count("OneCycleLR", "steps_per_epoch", steps_per_epoch)
            total_steps = epochs * steps_per_epoch
        check_count("OneCycleLR", "total_steps", total_steps)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start is {pct_start}; it must be from 0 to 1")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy is {anneal_strategy!r}; it must be 'cos' or 'linear'")
        self.optimizer, self.total_steps, self._anneal_strategy = optimizer, total_steps, anneal_strategy
        self._phases = _phases(total_steps, float(pct_start), three_phase)
        self._find_momentum(cycle_momentum)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, per_group("OneCycleLR", "max_lr", optimizer, max_lr)):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
            if cycle_momentum:
                lows = per_group("OneCycleLR", "base_momentum", optimizer, base_momentum)
                highs = per_group("OneCycleLR", "max_momentum", optimizer, max_momentum)
                for group, low, high in zip(optimizer.param_groups, lows, highs):
                    group["max_momentum"], group["base_momentum"] = high, low
                    self._set_momentum(group, high)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"OneCycleLR: step {step} of a cycle of {self.total_steps}; make a new scheduler for another cycle"
            )
        start = 0
        for end, *names in self._phases:
            if step <= end or end == self._phases[-1][0]:
                break
            start = end
        part = (step - start) / (end - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[names[0]], group[names[1]], part))
            if self.cycle_momentum:
                self._set_momentum(group, self._between(group[names[2]], group[names[3]], part))
        return rates

    def _between(self, start, end, part):
        if self._anneal_strategy == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * part))


def _phases(total, part, three_phase):
    """The last step of each, and what rates and momenta go from and to: entries of the groups."""
    up = (part * total - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three_phase:
        return [up, (total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    down = (2 * part * total - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
    return [up, down, (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]


class CyclicLR(_WithMomentum):
    """Between base_lr and max_lr, up and down, while momentum, or the first of betas, goes the other way (Smith, 2017).

    Args:
        mode: "triangular"; "triangular2", which halves each cycle; "exp_range", times gamma each step.
        scale_fn: in place of a mode, how high a cycle goes, by its number from 1, or by the step for scale_mode
            "iterations".

    Raises:
        ValueError: the mode is unknown, sizes are not above 0, or the optimizer has no momentum and cycle_momentum is
            on.
    """

    _apart = ("optimizer", "_custom")

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(
                f"CyclicLR: mode is {mode!r}; it must be 'triangular', 'triangular2' or 'exp_range', or give a scale_fn"
            )
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError(f"CyclicLR: scale_mode is {scale_mode!r}; it must be 'cycle' or 'iterations'")
        down = step_size_up if step_size_down is None else step_size_down
        if not step_size_up > 0 or not down > 0:
            raise ValueError(f"CyclicLR: a cycle has {step_size_up} steps up and {down} down; both must be above 0")
        self.optimizer, self.mode, self.gamma, self._custom = optimizer, mode, gamma, scale_fn
        self.scale_mode = "iterations" if scale_fn is None and mode == "exp_range" else scale_mode
        self.total_size = float(step_size_up) + float(down)
        self.step_ratio = float(step_size_up) / self.total_size
        self.max_lrs = per_group("CyclicLR", "max_lr", optimizer, max_lr)
        rates = per_group("CyclicLR", "base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = group["initial_lr"] = rate
        self._find_momentum(cycle_momentum)
        if cycle_momentum:
            self.base_momentums = per_group("CyclicLR", "base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("CyclicLR", "max_momentum", optimizer, max_momentum)
            for group, low, high in zip(optimizer.param_groups, self.base_momentums, self.max_momentums):
                if last_epoch == -1:
                    group["max_momentum"], group["base_momentum"] = high, low
                    self._set_momentum(group, high)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = rates

    def scale_fn(self, x):
        """How high a cycle goes, as a part of the first."""
        if self._custom is not None:
            return self._custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [base + (high - base) * height * scale for base, high in zip(self.base_lrs, self.max_lrs)]
