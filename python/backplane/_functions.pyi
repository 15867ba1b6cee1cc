"""Functions by PyTorch's names that are made of several rows. ./dev gen makes methods of those that are methods too."""

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, overload

from ._core import Extremum, Generator, Tensor, dtype as _Dtype
from ._types import Bool, DeviceLike, DtypeLike, Float, Int, Ints, Number, Real, Str

pi: Float
e: Float
inf: Float
nan: Float
newaxis: None

def eye(
    n: SupportsIndex,
    m: SupportsIndex | None = None,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """[n, m], by default [n, n]: zeros with ones where both indices are equal."""

def linspace(
    start: Number,
    end: Number,
    steps: SupportsIndex,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """`steps` numbers in equal steps from `start` to `end`, both of them among these."""

def logspace(
    start: Number,
    end: Number,
    steps: SupportsIndex,
    base: Number = 10.0,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """`base` to the powers of linspace(start, end, steps)."""

def hann_window(
    window_length: SupportsIndex,
    periodic: Bool = True,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """[window_length]: a raised cosine; a periodic one ends one step before it would begin anew."""

def hamming_window(
    window_length: SupportsIndex,
    periodic: Bool = True,
    alpha: Number = 0.54,
    beta: Number = 0.46,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """[window_length]: alpha - beta cos(2 pi i / n)."""

def blackman_window(
    window_length: SupportsIndex,
    periodic: Bool = True,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """[window_length]: 0.42 - 0.5 cos(2 pi i / n) + 0.08 cos(4 pi i / n)."""

def mel_weight_matrix(
    num_mel_bins: SupportsIndex,
    dft_length: SupportsIndex,
    sample_rate: Number,
    lower_edge_hertz: Number,
    upper_edge_hertz: Number,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """[dft_length / 2 + 1, num_mel_bins]: triangular windows in equal steps of the mel scale, as ONNX's
    MelWeightMatrix."""

def normal(
    mean: Tensor | Real,
    std: Tensor | Real = 1.0,
    size: Sequence[SupportsIndex] | None = None,
    *,
    generator: Generator | None = None,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """Normal numbers: of two numbers and a size, or for each element of tensors `mean` and `std`."""

def rand_like(
    input: Tensor,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """rand of `input`'s shape, and by default of its dtype and device."""

def randn_like(
    input: Tensor,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """randn of `input`'s shape, and by default of its dtype and device."""

def randint_like(
    input: Tensor,
    low: SupportsIndex,
    high: SupportsIndex | None = None,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """Integers from `low`, by default 0, up to `high`, without it, of `input`'s shape."""

def asarray(
    obj: Any,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
    copy: Bool | None = None,
    requires_grad: Bool = False,
) -> Tensor:
    """A tensor of the values, over the same memory where that can be, unless `copy`.

    Raises:
        ValueError: it takes a copy, and `copy` is False.
    """

def scalar_tensor(
    s: Number, *, dtype: DtypeLike | None = None, device: DeviceLike | None = None, requires_grad: Bool = False
) -> Tensor:
    """A tensor without dimensions, by default of the default dtype."""

def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + i imag of two tensors of one shape, float32 or float64."""

def tril_indices(
    row: SupportsIndex,
    col: SupportsIndex,
    offset: SupportsIndex = 0,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """[2, n]: rows and columns of the lower triangle of a matrix [row, col]."""

def triu_indices(
    row: SupportsIndex,
    col: SupportsIndex,
    offset: SupportsIndex = 0,
    *,
    dtype: DtypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor:
    """[2, n]: rows and columns of the upper triangle of a matrix [row, col]."""

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
    """The middle of all elements, the lower one of two; with `dim`, those along it and where they stand."""

@overload
def nanmedian(input: Tensor, dim: None = None, keepdim: Bool = False) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: SupportsIndex, keepdim: Bool = False) -> Extremum:
    """The middle of all elements that are numbers; with `dim`, those along it and where they stand."""

def quantile(
    input: Tensor,
    q: Tensor | Real,
    dim: SupportsIndex | None = None,
    keepdim: Bool = False,
    *,
    interpolation: Str = "linear",
) -> Tensor:
    """What lies above the part `q` of all elements, or of those along `dim`; for each q along a new first
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
    """The different elements in rising order; with them, where each element of `input` is found there, and how often
    each occurs.

    Raises:
        ValueError: `dim` is given: rows are not compared here.
    """

def isreal(input: Tensor) -> Tensor:
    """Whether each element has no imaginary part."""

@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Each with one dimension at least."""

@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Each with two dimensions at least; new ones come first."""

@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Each with three dimensions at least; new ones come around."""

def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the first dimension, after atleast_2d."""

def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the second dimension; vectors along their one."""

def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the third dimension, after atleast_3d."""

def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the second dimension; vectors are columns."""

def broadcast_to(input: Tensor, size: Ints) -> Tensor:
    """`input` with dimensions of size 1, and new leading ones, repeated to `size`; a view."""

def broadcast_shapes(*shapes: Ints) -> tuple[Int, ...]:
    """The shape that all broadcast to.

    Raises:
        ValueError: they do not.
    """

def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension; a view where that can be."""

def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, and conjugate."""

def t(input: Tensor) -> Tensor:
    """A matrix transposed; vectors and numbers stay."""

def fliplr(input: Tensor) -> Tensor:
    """The second dimension backwards."""

def flipud(input: Tensor) -> Tensor:
    """The first dimension backwards."""

def argwhere(input: Tensor) -> Tensor:
    """[n, input.ndim]: the indices of all elements that are not 0."""

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Bool) -> Any:
    """[n, input.ndim]: the indices of all elements that are not 0; with `as_tuple`, a tensor for each dimension."""

@overload
def where(condition: Tensor, input: Tensor | Number, other: Tensor | Number) -> Tensor: ...
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """Elements of `input` where the condition holds, else of `other`; of the condition alone,
    nonzero(as_tuple=True)."""

def tensordot(a: Tensor, b: Tensor, dims: SupportsIndex | tuple[Ints, Ints] = 2) -> Tensor:
    """Sums of products over the last `dims` dimensions of a and the first of b, or over two lists of dimensions."""

def repeat_interleave(input: Tensor, repeats: Tensor | SupportsIndex, dim: SupportsIndex | None = None) -> Tensor:
    """Each slice along `dim`, or each element, `repeats` times: a number, or a tensor with one for each."""

def tensor_split(input: Tensor, indices_or_sections: Ints, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Parts of nearly one size, so many of them, or cut before each index in a list, along `dim`."""

def hsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """tensor_split along the second dimension; of a vector along its one."""

def vsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """tensor_split along the first dimension."""

def dsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """tensor_split along the third dimension."""

def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the tensors, matrices at most, along its diagonal."""

def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """`input` with `value`, a number or a tensor of one, where the mask holds."""

def index_fill(input: Tensor, dim: SupportsIndex, index: Tensor, value: Tensor | Number) -> Tensor:
    """`input` with `value`, a number or a tensor of one, in the slices along `dim` that `index` names."""

def scatter(
    input: Tensor,
    dim: SupportsIndex,
    index: Tensor,
    src: Tensor | Number | None = None,
    *,
    value: Number | None = None,
    reduce: Str | None = None,
) -> Tensor:
    """`input` with elements of `src`, or one number, at the places along `dim` that `index` names."""

def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: Bool = False) -> Tensor:
    """Writes `values` into the places that `indices`, a list of tensors and Nones, names; adds them with
    `accumulate`."""

def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements of the flat `input` at `index`, in its shape."""

def take_along_dim(input: Tensor, indices: Tensor, dim: SupportsIndex | None = None) -> Tensor:
    """gather, whose arguments broadcast; without `dim` of flat tensors."""

def clamp(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """Each element brought between `min` and `max`, numbers or tensors, of which one may be missing.

    Raises:
        ValueError: both are.
    """

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

def cov(input: Tensor, *, correction: Real = 1) -> Tensor:
    """The covariance of the rows of a matrix, each a variable and its columns what was seen."""

def corrcoef(input: Tensor) -> Tensor:
    """The correlation of the rows of a matrix."""

def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Real = 1.0, dim: SupportsIndex = -1) -> Tensor:
    """The integral of `y` along `dim` by trapezoids, whose corners lie at `x`, or `dx` apart."""

trapz = trapezoid

def cartesian_prod(*tensors: Tensor) -> Tensor:
    """[n, len(tensors)]: all combinations of elements of vectors; of one vector, itself."""

def uniform_(
    self: Tensor, from_: Real = 0.0, to: Real = 1.0, *, generator: Generator | None = None, **keywords: Any
) -> Tensor:
    """Draws numbers from `from` up to `to` into the tensor."""

def normal_(self: Tensor, mean: Real = 0.0, std: Real = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Draws normal numbers into the tensor."""

def bernoulli_(self: Tensor, p: Tensor | Real = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Draws 1 with probability `p`, else 0, into the tensor; with a tensor, of each its own."""

def exponential_(self: Tensor, lambd: Real = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Draws waiting times with `lambd` events to expect in a unit of time into the tensor."""

def random_(
    self: Tensor, from_: SupportsIndex = 0, to: SupportsIndex | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Draws integers from `from_` up to `to`, without it, into the tensor; by default all that the dtype counts
    exactly."""

def is_tensor(obj: Any) -> Bool:
    """Is it a Tensor?"""

def is_floating_point(input: Tensor) -> Bool:
    """Is the dtype one of real numbers?"""

def is_complex(input: Tensor) -> Bool:
    """Is the dtype one of complex numbers?"""

def is_nonzero(input: Tensor) -> Bool:
    """The truth of the only element."""

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
