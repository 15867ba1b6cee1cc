"""What dtypes, devices and tensors are, by PyTorch's names: finfo, iinfo, layouts, seeds, x.type(), x.is_cuda."""

from . import _core, _named
from ._core import Tensor
from ._further import empty_strided as _strided

# Bits of the exponent and of the fraction; and the largest number where the format has no infinity.
_FORMATS = {
    _core.float8_e4m3fn: (4, 3, 448.0),
    _core.float8_e5m2: (5, 2, None),
    _core.float16: (5, 10, None),
    _core.bfloat16: (8, 7, None),
    _core.float32: (8, 23, None),
    _core.float64: (11, 52, None),
}
_REAL = {_core.complex64: _core.float32, _core.complex128: _core.float64}
_INTEGERS = [
    getattr(_core, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)
]


def _dtype_in(given, name):
    dtype = given.dtype if isinstance(given, Tensor) else given
    if not isinstance(dtype, _core.dtype):
        raise TypeError(f"{name}: give a dtype, not {type(given).__name__}")
    return dtype


class finfo:
    """What a floating dtype holds, by default the default one; of a complex one its parts.

    Raises:
        TypeError: `type` is not a dtype, or one of integers.
    """

    def __init__(self, type=None):
        dtype = _core.get_default_dtype() if type is None else _dtype_in(type, "finfo")
        dtype = _REAL.get(dtype, dtype)
        if dtype not in _FORMATS:
            raise TypeError(f"finfo: {dtype} is not a floating dtype; iinfo is for integers")
        exponent, fraction, largest = _FORMATS[dtype]
        bias = 2 ** (exponent - 1) - 1
        self.dtype, self.bits = dtype, 8 * dtype.itemsize
        self.eps = 2.0**-fraction
        self.max = (2 - 2.0**-fraction) * 2.0**bias if largest is None else largest
        self.min = -self.max
        self.smallest_normal = self.tiny = 2.0 ** (1 - bias)
        self.resolution = 10.0 ** -int(fraction * 0.30102999566398120)  # the decimal digits that are exact

    def __repr__(self):
        shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in shown)}, dtype={self.dtype.name})"

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


class iinfo:
    """What a dtype of integers holds.

    Raises:
        TypeError: `type` is not a dtype, or another one.
    """

    def __init__(self, type):
        dtype = _dtype_in(type, "iinfo")
        if dtype not in _INTEGERS:
            raise TypeError(f"iinfo: {dtype} is not a dtype of integers; finfo is for floating ones")
        self.dtype, self.bits = dtype, 8 * dtype.itemsize
        self.min = -(2 ** (self.bits - 1)) if dtype.is_signed else 0
        self.max = 2 ** (self.bits - dtype.is_signed) - 1

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype.name})"

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


class layout:
    """How elements lie in memory. There is one layout: `strided`."""

    def __repr__(self):
        return "backplane.strided"

    def __reduce__(self):
        return "strided"


layout.__module__ = "backplane"
strided = layout()
Size = tuple  # what x.shape is
contiguous_format, preserve_format = "contiguous_format", "preserve_format"
channels_last, channels_last_3d = "channels_last", "channels_last_3d"


def typename(obj):
    """The name of an object's type: x.type() of a tensor."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = type(obj)
    home = "" if kind.__module__ == "builtins" else kind.__module__ + "."
    return home + kind.__qualname__


def is_conj(input):
    """False: conj() computes its result, so that no tensor is a conjugate view."""
    return _tensor(input, "is_conj") is None


def is_neg(input):
    """False: no tensor is a negative view."""
    return _tensor(input, "is_neg") is None


def resolve_conj(input):
    """The tensor itself, since no tensor is a conjugate view."""
    return _tensor(input, "resolve_conj")


def resolve_neg(input):
    """The tensor itself, since no tensor is a negative view."""
    return _tensor(input, "resolve_neg")


def get_device(input):
    """The number of the tensor's device among those of its kind; -1 for cpu, as in PyTorch."""
    device = _tensor(input, "get_device").device
    return -1 if device.type == "cpu" else device.index


def _tensor(given, name):
    if not isinstance(given, Tensor):
        raise TypeError(f"{name}: give a Tensor, not {type(given).__name__}")
    return given


_precision = "highest"


