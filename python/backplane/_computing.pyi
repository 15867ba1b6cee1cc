"""Functions by PyTorch's names that compare, order and compute: made of several rows, or of forms of one."""

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, overload

from ._core import Extremum, Generator, Tensor, dtype as _Dtype
from ._types import Bool, DeviceLike, DtypeLike, Float, Int, Ints, Number, Real, Str

def equal(input: Tensor, other: Tensor) -> Bool:
    """True if both have one shape and equal elements; NaN equals nothing. Waits for the device."""

def allclose(input: Tensor, other: Tensor, rtol: Real = 1e-05, atol: Real = 1e-08, equal_nan: Bool = False) -> Bool:
    """True if all elements are close, as isclose says. Waits for the device."""

def argsort(input: Tensor, dim: SupportsIndex = -1, descending: Bool = False, stable: Bool = False) -> Tensor:
    """The indices by which sort puts `input` in order. Equal elements always keep their order."""

def msort(input: Tensor) -> Tensor:
    """`input` sorted along its first dimension."""

def amax(input: Tensor, dim: Ints | None = (), keepdim: Bool = False) -> Tensor:
    """The largest elements along `dim`, one or several, by default all."""

def amin(input: Tensor, dim: Ints | None = (), keepdim: Bool = False) -> Tensor:
    """The smallest elements along `dim`, one or several, by default all."""

@overload
def median(input: Tensor, dim: None = None, keepdim: Bool = False) -> Tensor: ...
@overload
def median(input: Tensor, dim: SupportsIndex, keepdim: Bool = False) -> Extremum:
    """The median of all elements, the lower of two; with `dim`, the medians along it and their indices."""

@overload
def nanmedian(input: Tensor, dim: None = None, keepdim: Bool = False) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: SupportsIndex, keepdim: Bool = False) -> Extremum:
    """The median of all elements that are not NaN; with `dim`, the medians along it and their indices."""

def quantile(
    input: Tensor,
    q: Tensor | Real,
    dim: SupportsIndex | None = None,
    keepdim: Bool = False,
    *,
    interpolation: Str = "linear",
) -> Tensor:
    """The quantile `q` of all elements, or of those along `dim`; for each q along a new first
    dimension."""

@overload
def unique(
    input: Tensor,
    sorted: Bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor, sorted: Bool = True, return_inverse: Bool = False, return_counts: Bool = False, dim: None = None
) -> Any:
    """The distinct elements in ascending order; with them, where each element of `input` is found there, and how often
    each occurs.

    Raises:
        ValueError: `dim` is given: rows are not compared here.
    """

def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part of each element is 0."""

def clamp(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """Each element limited to `min` and `max`, numbers or tensors, of which one may be missing.

    Raises:
        ValueError: both are.
    """

def clamp_(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """clamp, written into `input` itself, which is returned."""

def clamp_min(input: Tensor, min: Tensor | Number) -> Tensor:
    """Each element, or `min` where that is larger: a number or a tensor."""

def clamp_max(input: Tensor, max: Tensor | Number) -> Tensor:
    """Each element, or `max` where that is smaller: a number or a tensor."""

def div(
    input: Tensor | Number, other: Tensor | Number, *, rounding_mode: Str | None = None, out: Tensor | None = None
) -> Tensor:
    """input / other; with `rounding_mode` "floor" or "trunc", rounded down or towards
    zero.

    Raises:
        ValueError: another rounding mode.
    """

def div_(input: Tensor, other: Tensor | Number, *, rounding_mode: Str | None = None) -> Tensor:
    """div, written into `input` itself, which is returned."""

def std(
    input: Tensor,
    dim: Ints | Bool | None = None,
    unbiased: Bool | None = None,
    keepdim: Bool = False,
    *,
    correction: Real | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation of all elements, or along `dim`."""

def var(
    input: Tensor,
    dim: Ints | Bool | None = None,
    unbiased: Bool | None = None,
    keepdim: Bool = False,
    *,
    correction: Real | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The variance of all elements, or along `dim`."""

def std_mean(
    input: Tensor,
    dim: Ints | Bool | None = None,
    unbiased: Bool | None = None,
    keepdim: Bool = False,
    *,
    correction: Real | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean of all elements, or along `dim`."""

def var_mean(
    input: Tensor,
    dim: Ints | Bool | None = None,
    unbiased: Bool | None = None,
    keepdim: Bool = False,
    *,
    correction: Real | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean of all elements, or along `dim`."""

def norm(
    input: Tensor,
    p: Number | Str | None = "fro",
    dim: Ints | None = None,
    keepdim: Bool = False,
    *,
    dtype: DtypeLike | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The p-norm of all elements, or of those along `dim`; "fro" is 2, "nuc" the sum of a matrix's singular
    values."""

def polygamma(n: SupportsIndex, input: Tensor) -> Tensor:
    """The n-th derivative of digamma; as a method, x.polygamma(n)."""

def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | Number,
    *,
    out_int32: Bool = False,
    right: Bool = False,
    side: Str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """The indices at which each element of `input` keeps a sorted sequence in order; `right`, or side="right":
    behind equal ones."""

def einsum(equation: Str, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """Sums of products of the operands, as the equation's letters say: "ij,jk->ik" is matmul."""

def nanquantile(
    input: Tensor,
    q: Tensor | Real,
    dim: SupportsIndex | None = None,
    keepdim: Bool = False,
    *,
    interpolation: Str = "linear",
) -> Tensor:
    """quantile of the elements that are not NaN; for each q along a new first dimension."""

def positive(input: Tensor) -> Tensor:
    """`input` itself."""

def float_power(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """`input` to a power, in float64 or complex128."""

def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """other - alpha input."""

def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant of a square matrix, or of a batch of them."""

def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of products of two vectors, the first conjugate."""

def dist(input: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    """The p-norm of input - other."""

def cov(
    input: Tensor, *, correction: SupportsIndex = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance of the rows of a matrix, each row a variable, each column an observation.

    `fweights` says how often each column was observed, `aweights` how much it counts.

    Raises:
        ValueError: the input has more than two dimensions, or the weights do not fit.
    """

def corrcoef(input: Tensor) -> Tensor:
    """The correlation of the rows of a matrix."""

def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Real = 1.0, dim: SupportsIndex = -1) -> Tensor:
    """The integral of `y` along `dim` by trapezoids, whose corners lie at `x`, or `dx` apart."""

trapz = trapezoid

def cartesian_prod(*tensors: Tensor) -> Tensor:
    """[n, len(tensors)]: all combinations of elements of vectors; for one vector, itself."""

def is_tensor(obj: Any) -> Bool:
    """Whether it is a Tensor."""

def is_floating_point(input: Tensor) -> Bool:
    """Whether the dtype is a floating-point one."""

def is_complex(input: Tensor) -> Bool:
    """Whether the dtype is complex."""

def is_signed(input: Tensor) -> Bool:
    """Whether the dtype is signed."""

def is_same_size(input: Tensor, other: Tensor) -> Bool:
    """Whether both have the same shape."""

def is_nonzero(input: Tensor) -> Bool:
    """Whether the only element is not 0."""

def numel(input: Tensor) -> Int:
    """The number of elements."""

def clone(input: Tensor, *, memory_format: Str = "preserve_format") -> Tensor:
    """A copy, which is recorded."""

def detach(input: Tensor) -> Tensor:
    """The same values in the same memory, outside of every record."""

def result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> _Dtype:
    """The dtype in which two tensors, or a tensor and a number, are added."""

def can_cast(from_: _Dtype, to: _Dtype) -> Bool:
    """May an array of the first dtype become one of the second without leaving its category?"""
