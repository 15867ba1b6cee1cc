"""Which elements, where, and in which order."""

from collections import namedtuple

from .. import _core
from .._core import Tensor
from ._elementwise import _pair
from ._statistics import _over

_rows = _core.operators
UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def argmax(x, /, *, axis=None, keepdims=False):
    """Where the largest element stands; the first of several."""
    return _argument("argmax", x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """Where the smallest element stands; the first of several."""
    return _argument("argmin", x, axis, keepdims)


def _argument(row, x, axis, keepdims):
    found = _rows[row](x, axis, keepdims and axis is not None)
    return found.reshape((1,) * x.ndim) if keepdims and axis is None else found


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are not 0."""
    return _over("sum", (x != 0).to(_core.int64), axis, keepdims)


def nonzero(x, /):
    """The indices of elements that are not 0, an array for each dimension."""
    if x.ndim == 0:
        raise ValueError("nonzero: an array without dimensions has no indices")
    return tuple(_rows["unbind"](_rows["nonzero"](x), 1))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where the elements of `x2` go so that `x1`, a sorted vector, stays sorted."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    if sorter is not None:
        x1 = _rows["index_select"](x1, 0, sorter.to(_core.int64))
    x1, x2 = _pair("searchsorted", x1, x2)
    return _rows["searchsorted"](x1, x2, right=side == "right")


def where(condition, x1, x2, /):
    """Elements of `x1` where the condition holds, else of `x2`.

    Arrays without dimensions may be on another device: SciPy and xarray make them of Python's numbers.
    """
    arrays = [each for each in (condition, x1, x2) if isinstance(each, Tensor)]
    device = max(arrays, key=lambda each: each.ndim > 0).device  # of the first that has dimensions
    condition, x1, x2 = (
        each.to(device) if isinstance(each, Tensor) and each.ndim == 0 else each for each in (condition, x1, x2)
    )
    return _rows["where"](condition, *_pair("where", x1, x2))


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """Elements in order along an axis."""
    return _rows["sort"](x, axis, descending)[0]


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that sort along an axis."""
    return _rows["sort"](x, axis, descending)[1]


def _unique(x):
    """Values, first indices, inverse indices and counts."""
    return _unique_complex(x) if x.dtype.is_complex else _rows["unique_all"](x)


def _unique_complex(x):
    """By real parts, and then by imaginary ones: two sorts that keep the order of equals."""
    flat = x.reshape(-1)
    count = flat.numel()
    order = argsort(flat.imag)
    order = order[argsort(flat.real[order])]
    ordered = flat[order]
    begins = _rows["ones"]((count,), dtype=getattr(_core, "bool"), device=x.device)
    if count > 1:
        begins[1:] = ordered[1:] != ordered[:-1]
    starts = _rows["nonzero"](begins).reshape(-1)
    ends = _rows["cat"]([starts[1:], _core.tensor([count], device=x.device)], 0) if count else starts
    group = _rows["cumsum"](begins.to(_core.int64), 0) - 1
    inverse = _rows["empty"]((count,), dtype=_core.int64, device=x.device)
    inverse[order] = group
    return ordered[starts], order[starts], inverse.reshape(x.shape), ends - starts


def unique_all(x, /):
    """Distinct elements, where each stands first, which one each element is, and how often each occurs."""
    return UniqueAll(*_unique(x))


def unique_counts(x, /):
    """Distinct elements, and how often each occurs."""
    values, _, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x, /):
    """Distinct elements, and which one each element is."""
    values, _, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x, /):
    """Distinct elements."""
    return _unique(x)[0]
