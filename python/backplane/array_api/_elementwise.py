"""Functions of elements."""

from .. import _core
from .._core import Tensor
from . import _dtypes

_rows = _core.operators


def _pair(name, x1, x2):
    """Two operands of one dtype: in the core one without dimensions yields to one that has some, and here all count."""
    first, second = isinstance(x1, Tensor), isinstance(x2, Tensor)
    if not first and not second:
        raise TypeError(f"{name}: one of the operands must be an array")
    if first and second:
        if x1.dtype != x2.dtype:
            dtype = _core.promote_types(x1.dtype, x2.dtype)
            x1, x2 = x1.to(dtype), x2.to(dtype)
        return x1, x2
    array, number = (x1, x2) if first else (x2, x1)
    dtype = _dtypes.result_type(array, number)
    other = _core.tensor(number, dtype=dtype, device=array.device)
    array = array.to(dtype)
    return (array, other) if first else (other, array)


def _unary(name, row):
    function = _rows[row]

    def call(x, /):
        return function(x)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


def _binary(name, row):
    function = _rows[row]

    def call(x1, x2, /):
        return function(*_pair(name, x1, x2))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


for _name in (
    "acos acosh asin asinh atan atanh conj cos cosh exp isfinite isinf isnan log log1p log2 log10 logical_not "
    "reciprocal sin sinh sqrt square tan"
).split():
    globals()[_name] = _unary(_name, _name)
for _name in (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign hypot "
    "logaddexp logical_and logical_or logical_xor maximum minimum nextafter pow"
).split():
    globals()[_name] = _binary(_name, _name)
for _name, _row in {"subtract": "sub", "multiply": "mul", "divide": "div", "equal": "eq", "not_equal": "ne",
                    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}.items():
    globals()[_name] = _binary(_name, _row)


def _of_whole(name):
    """Of integers these are the integers."""
    function = _rows[name]

    def call(x, /):
        return x.clone() if _dtypes.isdtype(x.dtype, "integral") else function(x)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


ceil, floor, trunc = _of_whole("ceil"), _of_whole("floor"), _of_whole("trunc")


def floor_divide(x1, x2, /):
    """x1 / x2, rounded down. Of infinities as the standard has it; the operator // gives NaN, as PyTorch and NumPy do."""
    x1, x2 = _pair("floor_divide", x1, x2)
    quotient = _rows["floor_divide"](x1, x2)
    if not x1.dtype.is_floating_point:
        return quotient
    plain = _rows["div"](x1, x2)
    endless = _rows["isinf"](x1) & _rows["isfinite"](x2)
    vanishing = _rows["isfinite"](x1) & _rows["isinf"](x2) & (plain == 0) & (x1 != 0)
    down = _rows["where"](_rows["signbit"](plain), _rows["full_like"](plain, -0.0), _rows["zeros_like"](plain))
    return _rows["where"](endless, plain, _rows["where"](vanishing, down, quotient))


def round(x, /):
    """To the nearest integer, halves to even ones; of complex numbers both parts."""
    if x.dtype.is_complex:
        return _rows["view_as_complex"](_rows["round"](_rows["view_as_real"](x)))
    return x.clone() if _dtypes.isdtype(x.dtype, "integral") else _rows["round"](x)


def abs(x, /):
    """Magnitudes."""
    return x.clone() if _dtypes.isdtype(x.dtype, "unsigned integer") else _rows["abs"](x)


def negative(x, /):
    """-x."""
    return _rows["neg"](x)


def positive(x, /):
    """x, as a new array."""
    return x.clone()


def bitwise_invert(x, /):
    """~x, of bools the opposite."""
    return ~x


# Where the standard says more of zeros, infinities and NaN than PyTorch, whose rows these are.


def sign(x, /):
    """-1, 0 or 1; of complex numbers x / |x|; NaN of NaN."""
    if x.dtype.is_complex:
        return _rows["where"](x == 0, _rows["zeros_like"](x), _rows["sgn"](x))
    found = _rows["sign"](x)
    return _rows["where"](_rows["isnan"](x), x, found) if x.dtype.is_floating_point else found


def signbit(x, /):
    """Whether the sign bit is set, as for -0 and some NaNs."""
    return _rows["copysign"](_rows["ones_like"](x), x) < 0


def remainder(x1, x2, /):
    """What is left of x1 / x2 rounded down, with the sign of x2, which a zero has as well."""
    x1, x2 = _pair("remainder", x1, x2)
    rest = _rows["remainder"](x1, x2)
    if not rest.dtype.is_floating_point:
        return rest
    return _rows["where"](rest == 0, _rows["copysign"](rest, x2), rest)


def expm1(x, /):
    """exp(x) - 1, exact near 0; of a complex zero 0."""
    found = _rows["expm1"](x)
    if not x.dtype.is_complex:
        return found
    return _rows["where"]((x == 0) & ~signbit(x.imag), _rows["zeros_like"](x), found)


def tanh(x, /):
    """The hyperbolic tangent; of an infinite real part 1 or -1, and a zero with the sign of the imaginary part."""
    found = _rows["tanh"](x)
    if not x.dtype.is_complex:
        return found
    parts = [_rows["copysign"](_rows["ones_like"](x.real), x.real), _rows["copysign"](_rows["zeros_like"](x.imag), x.imag)]
    at_ends = _rows["view_as_complex"](_rows["stack"](parts, -1))
    return _rows["where"](_rows["isinf"](x.real) & _rows["isfinite"](x.imag), at_ends, found)


def real(x, /):
    """Real parts."""
    return x.real


def imag(x, /):
    """Imaginary parts."""
    return x.imag


def clip(x, /, min=None, max=None):
    """Elements within bounds, numbers or arrays that broadcast; the dtype stays."""
    dtype = x.dtype
    for bound, row in ((min, "maximum"), (max, "minimum")):
        if bound is None:
            continue
        if not isinstance(bound, Tensor):
            if _dtypes.isdtype(dtype, "integral"):
                info = _dtypes.iinfo(dtype)
                if not info.min <= bound <= info.max:  # every element is on the right side, or none
                    if (bound > info.max) == (row == "maximum"):
                        bound = info.max if row == "maximum" else info.min
                    else:
                        continue
            bound = _core.tensor(bound, dtype=dtype, device=x.device)
        x = _rows[row](x, bound.to(dtype))
    return x.clone() if min is None and max is None else x
