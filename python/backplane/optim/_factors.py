"""Schedulers that multiply rates: by steps, along lines and powers, and by functions of the caller."""

import types
from collections import Counter

from ._scheduler import LRScheduler, check_count, per_group

__all__ = [
    "ConstantLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]


class _Multiplied(LRScheduler):
    """Each step's rates are the last ones times a factor; or the first ones times another."""

    def get_lr(self):
        factor = self._factor(self.last_epoch)
        return [rate * factor for rate in self._rates()]

    def _closed_form(self):
        factor = self._whole_factor(self.last_epoch)
        return [rate * factor for rate in self.base_lrs]


class StepLR(_Multiplied):
    """Times gamma every step_size steps. Raises ValueError for a step_size below 1."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        check_count("StepLR", "step_size", step_size)
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return self.gamma if epoch != 0 and epoch % self.step_size == 0 else 1.0

    def _whole_factor(self, epoch):
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(_Multiplied):
    """Times gamma at each of the milestones; a number that is listed twice counts twice."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return self.gamma ** self.milestones[epoch] if epoch in self.milestones else 1.0

    def _whole_factor(self, epoch):
        return self.gamma ** sum(count for milestone, count in self.milestones.items() if milestone <= epoch)

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.milestones = Counter({int(milestone): count for milestone, count in self.milestones.items()})


class ExponentialLR(_Multiplied):
    """Times gamma every step."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return self.gamma if epoch != 0 else 1.0

    def _whole_factor(self, epoch):
        return self.gamma**epoch


class ConstantLR(_Multiplied):
    """Times factor until step total_iters. Raises ValueError unless 0 < factor <= 1."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 < factor <= 1:
            raise ValueError(f"ConstantLR: factor is {factor}; it must be above 0 and at most 1")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return self.factor if epoch == 0 else 1.0 / self.factor if epoch == self.total_iters else 1.0

    def _whole_factor(self, epoch):
        return self.factor if epoch < self.total_iters else 1.0


class LinearLR(_Multiplied):
    """From start_factor to end_factor in total_iters steps: a warm-up.

    Raises:
        ValueError: not 0 < start_factor <= 1, not 0 <= end_factor <= 1, or total_iters is below 1.
    """

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(
                f"LinearLR: factors are {start_factor} and {end_factor}; the first must be above 0, both at most 1"
            )
        check_count("LinearLR", "total_iters", total_iters)
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        if epoch == 0:
            return self.start_factor
        if epoch > self.total_iters:
            return 1.0
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise)

    def _whole_factor(self, epoch):
        return (
            self.start_factor + (self.end_factor - self.start_factor) * min(self.total_iters, epoch) / self.total_iters
        )


class PolynomialLR(_Multiplied):
    """Times (1 - step / total_iters)^power, 0 from total_iters on. Raises ValueError for a total_iters below 1."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        check_count("PolynomialLR", "total_iters", total_iters)
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        if epoch == 0 or epoch > self.total_iters:
            return 1.0
        return ((1.0 - epoch / self.total_iters) / (1.0 - (epoch - 1) / self.total_iters)) ** self.power

    def _whole_factor(self, epoch):
        return (1.0 - min(self.total_iters, epoch) / self.total_iters) ** self.power


class _ByFunctions(LRScheduler):
    _apart = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        name = type(self).__name__
        self.lr_lambdas = per_group(name, "lr_lambda", optimizer, lr_lambda)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"{name}: lr_lambda must be a function of the step, not a {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """Functions are left out; of callable objects, their attributes are kept."""
        kept = [
            None if isinstance(each, types.FunctionType) else dict(getattr(each, "__dict__", {}))
            for each in self.lr_lambdas
        ]
        return {**super().state_dict(), "lr_lambdas": kept}

    def load_state_dict(self, state_dict):
        functions = self.lr_lambdas
        super().load_state_dict(state_dict)
        self.lr_lambdas = functions
        for function, kept in zip(functions, state_dict["lr_lambdas"]):
            if kept:
                function.__dict__.update(kept)


class LambdaLR(_ByFunctions):
    """The first rate times what a function of the step says; one for all groups, or a list with one for each."""

    def get_lr(self):
        return [rate * function(self.last_epoch) for rate, function in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_ByFunctions):
    """The rate before times what a function of the step says; one for all groups, or a list with one for each."""

    def get_lr(self):
        if self.last_epoch <= 0:
            return self._rates()
        return [rate * function(self.last_epoch) for rate, function in zip(self._rates(), self.lr_lambdas)]
