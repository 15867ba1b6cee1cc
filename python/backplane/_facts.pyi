"""What dtypes, devices and tensors are, by PyTorch's names."""

from typing import TypeAlias

from ._core import Tensor, dtype as _Dtype
from ._types import Bool, DeviceLike, DtypeLike, Float, Int, Str

class finfo:
    """What a floating dtype holds, by default the default one; of a complex one its parts.

    Raises:
        TypeError: `type` is not a dtype, or one of integers.
    """

    def __init__(self, type: DtypeLike | Tensor | None = None) -> None: ...
    dtype: _Dtype
    bits: Int
    eps: Float
    max: Float
    min: Float
    smallest_normal: Float
    tiny: Float
    resolution: Float

class iinfo:
    """What a dtype of integers holds.

    Raises:
        TypeError: `type` is not a dtype, or another one.
    """

    def __init__(self, type: DtypeLike | Tensor) -> None: ...
    dtype: _Dtype
    bits: Int
    max: Int
    min: Int

class layout:
    """How elements lie in memory. There is one layout: `strided`."""

strided: layout
Size: TypeAlias = tuple[Int, ...]
contiguous_format: Str
preserve_format: Str
channels_last: Str
channels_last_3d: Str

def typename(obj: object) -> Str:
    """The name of an object's type: x.type() of a tensor."""

def is_conj(input: Tensor) -> Bool:
    """False: conj() computes its result, so that no tensor is a conjugate view."""

def is_neg(input: Tensor) -> Bool:
    """False: no tensor is a negative view."""

def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, since no tensor is a conjugate view."""

def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, since no tensor is a negative view."""

def get_device(input: Tensor) -> Int:
    """The number of the tensor's device among those of its kind; -1 for cpu, as in PyTorch."""

def get_float32_matmul_precision() -> Str:
    """What set_float32_matmul_precision() was given; "highest" before that."""

def set_float32_matmul_precision(precision: Str) -> None:
    """Allows products of float32 to be less exact: "highest", "high" or "medium". They are as exact as "highest" all the
    same; kept for programs that say so at their beginning."""

def initial_seed() -> Int:
    """What manual_seed() was given last; 0 before that."""

def seed() -> Int:
    """Seeds the generators of all devices with a number that the system draws, and returns it."""

def get_rng_state(device: DeviceLike | None = None) -> Tensor:
    """The state of a device's generator, by default the default device's: a tensor of bytes for set_rng_state()."""

def set_rng_state(new_state: Tensor, device: DeviceLike | None = None) -> None:
    """Puts the generator of a device, by default the default device, into a state of get_rng_state().

    Raises:
        TypeError: it is not a tensor. ValueError: it is another kind of tensor.
    """
