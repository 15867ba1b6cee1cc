"""Derivatives: whose calls are recorded, and functions whose derivative is written by hand."""

import functools

from . import _core
from ._core import backward, grad, is_grad_enabled

__all__ = ["Function", "backward", "enable_grad", "grad", "inference_mode", "is_grad_enabled", "no_grad", "set_grad_enabled"]


class _Mode:
    """A state of this thread while a with statement or a decorated function runs."""

    _exclude, _inference = True, False

    def __init__(self):
        self._before = []

    def __enter__(self):
        self._before.append(_core.exclude_layers(self._exclude, self._inference))
        return self

    def __exit__(self, *error):
        _core.restore_layers(*self._before.pop())

    def __call__(self, function):
        @functools.wraps(function)
        def within(*args, **keywords):
            with type(self)() if type(self) is not set_grad_enabled else set_grad_enabled(not self._exclude):
                return function(*args, **keywords)

        return within


class no_grad(_Mode):
    """While one lives, this thread's calls are not recorded."""


class enable_grad(_Mode):
    """While one lives, this thread's calls are recorded again."""

    _exclude = False


class inference_mode(_Mode):
    """no_grad for good: tensors made within can never be part of a record."""

    _inference = True


class set_grad_enabled(_Mode):
    """no_grad or enable_grad, from now on, or while a with statement runs."""

    def __init__(self, mode):
        super().__init__()
        self._exclude = not mode
        self._before.append(_core.exclude_layers(self._exclude, False))

    def __enter__(self):
        return self


class Function:
    """A function whose derivative is written by hand.

    A subclass has two static methods: `forward(ctx, *inputs)`, whose calls are not recorded, and `backward(ctx, *gradients)`, which
    returns a derivative, or None, for each input. It is called by `apply`.
    """

    @staticmethod
    def forward(ctx, *inputs):
        raise NotImplementedError("a Function has a static method forward(ctx, *inputs)")

    @staticmethod
    def backward(ctx, *gradients):
        raise NotImplementedError("a Function has a static method backward(ctx, *gradients)")

    @classmethod
    def apply(cls, *inputs):
        return _core.apply_function(cls, *inputs)