def get_float32_matmul_precision():
    """What set_float32_matmul_precision() was given; "highest" before that."""
    return _precision


def set_float32_matmul_precision(precision):
    """Allows products of float32 to be less exact: "highest", "high" or "medium". They are as exact as "highest" all the
    same; kept for programs that say so at their beginning."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise ValueError(
            f"set_float32_matmul_precision: {precision!r}; it may be 'highest', 'high' or 'medium'"
        )
    _precision = precision


# --- Seeds ------------------------------------------------------------------------------------------------------------


def initial_seed():
    """What manual_seed() was given last; 0 before that."""
    return _core._default_generator().initial_seed()


def seed():
    """Seeds the generators of all devices with a number that the system draws, and returns it."""
    import secrets

    drawn = secrets.randbits(63)
    _core.manual_seed(drawn)
    return drawn


def get_rng_state(device=None):
    """The state of a device's generator, by default the default device's: a tensor of bytes for set_rng_state()."""
    state = _core._default_generator(device).get_state()
    return _core.tensor_of_bytes(b"".join(each.to_bytes(8, "little") for each in state), _core.uint8, (16,))


def set_rng_state(new_state, device=None):
    """Puts the generator of a device, by default the default device, into a state of get_rng_state().

    Raises:
        TypeError: it is not a tensor. ValueError: it is another kind of tensor.
    """
    state = _tensor(new_state, "set_rng_state")
    if state.dtype != _core.uint8 or tuple(state.shape) != (16,):
        raise ValueError(
            f"set_rng_state: the state is {state.dtype.name}{list(state.shape)}; give what get_rng_state() returned"
        )
    raw = bytes(state.tolist())
    _core._default_generator(device).set_state((int.from_bytes(raw[:8], "little"), int.from_bytes(raw[8:], "little")))


__all__ = [name for name in dir() if not name.startswith("_") and name != "Tensor"]

# --- Methods ----------------------------------------------------------------------------------------------------------

_TYPES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "uint8": "Byte", "int8": "Char",
    "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
    "float8_e4m3fn": "Float8_e4m3fn", "float8_e5m2": "Float8_e5m2",
}  # fmt: skip


def type_(self, dtype=None, non_blocking=False):
    """With a dtype, or the name of a type, the tensor as such a one, itself if it is so already. Without, that name:
    "backplane.FloatTensor", or "backplane.acme.FloatTensor" on a device of another kind.

    Raises:
        ValueError: no type has the name. TypeError: it is not a dtype.
    """
    if dtype is None:
        home = "" if self.device.type == "cpu" else self.device.type + "."
        return f"backplane.{home}{_TYPES[self.dtype.name]}Tensor"
    if isinstance(dtype, str):
        kind, _, name = dtype.removeprefix("backplane.").rpartition(".")
        known = {f"{each}Tensor": dtype_name for dtype_name, each in _TYPES.items()}
        if name in known:
            return self.to(kind or "cpu", getattr(_core, known[name]))
    return self.to(dtype=dtype)


Tensor.type = _named.named(type_, "type")
Tensor.layout = property(lambda self: strided, doc="How the elements lie: backplane.strided.")
Tensor.is_cpu = property(lambda self: self.device.type == "cpu", doc="Whether it is on a device of the kind cpu.")
Tensor.is_cuda = property(lambda self: self.device.type == "cuda", doc="Whether it is on a device of the kind cuda.")
Tensor.is_sparse = Tensor.is_quantized = Tensor.is_nested = property(lambda self: False, doc="There are none here.")
Tensor.is_set_to = lambda self, tensor: (
    self.shares_storage(tensor)
    and (self.shape, self.stride(), self.storage_offset()) == (tensor.shape, tensor.stride(), tensor.storage_offset())
)
Tensor.const_data_ptr = Tensor.data_ptr
Tensor.to_dense = lambda self, dtype=None, *, masked_grad=True: self if dtype is None else self.to(dtype=dtype)
Tensor.new_empty_strided = lambda self, size, stride, **options: _strided(
    size, stride, **{"dtype": self.dtype, "device": self.device, **options}
)
_named.name_all(globals(), __all__)
for _name in ("get_device", "is_conj", "is_neg", "resolve_conj", "resolve_neg"):
    setattr(Tensor, _name, globals()[_name])
