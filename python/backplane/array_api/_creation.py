"""New arrays."""

from .. import _core, _exchange
from .._core import Tensor

_rows = _core.operators


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of nested lists of numbers, of another's array, or of an array.

    Raises:
        ValueError: `copy` is false, and a copy is needed.
    """
    if copy:
        return _core.tensor(obj, dtype=dtype, device=device)
    made = _core.as_tensor(obj, dtype=dtype, device=device)
    if copy is False and isinstance(obj, Tensor) and not made.shares_storage(obj):
        raise ValueError("asarray: another dtype or device takes a copy; let copy be None")
    if copy is False and isinstance(obj, (bool, int, float, complex, list, tuple)):
        raise ValueError("asarray: Python numbers take a copy; let copy be None")
    return made


def from_dlpack(x, /, *, device=None, copy=None):
    """An array over the memory of another's."""
    made = _exchange.from_dlpack(x)
    if device is not None and made.device != _core.device(str(device)):
        if copy is False:
            raise ValueError("from_dlpack: another device takes a copy; let copy be None")
        return made.to(device)
    return made.clone() if copy else made


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers in equal steps; none where the steps lead away from `stop`."""
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        whole = all(isinstance(each, int) for each in (start, stop, step))
        dtype = _core.int64 if whole else _core.get_default_dtype()
    if (stop - start) * (1 if step > 0 else -1) <= 0:
        return _rows["empty"]((0,), dtype=dtype, device=device)
    return _rows["arange"](start, stop, step, dtype=dtype, device=device)


def _shape(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


def empty(shape, *, dtype=None, device=None):
    """An array whose elements are not set."""
    return _rows["empty"](_shape(shape), dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """An array of zeros."""
    return _rows["zeros"](_shape(shape), dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """An array of ones."""
    return _rows["ones"](_shape(shape), dtype=dtype, device=device)


def _natural(value):
    kinds = {bool: getattr(_core, "bool"), int: _core.int64, complex: _core.complex64}
    if type(value) is complex and _core.get_default_dtype() == _core.float64:
        return _core.complex128
    return kinds.get(type(value), _core.get_default_dtype())


def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one number, rounded to the dtype."""
    dtype = dtype or _natural(fill_value)
    wide = {_core.float32: _core.float64, _core.complex64: _core.complex128}.get(dtype, dtype)
    return _rows["full"](_shape(shape), fill_value, dtype=wide, device=device).to(dtype)


def empty_like(x, /, *, dtype=None, device=None):
    """empty, of the shape of `x`."""
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x, /, *, dtype=None, device=None):
    """zeros, of the shape of `x`."""
    return zeros(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def ones_like(x, /, *, dtype=None, device=None):
    """ones, of the shape of `x`."""
    return ones(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """full, of the shape of `x`."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the diagonal `k` of a matrix, and zeros."""
    n_cols = n_rows if n_cols is None else n_cols
    rows = _rows["arange"](0, n_rows, device=device).reshape(n_rows, 1)
    columns = _rows["arange"](0, n_cols, device=device)
    k = max(-n_rows, min(k, n_cols))  # further away there is nothing
    return (columns - rows == k).to(dtype or _core.get_default_dtype())


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` numbers in equal steps from `start` to `stop`, which is the last of them if `endpoint`."""
    wide = _core.complex128 if isinstance(start, complex) or isinstance(stop, complex) else _core.float64
    if dtype is None:
        dtype = _core.get_default_dtype() if wide == _core.float64 else _natural(1j)
    steps = num - 1 if endpoint else num
    places = _rows["arange"](0, num, dtype=_core.float64, device=device)
    if steps <= 0:
        made = places.to(wide) + start
    else:
        # From both ends, so that these are met exactly.
        made = (places * ((stop - start) / steps) + start).to(wide)
        if endpoint and num > 1:
            made[-1] = stop
    return made.to(dtype)


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of a grid."""
    return list(_rows["meshgrid"](arrays, indexing=indexing)) if arrays else []


def tril(x, /, *, k=0):
    """Zeros above the diagonal `k` of the last two dimensions."""
    return _rows["tril"](x, k)


def triu(x, /, *, k=0):
    """Zeros below the diagonal `k` of the last two dimensions."""
    return _rows["triu"](x, k)
