"""Functions by PyTorch's names that change shapes, choose elements and put them: made of several rows, or of forms of
one."""

from . import _core, _named
from ._core import Tensor, forms as _forms

_rows = _core.operators
_cat, _reshape = _rows["cat"], _rows["reshape"]


def _each(function, tensors):
    if len(tensors) == 1 and not isinstance(tensors[0], Tensor):
        tensors = tensors[0]
    elif len(tensors) == 1:
        return function(tensors[0])
    return tuple(function(each) for each in tensors)


def atleast_1d(*tensors):
    """Each tensor with at least one dimension."""
    return _each(_forms.atleast_1d, tensors)


def atleast_2d(*tensors):
    """Each tensor with at least two dimensions; new ones come first."""
    return _each(_forms.atleast_2d, tensors)


def atleast_3d(*tensors):
    """Each tensor with at least three dimensions; new ones are added on both sides."""
    return _each(_forms.atleast_3d, tensors)


def vstack(tensors):
    """Joined along the first dimension, after atleast_2d."""
    return _forms.vstack(tensors)


def hstack(tensors):
    """Joined along the second dimension; vectors along their only dimension."""
    return _forms.hstack(tensors)


def dstack(tensors):
    """Joined along the third dimension, after atleast_3d."""
    return _forms.dstack(tensors)


def column_stack(tensors):
    """Joined along the second dimension; vectors are columns."""
    return _forms.hstack([_reshape(each, (each.numel(), 1)) if each.ndim < 2 else each for each in tensors])


def broadcast_to(input, size):
    """`input` with dimensions of size 1, and new leading ones, repeated to `size`; a view."""
    return _rows["expand"](input, size)


def broadcast_shapes(*shapes):
    """The shape that all broadcast to.

    Raises:
        ValueError: they do not.
    """
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    if not shapes:
        return ()
    return _rows["broadcast_tensors"]([_rows["empty"](shape, device="meta") for shape in shapes])[0].shape


def ravel(input):
    """All elements in one dimension; a view if possible."""
    return _reshape(input, (-1,))


def adjoint(input):
    """The last two dimensions exchanged, and conjugated."""
    return input.mH


def t(input):
    """A matrix transposed; vectors and numbers stay."""
    return input.t()


def fliplr(input):
    """`input` with the second dimension reversed."""
    return _rows["flip"](input, 1)


def flipud(input):
    """`input` with the first dimension reversed."""
    return _rows["flip"](input, 0)


def argwhere(input):
    """[n, input.ndim]: the indices of all elements that are not 0."""
    return _rows["nonzero"](input)


def nonzero(input, *, as_tuple=False):
    """[n, input.ndim]: the indices of all elements that are not 0; with `as_tuple`, a tensor for each dimension."""
    found = _rows["nonzero"](input.reshape(1) if as_tuple and input.ndim == 0 else input)
    return tuple(_rows["unbind"](found, 1)) if as_tuple else found


def where(condition, input=None, other=None):
    """Elements of `input` where the condition holds, else of `other`; with the condition alone, the indices where it holds."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return _rows["where"](condition, input, other)


def tensordot(a, b, dims=2):
    """Sums of products over the last `dims` dimensions of a and the first of b, or over two lists of dimensions."""
    if hasattr(dims, "__index__"):
        return _forms.tensordot(a, b, dims)
    of_a, of_b = dims
    return _rows["tensordot"](a, b, of_a, of_b)


def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """Each slice along `dim`, or each element, `repeats` times: a number, or a tensor with one for each.
    `output_size` is not needed."""
    row = "repeat_interleave_by" if isinstance(repeats, Tensor) else "repeat_interleave"
    return _rows[row](input, repeats, dim)


def tensor_split(input, indices_or_sections, dim=0):
    """Parts of nearly equal size along `dim`: so many, or split before each index in a list."""
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    row = "tensor_split" if hasattr(indices_or_sections, "__index__") else "tensor_split_at"
    return _rows[row](input, indices_or_sections, dim)


def meshgrid(*tensors, indexing="ij"):
    """The coordinates of a grid by vectors: for each a tensor of all their sizes, the first two exchanged for "xy"."""
    return _rows["meshgrid"](_listed(tensors), indexing=indexing)


def broadcast_tensors(*tensors):
    """Views of all tensors in the shape that they broadcast to."""
    return _rows["broadcast_tensors"](_listed(tensors))


def _listed(tensors):
    return list(tensors[0]) if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else list(tensors)


def rot90(input, k=1, dims=(0, 1)):
    """`input` turned `k` times by a right angle in a plane, from the first of `dims` to the second."""
    return _rows["rot90"](input, k, dims)


def sum_to_size(input, *size):
    """The sum over those dimensions along which `size` was broadcast to `input`'s shape."""
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    if broadcast_shapes(size, input.shape) != tuple(input.shape):
        raise ValueError(f"sum_to_size: {list(size)} does not broadcast to {list(input.shape)}")
    new = input.ndim - len(size)
    dims = [*range(new), *(new + i for i, each in enumerate(size) if each == 1 and input.shape[new + i] != 1)]
    return (input.sum(dims, True) if dims else input).reshape(size)


