from collections.abc import Sequence
from typing import Any, SupportsIndex, overload

from ._core import Extremum, Generator, Tensor
from ._exchange import from_numpy as from_numpy
from ._types import Bool, DeviceLike, DtypeLike, Int, Ints, Number

__all__ = ["arange", "from_numpy", "max", "min", "randint", "split"]

@overload
def max(input: Tensor, dim: None = None, keepdim: Bool = False) -> Tensor: ...
@overload
def max(input: Tensor, dim: Tensor, keepdim: Bool = False) -> Tensor: ...
@overload
def max(input: Tensor, dim: Int, keepdim: Bool = False) -> Extremum:
    """The largest element; with `dim`, the largest along it and where it stands; of two tensors, the larger
    elements."""

@overload
def min(input: Tensor, dim: None = None, keepdim: Bool = False) -> Tensor: ...
@overload
def min(input: Tensor, dim: Tensor, keepdim: Bool = False) -> Tensor: ...
@overload
def min(input: Tensor, dim: Int, keepdim: Bool = False) -> Extremum:
    """The smallest element; with `dim`, the smallest along it and where it stands; of two tensors, the smaller
    elements."""

def split(
    tensor: Tensor, split_size_or_sections: SupportsIndex | Sequence[SupportsIndex], dim: Int = 0
) -> tuple[Tensor, ...]:
    """Parts of one size, of which the last may be smaller, or of the sizes in a list, along `dim`."""

def arange(
    *bounds: Number,
    start: Number | None = None,
    end: Number | None = None,
    step: Number = 1,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """arange(end), arange(start, end) or arange(start, end, step): numbers in equal steps, without the end."""

@overload
def randint(
    high: SupportsIndex,
    size: Ints,
    /,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    generator: Generator | None = None,
    requires_grad: Bool = False,
) -> Tensor: ...
@overload
def randint(
    low: SupportsIndex,
    high: SupportsIndex,
    size: Ints,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    generator: Generator | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """randint(high, size) or randint(low, high, size): integers from `low`, by default 0, up to `high`, without it."""
