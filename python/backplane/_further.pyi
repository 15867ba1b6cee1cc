"""PyTorch's rarer functions, made of rows and of other functions."""

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from ._core import Generator, Tensor
from ._types import Bool, DeviceLike, DtypeLike, Int, Ints, Number, Real, Str

__all__ = [
    "addbmm", "as_strided_scatter", "bartlett_window", "chain_matmul", "combinations", "cumulative_trapezoid",
    "diagflat", "diagonal_scatter", "empty_strided", "fill", "gcd", "gradient", "kaiser_window", "lcm", "narrow_copy",
    "poisson", "range", "renorm", "round", "unique_consecutive", "unravel_index", "unsafe_chunk", "unsafe_split",
    "unsafe_split_with_sizes", "vander", "vmap",
]

def round(input: Tensor, *, decimals: SupportsIndex = 0, out: Tensor | None = None) -> Tensor:
    """The nearest integers, of two the even one; with `decimals`, the nearest multiples of that power of a tenth."""

def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of integers. Waits for the device."""

def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of integers. Waits for the device."""

def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Draws from the Poisson distribution with each element as the rate: of small rates by counting exponential waits, of
    rates above 30 by the nearest integer of a normal number with that mean and variance."""

def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta input + alpha times the sum of the products of two batches of matrices."""

def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices, in the order that takes the fewest multiplications."""

def vander(x: Tensor, N: SupportsIndex | None = None, increasing: Bool = False) -> Tensor:
    """The powers of a vector's elements as columns, the highest first unless `increasing`."""

def diagflat(input: Tensor, offset: SupportsIndex = 0) -> Tensor:
    """A matrix with all elements of `input` along a diagonal."""

def diagonal_scatter(
    input: Tensor,
    src: Tensor,
    offset: SupportsIndex = 0,
    dim1: SupportsIndex = 0,
    dim2: SupportsIndex = 1,
) -> Tensor:
    """A copy of `input` with `src` along a diagonal."""

def renorm(input: Tensor, p: Real, dim: SupportsIndex, maxnorm: Real) -> Tensor:
    """`input` with each part along `dim` whose p-norm is above `maxnorm` scaled to it."""

def unique_consecutive(input: Tensor, return_inverse: Bool = False, return_counts: Bool = False, dim: None = None) -> Any:
    """The elements, without those that equal the one before; with them, where each element of `input` is found there,
    and how often each comes in a row.

    Raises:
        ValueError: `dim` is given: rows are not compared here.
    """

def combinations(input: Tensor, r: Int = 2, with_replacement: Bool = False) -> Tensor:
    """[n, r]: all ways to choose `r` elements of a vector, in its order."""

def unravel_index(indices: Tensor, shape: Ints) -> tuple[Tensor, ...]:
    """The coordinates, a tensor for each dimension, of positions in a row-major tensor of the shape."""

def narrow_copy(input: Tensor, dim: SupportsIndex, start: SupportsIndex, length: SupportsIndex) -> Tensor:
    """A copy of narrow."""

def unsafe_chunk(input: Tensor, chunks: SupportsIndex, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """chunk."""

def unsafe_split(
    tensor: Tensor,
    split_size: SupportsIndex | Sequence[SupportsIndex],
    dim: SupportsIndex = 0,
) -> tuple[Tensor, ...]:
    """split."""

def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """A tensor of `input`'s shape whose elements are all `value`."""

def unsafe_split_with_sizes(
    input: Tensor,
    split_sizes: Sequence[SupportsIndex],
    dim: SupportsIndex = 0,
) -> tuple[Tensor, ...]:
    """split."""

def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Ints,
    stride: Ints,
    storage_offset: SupportsIndex = 0,
) -> Tensor:
    """A copy of `input` with `src` in the view that as_strided makes of it."""

def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Real = 1.0, dim: SupportsIndex = -1) -> Tensor:
    """The integrals of `y` along `dim` by trapezoids, from the first point to each later one."""

def gradient(
    input: Tensor,
    *,
    spacing: Real | Tensor | Sequence[Real | Tensor] = 1,
    dim: Int | Sequence[Int] | None = None,
    edge_order: Int = 1,
) -> list[Tensor]:
    """Along each of `dim`, by default all, the slopes by differences of second order inside, and of `edge_order` at the
    edges. `spacing` is the distance of two points, or for each dimension a distance or a vector of coordinates."""

def vmap(
    func: Callable[..., Any],
    in_dims: Int | None | Sequence[Int | None] = 0,
    out_dims: Int | Sequence[Int] = 0,
    randomness: Str = 'same',
) -> Callable[..., Any]:
    """`func`, which is written for one element, for a whole batch: each operator is called once.

    Args:
        func: a function of tensors, and of others that all elements share, which returns a tensor or a tuple of them.
        in_dims: where each argument has its batch; None, or an argument that is not a tensor: all elements share it.
        out_dims: where each result gets its batch.
        randomness: "same", since all elements draw the same numbers.
    """

def bartlett_window(
    window_length: Int,
    periodic: Bool = True,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """[window_length]: a triangle from 0 to 1 and back; a periodic one ends one step before it would start again."""

def kaiser_window(
    window_length: Int,
    periodic: Bool = True,
    beta: Real = 12.0,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """[window_length]: i0(beta sqrt(1 - x^2)) / i0(beta), x from -1 to 1."""

def empty_strided(
    size: Ints,
    stride: Ints,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """Without values, with `stride` elements from one to the next along each dimension."""

def range(
    start: Real,
    end: Real | None = None,
    step: Real = 1,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """Numbers in equal steps from `start` to `end`, both of them among these; arange leaves the end out."""
