"""Schedulers made of others, and one that follows a metric."""

import math
from bisect import bisect_right

from ._scheduler import LRScheduler, per_group
from .optimizer import Optimizer

__all__ = ["ChainedScheduler", "ReduceLROnPlateau", "SequentialLR"]


def _check(name, schedulers, optimizer):
    if not schedulers:
        raise ValueError(f"{name}: got no schedulers")
    for index, each in enumerate(schedulers):
        if not isinstance(each, LRScheduler) or isinstance(each, ReduceLROnPlateau):
            raise TypeError(f"{name}: scheduler {index} is a {type(each).__name__}, whose step takes something else")
        if each.optimizer is not optimizer:
            raise ValueError(f"{name}: scheduler {index} is of another optimizer")


class _Combined(LRScheduler):
    _apart = ("optimizer", "_schedulers")

    def state_dict(self):
        return {**super().state_dict(), "_schedulers": [each.state_dict() for each in self._schedulers]}

    def load_state_dict(self, state_dict):
        schedulers, saved = self._schedulers, state_dict.get("_schedulers") if isinstance(state_dict, dict) else None
        if not isinstance(saved, (list, tuple)) or len(saved) != len(schedulers):
            raise ValueError(f"{type(self).__name__}: the state is not of {len(schedulers)} schedulers")
        super().load_state_dict(state_dict)
        self._schedulers = schedulers
        for scheduler, state in zip(schedulers, saved):
            scheduler.load_state_dict(state)

    def _undo(self):
        for each in self._schedulers:
            each._undo()

    def get_lr(self):
        return self._rates()


class SequentialLR(_Combined):
    """Each scheduler until its milestone, which counts steps from the start, then the next, from its first rates.

    Raises:
        ValueError: schedulers are of another optimizer, or there is not one more than milestones, which rise.
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        schedulers, milestones = list(schedulers), list(milestones)
        _check("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1 or sorted(set(milestones)) != milestones:
            raise ValueError(
                f"SequentialLR: has {len(schedulers)} schedulers and the milestones {milestones}; milestones rise, and"
                " are one fewer"
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, schedulers, milestones
        self.last_epoch = last_epoch + 1
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._begin()

    def _begin(self):
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for each in self._schedulers:
            each._undo()
        self._schedulers[0]._begin()
        self._last_lr = self._schedulers[0].get_last_lr()

    def _undo(self):
        self.last_epoch -= 1
        self._schedulers[0]._undo()

    def step(self, epoch=None):
        """Goes on to the next step, or to step 0."""
        if epoch is not None:
            self.last_epoch = epoch - 1
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if epoch is not None or place > 0 and self._milestones[place - 1] == self.last_epoch:
            scheduler._reset()
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Steps all of them, in their order: their factors multiply.

    Raises ValueError for none, and for several optimizers.
    """

    def __init__(self, schedulers, optimizer=None):
        schedulers = list(schedulers)
        optimizer = optimizer or (getattr(schedulers[0], "optimizer", None) if schedulers else None)
        _check("ChainedScheduler", schedulers, optimizer)
        self.optimizer, self._schedulers = optimizer, schedulers
        self.base_lrs, self.last_epoch = list(schedulers[0].base_lrs), schedulers[0].last_epoch
        self._last_lr = self._rates()

    def _begin(self):
        for each in self._schedulers:
            each._begin()
        self._last_lr = self._rates()

    def step(self, epoch=None):
        self.last_epoch += 1
        for each in self._schedulers:
            each.step() if epoch is None else each._reset()
        self._last_lr = self._rates()


class ReduceLROnPlateau(LRScheduler):
    """Lowers rates when a metric no longer gets better: `step(metric)`.

    Args:
        mode: "min" or "max", what better means.
        factor: of the rates, below 1.
        patience: how many steps without a better metric are let pass.
        threshold: how much better counts; threshold_mode says whether as a part ("rel") or as it is ("abs").
        cooldown: how many steps after a lower rate nothing is counted.
        min_lr: the lowest rate, or a list with one for each group.
        eps: a smaller change of a rate is left out.

    Raises:
        ValueError: an option is out of these.
    """

    def __init__(
        self,
        optimizer,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        eps=1e-8,
    ):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"ReduceLROnPlateau: optimizer must be an Optimizer, not a {type(optimizer).__name__}")
        if not 0 < factor < 1:
            raise ValueError(f"ReduceLROnPlateau: factor is {factor}; it must be above 0 and below 1")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"ReduceLROnPlateau: mode is {mode!r} and threshold_mode {threshold_mode!r}; they must be 'min' or"
                " 'max', and 'rel' or 'abs'"
            )
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.min_lrs = per_group("ReduceLROnPlateau", "min_lr", optimizer, min_lr)
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self._rates()

    def step(self, metrics, epoch=None):
        """Takes the metric of a step: a number, or a tensor of one."""
        metric = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(metric, self.best):
            self.best, self.num_bad_epochs = metric, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._lower()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()

    def _lower(self):
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs):
            rate = max(group["lr"] * self.factor, lowest)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate

    @property
    def in_cooldown(self):
        return self.cooldown_counter > 0

    def is_better(self, metric, best):
        """Is the metric better than the best so far, by the threshold?"""
        if self.threshold_mode == "rel":
            return metric < best * (1 - self.threshold) if self.mode == "min" else metric > best * (1 + self.threshold)
        return metric < best - self.threshold if self.mode == "min" else metric > best + self.threshold

    def _check_loaded(self, state):
        pass
