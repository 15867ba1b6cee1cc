"""Numbers that many elements make."""

from .. import _core
from . import _dtypes

_rows = _core.operators
_range = range


def _summed_dtype(x, dtype):
    """Integers are summed as 64 bits of their kind."""
    if dtype is not None:
        return dtype
    if _dtypes.isdtype(x.dtype, "unsigned integer"):
        return _core.uint64
    return _core.int64 if _dtypes.isdtype(x.dtype, ("signed integer", "bool")) else x.dtype


def _over(row, x, axis, keepdims, **options):
    """A row over axes. PyTorch's rows take no axes for all of them, and here they are none: each element is a group."""
    if axis == ():
        return _rows[row](x.unsqueeze(-1), dim=-1, keepdim=False, **options)
    return _rows[row](x, dim=axis, keepdim=keepdims, **options)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum over axes; with None, over all."""
    return _over("sum", x, axis, keepdims, dtype=_summed_dtype(x, dtype))


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product over axes; with None, over all."""
    return _over("prod", x, axis, keepdims, dtype=_summed_dtype(x, dtype))


def mean(x, /, *, axis=None, keepdims=False):
    """The arithmetic mean over axes; with None, over all."""
    return _over("mean", x, axis, keepdims)


def _spread(row, x, axis, correction, keepdims):
    if correction == int(correction):
        return _over(row, x, axis, keepdims, correction=int(correction))
    axes = _range(x.ndim) if axis is None else ((axis,) if isinstance(axis, int) else axis)
    count = 1
    for each in axes:
        count *= x.shape[each]
    scale = count / (count - correction) if count > correction else float("nan")
    variance = _over("var", x, axis, keepdims, correction=0) * scale
    return variance.sqrt() if row == "std" else variance


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance over axes, by `n - correction`."""
    return _spread("var", x, axis, correction, keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The standard deviation over axes, by `n - correction`."""
    return _spread("std", x, axis, correction, keepdims)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element over axes; with None, of all."""
    return _over("max", x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element over axes; with None, of all."""
    return _over("min", x, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements over axes are true."""
    return _over("all", x, axis, keepdims).to(getattr(_core, "bool"))


def any(x, /, *, axis=None, keepdims=False):
    """Whether any element over axes is true."""
    return _over("any", x, axis, keepdims).to(getattr(_core, "bool"))


def _cumulative(row, start, x, axis, dtype, include_initial):
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"cumulative_{row}: an array of {x.ndim} dimensions needs an axis")
        axis = 0
    if x.ndim == 0:
        x = x.reshape(1)
    made = _rows["cum" + row](x, axis, dtype=_summed_dtype(x, dtype))
    if not include_initial:
        return made
    shape = list(x.shape)
    shape[axis] = 1
    first = _rows["full"](shape, start, dtype=made.dtype, device=made.device)
    return _rows["cat"]([first, made], axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Sums of the elements so far; with `include_initial`, from 0."""
    return _cumulative("sum", 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Products of the elements so far; with `include_initial`, from 1."""
    return _cumulative("prod", 1, x, axis, dtype, include_initial)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Differences of neighbours, `n` times."""
    return _rows["diff"](x, n, axis, prepend, append)
