"""Arrays in other shapes, and put together."""

import builtins

from .. import _core
from . import _dtypes

_rows = _core.operators


def _axes(axis, ndim):
    """Axes from 0, each once. Raises IndexError for one that does not exist."""
    found = []
    for each in (axis,) if isinstance(axis, int) else axis:
        if not -ndim <= each < ndim:
            raise IndexError(f"axis {each} is out of bounds for an array of {ndim} dimensions")
        found.append(each % ndim)
    if len(set(found)) < len(found):
        raise ValueError(f"an axis is named twice in {axis}")
    return found


def broadcast_to(x, /, shape):
    """The array repeated to a shape, without a copy."""
    return _rows["expand"](x, tuple(shape))


def broadcast_arrays(*arrays):
    """All arrays repeated to one shape."""
    return list(_rows["broadcast_tensors"](arrays)) if arrays else []


def _of_one_dtype(arrays):
    dtype = _dtypes.result_type(*arrays)
    return [each.to(dtype) for each in arrays]


def concat(arrays, /, *, axis=0):
    """Arrays one after another along `axis`; with None, all elements."""
    arrays = _of_one_dtype(arrays)
    if axis is None:
        return _rows["cat"]([each.reshape(-1) for each in arrays], 0)
    return _rows["cat"](arrays, axis)


def stack(arrays, /, *, axis=0):
    """Arrays of one shape along a new axis."""
    return _rows["stack"](_of_one_dtype(arrays), axis)


def unstack(x, /, *, axis=0):
    """The parts along an axis, without it."""
    return tuple(_rows["unbind"](x, axis))


def expand_dims(x, /, axis=0):
    """A new axis of size 1."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"expand_dims: axis {axis} is out of bounds for an array of {x.ndim} dimensions")
    return _rows["unsqueeze"](x, axis)


def squeeze(x, /, axis):
    """Without axes of size 1. Raises ValueError for one of another size."""
    axes = _axes(axis, x.ndim)
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(f"squeeze: axis {each} has size {x.shape[each]}, not 1")
    return _rows["squeeze"](x, axes) if axes else x


def flip(x, /, *, axis=None):
    """Elements in reverse order along axes; with None, along all."""
    return _rows["flip"](x, list(range(x.ndim)) if axis is None else _axes(axis, x.ndim))


def moveaxis(x, source, destination, /):
    """Axes elsewhere."""
    return _rows["movedim"](x, _axes(source, x.ndim), _axes(destination, x.ndim))


def permute_dims(x, /, axes):
    """Axes in another order."""
    return _rows["permute"](x, tuple(axes))


def repeat(x, repeats, /, *, axis=None):
    """Each element, or each slice along `axis`, several times."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    if isinstance(repeats, int):
        return _rows["repeat_interleave"](x, repeats, axis)
    repeats = repeats.to(_core.int64)
    if repeats.numel() == 1:
        return _rows["repeat_interleave"](x, int(repeats), axis)
    return _rows["repeat_interleave_by"](x, repeats, axis)


def reshape(x, /, shape, *, copy=None):
    """The array in another shape. Raises ValueError if `copy` is false and a copy is needed."""
    if copy is False:
        return _rows["view"](x, tuple(shape))
    made = _rows["reshape"](x, tuple(shape))
    return made.clone() if copy else made


def roll(x, /, shift, *, axis=None):
    """Elements further along axes, those at the end in front; with None, along all elements."""
    shifts = [shift] if isinstance(shift, int) else list(shift)
    if axis is None:
        return _rows["roll"](x.reshape(-1), [builtins.sum(shifts)], [0]).reshape(x.shape) if x.numel() else x.clone()
    axes = [axis] if isinstance(axis, int) else list(axis)
    if len(shifts) == 1:
        shifts *= len(axes)
    return _rows["roll"](x, shifts, axes)


def tile(x, repetitions, /):
    """The array several times along each axis."""
    return _rows["tile"](x, tuple(repetitions))


def take(x, indices, /, *, axis=None):
    """Slices by number along `axis`."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: an array of {x.ndim} dimensions needs an axis")
        axis = 0
    if indices.ndim != 1:
        places = (slice(None),) * (axis % x.ndim) + (indices,)
        return x[places]
    size = x.shape[axis]
    indices = indices.to(_core.int64)
    return _rows["index_select"](x, axis, _rows["where"](indices < 0, indices + size, indices))


def take_along_axis(x, indices, /, *, axis=-1):
    """Elements by number along `axis`, others for each place; the other axes broadcast."""
    axis %= x.ndim
    shape = list(broadcast_arrays(*(_rows["narrow"](each, axis, 0, 1) if each.shape[axis] else each
                                    for each in (x, indices)))[0].shape)
    wide = broadcast_to(x, (*shape[:axis], x.shape[axis], *shape[axis + 1:]))
    places = broadcast_to(indices, (*shape[:axis], indices.shape[axis], *shape[axis + 1:])).to(_core.int64)
    places = _rows["where"](places < 0, places + x.shape[axis], places)
    return _rows["gather"](wide, axis, places)
