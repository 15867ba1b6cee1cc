"""Dtypes, and which one two of them make."""

from dataclasses import dataclass

from .. import _core, _facts
from .._core import Tensor

bool = getattr(_core, "bool")
int8, int16, int32, int64 = _core.int8, _core.int16, _core.int32, _core.int64
uint8, uint16, uint32, uint64 = _core.uint8, _core.uint16, _core.uint32, _core.uint64
float32, float64, complex64, complex128 = _core.float32, _core.float64, _core.complex64, _core.complex128

SIGNED = {1: int8, 2: int16, 4: int32, 8: int64}
UNSIGNED = {1: uint8, 2: uint16, 4: uint32, 8: uint64}
REAL = (float32, float64)
COMPLEX = (complex64, complex128)
_KINDS = {
    "bool": (bool,),
    "signed integer": tuple(SIGNED.values()),
    "unsigned integer": tuple(UNSIGNED.values()),
    "integral": (*SIGNED.values(), *UNSIGNED.values()),
    "real floating": REAL,
    "complex floating": COMPLEX,
}
_KINDS["numeric"] = _KINDS["integral"] + REAL + COMPLEX


@dataclass(frozen=True)
class finfo_object:
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: _core.dtype


@dataclass(frozen=True)
class iinfo_object:
    bits: int
    max: int
    min: int
    dtype: _core.dtype


def isdtype(dtype, kind):
    """Is the dtype of a kind ("bool", "integral", "numeric" and others), another dtype, or one of a tuple of these?"""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: no kind {kind!r}; they are {', '.join(_KINDS)}")
        return dtype in _KINDS[kind]
    return dtype == kind


def _dtype_of(given):
    return given.dtype if isinstance(given, Tensor) else given


def finfo(type, /):
    """What a floating dtype holds."""
    dtype = _dtype_of(type)
    if dtype not in REAL + COMPLEX:
        raise ValueError(f"finfo: {dtype} is not a floating dtype")
    known = _facts.finfo(dtype)
    return finfo_object(known.bits, known.eps, known.max, known.min, known.smallest_normal, known.dtype)


def iinfo(type, /):
    """What an integer dtype holds."""
    dtype = _dtype_of(type)
    if dtype not in _KINDS["integral"]:
        raise ValueError(f"iinfo: {dtype} is not an integer dtype")
    known = _facts.iinfo(dtype)
    return iinfo_object(known.bits, known.max, known.min, dtype)


def _with_number(dtype, number):
    """The dtype of an array beside a Python number: its own, or the next kind."""
    if isinstance(number, complex) and dtype not in COMPLEX:
        if dtype not in REAL:
            raise TypeError(f"a complex number does not go with {dtype}; cast the array first")
        return complex128 if dtype == float64 else complex64
    if isinstance(number, float) and dtype not in REAL + COMPLEX:
        return _core.get_default_dtype()
    return dtype


def result_type(*arrays_and_dtypes):
    """The dtype that arrays, dtypes and Python numbers make together."""
    dtypes = [_dtype_of(each) for each in arrays_and_dtypes if isinstance(each, (Tensor, _core.dtype))]
    if not dtypes:
        raise ValueError("result_type: give an array or a dtype at least")
    result = dtypes[0]
    for each in dtypes[1:]:
        result = _core.promote_types(result, each)
    for each in arrays_and_dtypes:
        if not isinstance(each, (Tensor, _core.dtype)):
            result = _with_number(result, each)
    return result


def can_cast(from_, to, /):
    """Does promotion of the two give `to`?"""
    try:
        return _core.promote_types(_dtype_of(from_), to) == to
    except ValueError:
        return False


def astype(x, dtype, /, *, copy=True, device=None):
    """The array as another dtype; a copy unless `copy` is false and nothing changes.

    Also takes a NumPy dtype or a name, which xarray passes on.
    """
    if not isinstance(dtype, _core.dtype):
        dtype = _core.promote_types(dtype, dtype)
    if x.dtype.is_complex and not dtype.is_complex:
        raise TypeError(f"astype: {x.dtype} to {dtype} would lose the imaginary parts; take real(x)")
    return x.to(device or x.device, dtype, copy=copy)