def select_scatter(input, src, dim, index):
    """A copy of `input` with `src` at `index` along `dim`."""
    made = input.clone()
    made.select(dim, index).copy_(src)
    return made


def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy of `input` with `src` in a slice along `dim`."""
    made = input.clone()
    made[(slice(None),) * (dim % made.ndim) + (slice(start, end, step),)] = src
    return made


def hsplit(input, indices_or_sections):
    """tensor_split along the second dimension; for a vector, along its only one."""
    return tensor_split(input, indices_or_sections, 0 if input.ndim == 1 else 1)


def vsplit(input, indices_or_sections):
    """tensor_split along the first dimension."""
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input, indices_or_sections):
    """tensor_split along the third dimension."""
    return tensor_split(input, indices_or_sections, 2)


def block_diag(*tensors):
    """A matrix with the tensors, of at most two dimensions, along its diagonal."""
    blocks = [_forms.atleast_2d(each) for each in tensors]
    width, before, rows = sum(each.shape[1] for each in blocks), 0, []
    for each in blocks:
        rows.append(_rows["pad"](each, (before, width - before - each.shape[1])))
        before += each.shape[1]
    return _cat(rows, 0)


# --- Elements ---------------------------------------------------------------------------------------------------------


def masked_fill(input, mask, value):
    """`input` with `value`, a number or a tensor of one, where the mask holds."""
    return (_forms.masked_fill if isinstance(value, Tensor) else _rows["masked_fill"])(input, mask, value)


def index_fill(input, dim, index, value):
    """`input` with `value`, a number or a tensor of one, in the slices along `dim` that `index` names."""
    return (_forms.index_fill if isinstance(value, Tensor) else _rows["index_fill"])(input, dim, index, value)


def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """`input` with elements of `src`, or one number, at the places along `dim` that `index` names."""
    if reduce is not None:
        names = {"add": "sum", "multiply": "prod"}
        if reduce not in names:
            raise ValueError(f"scatter: reduce is {reduce!r}; it may be 'add' or 'multiply'")
        source = (
            src
            if isinstance(src, Tensor)
            else _rows["full_like"](index, value if src is None else src, dtype=input.dtype)
        )
        return _rows["scatter_reduce"](input, dim, index, source, names[reduce])
    if isinstance(src, Tensor):
        return _rows["scatter"](input, dim, index, src)
    return _forms.scatter(input, dim, index, value if src is None else src)


def index_put_(input, indices, values, accumulate=False):
    """Writes `values` into the places that `indices`, a list of tensors and Nones, names; adds them with
    `accumulate`."""
    return _forms.index_put_(input, indices, values, accumulate)


def _from_the_end(index, size):
    return _rows["where"](_rows["lt"](index, 0), index + size, index)


def take(input, index):
    """The elements of the flat `input` at `index`, in its shape; negative ones count from the end."""
    flat = input.reshape(-1)
    return _rows["index_select"](flat, 0, _from_the_end(index.reshape(-1), flat.shape[0])).reshape(index.shape)


def take_along_dim(input, indices, dim=None):
    """gather, whose arguments broadcast; without `dim`, of flattened tensors."""
    if dim is None:
        return take(input, indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise ValueError(
            f"take_along_dim: input has {input.ndim} dimensions, and indices {indices.ndim}; make them equal"
        )
    dim %= input.ndim
    without = [shape[:dim] + (1,) + shape[dim + 1 :] for shape in (input.shape, indices.shape)]
    common = broadcast_shapes(*without)
    input, indices = (each.expand(common[:dim] + (each.shape[dim],) + common[dim + 1 :]) for each in (input, indices))
    return _rows["gather"](input, dim, _from_the_end(indices, input.shape[dim]))


__all__ = [name for name in dir() if not name.startswith("_") and name != "Tensor"]
_named.name_all(globals(), __all__)
_METHODS = """adjoint argwhere broadcast_to dsplit fliplr flipud hsplit index_fill index_put_ masked_fill nonzero ravel
    repeat_interleave rot90 scatter select_scatter slice_scatter sum_to_size take take_along_dim tensor_split
    vsplit""".split()
for _name in _METHODS:
    setattr(Tensor, _name, globals()[_name])
Tensor.where = lambda self, condition, other: _rows["where"](condition, self, other)
