"""Derivatives: whose calls are recorded, and functions whose derivative is written by hand."""

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Self, TypeVar, overload

from .._core import Tensor
from .._core import backward as backward, grad as grad, is_grad_enabled as is_grad_enabled
from .._core import saved_tensors_hooks as saved_tensors_hooks
from .._types import Bool, Float

__all__ = [
    "Function",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "saved_tensors_hooks",
    "set_grad_enabled",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")

class _Entered:
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

class _Mode(_Entered):
    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]: ...

# Classes, and decorators with parentheses or without; checkers differ on classes that make something else.
@overload
def no_grad(function: None = None) -> _Mode: ...
@overload
def no_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """While one is active, this thread's calls are not recorded."""

@overload
def enable_grad(function: None = None) -> _Mode: ...
@overload
def enable_grad(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """While one is active, this thread's calls are recorded again."""

@overload
def inference_mode(mode: Bool = True) -> _Mode: ...
@overload
def inference_mode(mode: Callable[_P, _R]) -> Callable[_P, _R]:
    """A permanent no_grad: tensors made within can never be part of a record. With `mode` False nothing changes."""

class set_grad_enabled(_Entered):
    """no_grad or enable_grad, from now on, or while a with statement or a decorated function runs."""

    def __init__(self, mode: Bool) -> None: ...
    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]: ...

class detect_anomaly(_Entered):
    """While one is active, errors in this thread's backward name the call that was recorded, and NaN in a derivative is an
    error.

    For debugging: each call waits for its device.
    """

class RemovableHandle(_Entered):
    """A hook that can be removed, by remove() or at the end of a with statement."""

    def __init__(self, tensor: Tensor, id: Any) -> None: ...
    def remove(self) -> None: ...

class Function:
    """A function whose derivative is written by hand.

    A subclass has two static methods: `forward(ctx, *inputs)`, whose calls are not recorded, and `backward(ctx,
    *gradients)`, which returns a derivative, or None, for each input. It is called by `apply`. With a third,
    `setup_context(ctx, inputs, output)`, forward has no ctx. """

    setup_context: Any
    @staticmethod
    def forward(*args: Any, **keywords: Any) -> Any: ...
    @staticmethod
    def backward(*args: Any, **keywords: Any) -> Any: ...
    @classmethod
    def apply(cls, *inputs: Any) -> Any: ...

def once_differentiable(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A backward whose own calls are not recorded."""

def checkpoint(function: Callable[_P, _R], *args: _P.args, **keywords: _P.kwargs) -> _R:
    """The results of `function`, which keeps nothing for backward: backward computes it once more.

    Raises:
        ValueError: in backward, if it does something else the second time.
    """

def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: Float = 1e-6,
    atol: Float = 1e-5,
    rtol: Float = 1e-3,
    raise_exception: Bool = True,
) -> Bool:
    """Are the derivatives of a function those that differences of its values give?"""

def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: Float = 1e-6,
    atol: Float = 1e-5,
    rtol: Float = 1e-3,
    raise_exception: Bool = True,
) -> Bool:
    """The same for second derivatives."""
