"""Functions by PyTorch's names that change shapes, choose elements and put them: made of several rows, or of forms of
one."""

from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, overload

from ._core import Extremum, Generator, Tensor, dtype as _Dtype
from ._types import Bool, DeviceLike, DtypeLike, Float, Int, Ints, Number, Real, Str

@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Each tensor with at least one dimension."""

@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Each tensor with at least two dimensions; new ones come first."""

@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Each tensor with at least three dimensions; new ones are added on both sides."""

def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the first dimension, after atleast_2d."""

def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the second dimension; vectors along their only dimension."""

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
    """All elements in one dimension; a view if possible."""

def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, and conjugated."""

def t(input: Tensor) -> Tensor:
    """A matrix transposed; vectors and numbers stay."""

def fliplr(input: Tensor) -> Tensor:
    """`input` with the second dimension reversed."""

def flipud(input: Tensor) -> Tensor:
    """`input` with the first dimension reversed."""

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

def repeat_interleave(
    input: Tensor,
    repeats: Tensor | SupportsIndex,
    dim: SupportsIndex | None = None,
    *,
    output_size: SupportsIndex | None = None,
) -> Tensor:
    """Each slice along `dim`, or each element, `repeats` times: a number, or a tensor with one for each.
    `output_size` is not needed."""

def tensor_split(input: Tensor, indices_or_sections: Ints, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Parts of nearly equal size along `dim`: so many, or split before each index in a list."""

def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: Str = "ij") -> tuple[Tensor, ...]:
    """The coordinates of a grid by vectors: for each a tensor of all their sizes, the first two exchanged for
    "xy"."""

def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of all tensors in the shape that they broadcast to."""

def rot90(input: Tensor, k: SupportsIndex = 1, dims: Sequence[SupportsIndex] = (0, 1)) -> Tensor:
    """`input` turned `k` times by a right angle in a plane, from the first of `dims` to the second."""

def sum_to_size(input: Tensor, *size: Ints) -> Tensor:
    """The sum over those dimensions along which `size` was broadcast to `input`'s shape."""

def select_scatter(input: Tensor, src: Tensor, dim: SupportsIndex, index: SupportsIndex) -> Tensor:
    """A copy of `input` with `src` at `index` along `dim`."""

def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: SupportsIndex = 0,
    start: SupportsIndex | None = None,
    end: SupportsIndex | None = None,
    step: SupportsIndex = 1,
) -> Tensor:
    """A copy of `input` with `src` in a slice along `dim`."""

def hsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """tensor_split along the second dimension; for a vector, along its only one."""

def vsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """tensor_split along the first dimension."""

def dsplit(input: Tensor, indices_or_sections: Ints) -> tuple[Tensor, ...]:
    """tensor_split along the third dimension."""

def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the tensors, of at most two dimensions, along its diagonal."""

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
    """The elements of the flat `input` at `index`, in its shape; negative ones count from the end."""

def take_along_dim(input: Tensor, indices: Tensor, dim: SupportsIndex | None = None) -> Tensor:
    """gather, whose arguments broadcast; without `dim`, of flattened tensors."""
