"""New tensors by PyTorch's names, made of several rows or of other forms of one; and numbers drawn into tensors."""

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
    """[window_length]: a raised cosine; a periodic one ends one step before it would start again."""

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
    """A tensor of the values, over the same memory if possible, unless `copy`.

    Raises:
        ValueError: a copy is needed, and `copy` is False.
    """

def scalar_tensor(
    s: Number, *, dtype: DtypeLike | None = None, device: DeviceLike | None = None, requires_grad: Bool = False
) -> Tensor:
    """A tensor without dimensions, by default of the default dtype."""

def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + i imag of two tensors of one shape, float32 or float64."""

def frombuffer(
    buffer: Any, *, dtype: DtypeLike, count: SupportsIndex = -1, offset: SupportsIndex = 0, requires_grad: Bool = False
) -> Tensor:
    """A tensor of the bytes of an object that has a buffer; a copy of them, from `offset` on.

    Raises:
        ValueError: there are not so many.
    """

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

def uniform_(
    self: Tensor, from_: Real = 0.0, to: Real = 1.0, *, generator: Generator | None = None, **keywords: Any
) -> Tensor:
    """Draws numbers from `from` up to `to` into the tensor."""

def normal_(self: Tensor, mean: Real = 0.0, std: Real = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Draws normal numbers into the tensor."""

def bernoulli_(self: Tensor, p: Tensor | Real = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Draws 1 with probability `p`, else 0, into the tensor; a tensor `p` has one for each element."""

def exponential_(self: Tensor, lambd: Real = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Draws from the exponential distribution with rate `lambd` into the tensor."""

def random_(
    self: Tensor, from_: SupportsIndex = 0, to: SupportsIndex | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Draws integers from `from_` up to `to`, without it, into the tensor; by default all that the dtype counts
    exactly."""
