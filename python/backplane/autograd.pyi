"""Derivatives: whose calls are recorded, and functions whose derivative is written by hand."""

from collections.abc import Callable
from typing import Any, ParamSpec, Self, TypeVar

from ._core import backward as backward, grad as grad, is_grad_enabled as is_grad_enabled
from ._types import Bool

__all__ = [
    "Function",
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")

class _Mode:
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]: ...

class no_grad(_Mode):
    """While one lives, this thread's calls are not recorded."""

class enable_grad(_Mode):
    """While one lives, this thread's calls are recorded again."""

class inference_mode(_Mode):
    """no_grad for good: tensors made within can never be part of a record."""

class set_grad_enabled(_Mode):
    """no_grad or enable_grad, from now on, or while a with statement runs."""

    def __init__(self, mode: Bool) -> None: ...

class Function:
    """A function whose derivative is written by hand.

    A subclass has two static methods: `forward(ctx, *inputs)`, whose calls are not recorded, and `backward(ctx,
    *gradients)`, which returns a derivative, or None, for each input. It is called by `apply`."""

    @staticmethod
    def forward(*args: Any, **keywords: Any) -> Any: ...
    @staticmethod
    def backward(*args: Any, **keywords: Any) -> Any: ...
    @classmethod
    def apply(cls, *inputs: Any) -> Any: ...
