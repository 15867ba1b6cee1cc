"""The part of the package that is written in C++; the operators are in _operators.pyi."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, SupportsIndex, final, overload

from ._facts import layout as _layout
from ._operators import TensorOperators
from ._types import Bool, DeviceLike, DtypeLike, Float, Index, Int, Ints, Number, Real, Str
from .autograd import RemovableHandle

__version__: Str

class Error(RuntimeError):
    """What a device, a plugin or the runtime could not do."""

class DeviceError(Error):
    """A device is lost, or its driver failed; use another, or call again."""

class OutOfMemoryError(DeviceError, MemoryError):
    """Memory of a device, or of the host, ran out; free something and call again."""

class UnsupportedError(Error, NotImplementedError):
    """No kernel serves the call, and the policy allows no fallback."""

@final
class dtype:
    """The type of a tensor's elements."""

    @property
    def name(self) -> Str:
        """As "float32"."""
    @property
    def itemsize(self) -> Int:
        """Bytes of one element."""
    @property
    def is_floating_point(self) -> Bool: ...
    @property
    def is_complex(self) -> Bool: ...
    @property
    def is_signed(self) -> Bool: ...
    @property
    def kind(self) -> Str:
        """NumPy's letter: b, i, u, f or c."""
    @property
    def __numpy_dtype__(self) -> Any:
        """NumPy's dtype of this name; numpy.dtype() asks for it from NumPy 2.4 on. AttributeError: it has none."""

float8_e4m3fn: dtype
float8_e5m2: dtype
float16: dtype
bfloat16: dtype
float32: dtype
float64: dtype
complex64: dtype
complex128: dtype
uint8: dtype
uint16: dtype
uint32: dtype
uint64: dtype
int8: dtype
int16: dtype
int32: dtype
int64: dtype
bool: dtype
half: dtype
float: dtype
double: dtype
short: dtype
int: dtype
long: dtype
cfloat: dtype
cdouble: dtype

def get_default_dtype() -> dtype: ...
def set_default_dtype(dtype: DtypeLike) -> None: ...
def promote_types(type1: DtypeLike, type2: DtypeLike) -> dtype:
    """The dtype in which both are computed together."""

class device:
    """A device by name, as "cpu:0"; its plugin is loaded if need be. In a with statement it is the one on which new
    tensors of this thread are made.

    Raises:
        ValueError: no plugin that can be found offers it; the sentence says which devices there are.
    """

    def __init__(self, name: DeviceLike, index: Int | None = None) -> None: ...
    @property
    def type(self) -> Str:
        """The backend's name, as "cpu"."""
    @property
    def index(self) -> Int: ...
    @property
    def name(self) -> Str:
        """As "cpu:0"."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

def devices() -> list[device]:
    """All devices of the plugins that can be found here."""

def load_backend(path: Str) -> Str:
    """Loads a plugin from a file. Returns the name of its backend."""

def unload_backend(name: Str) -> None:
    """Unloads a backend. Fails if it is in use, naming by what."""

def synchronize(device: DeviceLike | None = None) -> None:
    """Waits for all work of a device."""

def set_default_device(device: DeviceLike) -> None:
    """The device on which new tensors of this process are made."""

def get_default_device() -> device | None: ...
def call_counts() -> list[dict[Str, Any]]:
    """What ran where: for each operator and backend the number of calls that each rung of the ladder served."""

def reset_call_counts() -> None: ...
def format_call_counts() -> Str: ...
def set_policy(device: DeviceLike, rung: Str, policy: Str) -> None:
    """Whether a device's calls may be served by a rung: "native", "legalized", "generated", "decomposed" or "host"; the
    policy is "allow", "warn_once" or "forbid"."""

def get_num_threads() -> Int: ...
def set_num_threads(num: Int) -> None: ...
def use_deterministic_algorithms(mode: Bool) -> None: ...
def are_deterministic_algorithms_enabled() -> Bool: ...
def manual_seed(seed: Int) -> None:
    """Seeds the generators of all devices."""

class Generator:
    """A stream of random numbers."""

    def __init__(self) -> None: ...
    def manual_seed(self, seed: Int) -> Self: ...
    def initial_seed(self) -> Int: ...
    def get_state(self) -> tuple[Int, Int]: ...
    def set_state(self, state: tuple[Int, Int]) -> None: ...

class Stream:
    """A queue of a device; work of one runs in order. In a with statement it is the one to which this thread's work on
    the device goes."""

    def __init__(self, device: DeviceLike | None = None, priority: Int = 0) -> None: ...
    def synchronize(self) -> None:
        """Waits for all its work."""
    def query(self) -> Bool:
        """Is all its work done?"""
    def wait_event(self, event: Event) -> None:
        """Its later work waits for the event."""
    def wait_stream(self, stream: Stream) -> None:
        """Its later work waits for what the other has been given so far."""
    @property
    def device(self) -> device: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

class Event:
    """A point in the work of a stream."""

    def __init__(self, device: DeviceLike | None = None, enable_timing: Bool = True) -> None: ...
    def record(self, stream: Stream) -> None:
        """Here is the point."""
    def wait(self, stream: Stream) -> None:
        """Later work of the stream waits for the point."""
    def query(self) -> Bool:
        """Is it reached?"""
    def synchronize(self) -> None: ...
    def elapsed_time(self, end: Event) -> Float:
        """Milliseconds from this event to another."""

def current_stream(device: DeviceLike | None = None) -> Stream:
    """The one to which this thread's work on the device goes."""

def default_stream(device: DeviceLike | None = None) -> Stream: ...
def stream(stream: Stream) -> Stream:
    """For a with statement, in which this thread's work goes to the stream."""

class Recording:
    """Work that was recorded once, and is replayed as one piece. It keeps all tensors that it reads and writes."""

    def replay(self) -> None:
        """Gives the work to this thread's current stream of the device. New inputs are written into the old tensors by
        copy_ before, and results are where the first call put them."""
    @property
    def device(self) -> device: ...
    @property
    def num_calls(self) -> Int:
        """Kernels, copies and fills."""
    @property
    def is_of_device(self) -> Bool:
        """Whether the device itself holds the work, rather than the host call by call."""

def capture(work: Callable[[], object], device: DeviceLike | None = None) -> Recording:
    """Calls `work`, whose operators are recorded and do not run.

    Raises:
        ValueError: something cannot be recorded: reading values, and work of other devices.
    """

def memory_stats(device: DeviceLike | None = None) -> dict[Str, Int]:
    """Bytes that tensors hold (allocated) and that were taken from the device (reserved), their peaks, and numbers of
    calls."""

def memory_allocated(device: DeviceLike | None = None) -> Int:
    """Bytes that tensors hold."""

def max_memory_allocated(device: DeviceLike | None = None) -> Int: ...
def memory_reserved(device: DeviceLike | None = None) -> Int:
    """Bytes that were taken from the device, held by tensors or free."""

def max_memory_reserved(device: DeviceLike | None = None) -> Int: ...
def reset_peak_memory_stats(device: DeviceLike | None = None) -> None: ...
def memory_summary(device: DeviceLike | None = None) -> Str:
    """The memory in use, by size, as text."""

def empty_cache(device: DeviceLike | None = None) -> None:
    """Returns unused memory to the device."""

def set_memory_limit(bytes: Int, device: DeviceLike | None = None) -> None:
    """The most bytes to take from the device; 0: no limit."""

def get_printoptions() -> dict[Str, Any]:
    """What set_printoptions set, by name."""

def set_printoptions(
    precision: Int | None = None,
    threshold: Int | None = None,
    edgeitems: Int | None = None,
    linewidth: Int | None = None,
    profile: Str | None = None,
    sci_mode: Bool | None = None,
) -> None:
    """How tensors are written as text: digits after the point, the number of elements from which a tensor is
    summarized, those shown at each end then, characters of a line, and whether numbers are in scientific notation,
    which is decided for each tensor if it is None."""

@final
class Operator:
    """A row of the operator table as a function."""

    __name__: Str
    @property
    def schema(self) -> Str:
        """The operator's schema, one line of text."""
    def under(self, name: Str, /) -> Operator:
        """The operator under another name, which its errors begin with."""
    def __call__(self, *args: Any, **keywords: Any) -> Any: ...

operators: dict[Str, Operator]
max_rank: Int

_device = device
_dtype = dtype

class Tensor(TensorOperators):
    """An array of numbers on a device. Made by tensor(), zeros() and others."""

    __array_priority__: Int
    def __init__(self, data: Tensor) -> None:
        """Over the same memory; for subclasses."""

    # What it is.
    @property
    def shape(self) -> tuple[Int, ...]: ...
    @property
    def size(self) -> _Size:
        """The number of elements; called, the shape, or the size of one dimension."""
    @overload
    def stride(self, dim: None = None) -> tuple[Int, ...]: ...
    @overload
    def stride(self, dim: Int) -> Int:
        """Steps in elements."""
    @overload
    def view(self, dtype: _dtype) -> Tensor: ...
    @overload
    def view(self, size: Ints) -> Tensor: ...
    @overload
    def view(self, *size: SupportsIndex) -> Tensor:
        """The same memory with another shape, where one size may be -1; or, with a dtype, as elements of it.

        Elements of another size scale the last dimension: [2, 3] of float32 is [2, 6] of int16. Bits are not recorded.

        Raises:
            ValueError: the shape or the bytes do not fit.
        """

    @property
    def ndim(self) -> Int: ...
    def dim(self) -> Int: ...
    def ndimension(self) -> Int: ...
    def numel(self) -> Int:
        """The number of elements."""
    def nelement(self) -> Int: ...
    @property
    def dtype(self) -> _dtype: ...
    @property
    def device(self) -> _device: ...
    @property
    def itemsize(self) -> Int: ...
    def element_size(self) -> Int:
        """Bytes of one element."""
    @property
    def nbytes(self) -> Int: ...
    def storage_offset(self) -> Int:
        """In elements, from the start of the storage."""
    def data_ptr(self) -> Int:
        """The address of element 0, where the host can read the device's memory."""
    def is_contiguous(self, memory_format: Str = "contiguous_format") -> Bool: ...
    def contiguous(self, memory_format: Str = "contiguous_format") -> Tensor: ...
    def is_floating_point(self) -> Bool: ...
    def is_complex(self) -> Bool: ...
    @property
    def _version(self) -> Int: ...
    def shares_storage(self, other: Tensor) -> Bool: ...
    def is_same(self, other: Tensor) -> Bool:
        """Are both names of one tensor?"""
    def is_inference(self) -> Bool: ...
    @property
    def is_meta(self) -> Bool:
        """Whether it has a shape but no values."""
    @property
    def T(self) -> Tensor:
        """All dimensions in reverse order."""
    def t(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged."""
    @property
    def H(self) -> Tensor:
        """Of a matrix: transposed and conjugate."""
    @property
    def mH(self) -> Tensor:
        """The last two dimensions exchanged, and conjugated."""
    @property
    def real(self) -> Tensor: ...
    @property
    def imag(self) -> Tensor: ...

    # Its values as Python's.
    def item(self) -> Any:
        """The only element as a Python number. ValueError where there are others."""
    def tolist(self) -> Any:
        """Nested lists of numbers; a number where there are no dimensions."""
    def numpy(self, *, force: Bool = False) -> Any:
        """The tensor as a NumPy array, over the same memory where the host can read it.

        Raises:
            TypeError: NumPy does not have the dtype, or the tensor requires grad. With `force`, the latter does not
            matter.
        """
    def __array__(self, dtype: Any = None, copy: Bool | None = None) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: Int | None = None,
        max_version: tuple[Int, Int] | None = None,
        dl_device: tuple[Int, Int] | None = None,
        copy: Bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[Int, Int]: ...
    def __float__(self) -> Float: ...
    def __int__(self) -> Int: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> Int: ...
    def __bool__(self) -> Bool: ...
    def __len__(self) -> Int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, value: Number | Tensor) -> Bool: ...
    def __format__(self, how: Str) -> Str: ...

    # Elsewhere, otherwise, and written into.
    @overload
    def to(
        self,
        device: DeviceLike,
        dtype: DtypeLike | None = None,
        non_blocking: Bool = False,
        *,
        copy: Bool = False,
        memory_format: Str | None = None,
    ) -> Tensor: ...
    @overload
    def to(
        self, dtype: DtypeLike, non_blocking: Bool = False, *, copy: Bool = False, memory_format: Str | None = None
    ) -> Tensor: ...
    @overload
    def to(
        self, other: Tensor, non_blocking: Bool = False, *, copy: Bool = False, memory_format: Str | None = None
    ) -> Tensor: ...
    @overload
    def to(
        self,
        *,
        device: DeviceLike | None = None,
        dtype: DtypeLike | None = None,
        non_blocking: Bool = False,
        copy: Bool = False,
        memory_format: Str | None = None,
    ) -> Tensor:
        """The tensor elsewhere, or as another dtype; itself if it is so already."""
    def cpu(self) -> Tensor: ...
    def clone(self) -> Tensor: ...
    def to_device(self, device: DeviceLike, /, *, stream: Any = None) -> Tensor: ...
    def __array_namespace__(self, *, api_version: Str | None = None) -> Any: ...
    def __copy__(self) -> Tensor: ...
    def __reversed__(self) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor: ...
    def float(self) -> Tensor: ...
    def double(self) -> Tensor: ...
    def half(self) -> Tensor: ...
    def bfloat16(self) -> Tensor: ...
    def int(self) -> Tensor: ...
    def long(self) -> Tensor: ...
    def short(self) -> Tensor: ...
    def char(self) -> Tensor: ...
    def byte(self) -> Tensor: ...
    def cfloat(self) -> Tensor: ...
    def cdouble(self) -> Tensor: ...
    def bool(self) -> Tensor: ...
    def copy_(self, src: Tensor) -> Self: ...
    def fill_(self, value: Number) -> Self: ...
    def zero_(self) -> Self: ...
    def uniform_(self, from_: Real = 0.0, to: Real = 1.0, *, generator: Generator | None = None) -> Self: ...
    def normal_(self, mean: Real = 0.0, std: Real = 1.0, *, generator: Generator | None = None) -> Self: ...
    def bernoulli_(self, p: Tensor | Real = 0.5, *, generator: Generator | None = None) -> Self: ...
    def exponential_(self, lambd: Real = 1.0, *, generator: Generator | None = None) -> Self: ...
    def random_(
        self, from_: SupportsIndex = 0, to: SupportsIndex | None = None, *, generator: Generator | None = None
    ) -> Self: ...
    def expand_as(self, other: Tensor) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor: ...
    def new_tensor(
        self,
        data: Any,
        *,
        dtype: DtypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: Bool = False,
    ) -> Tensor: ...
    @overload
    def new_zeros(
        self,
        size: Ints,
        *,
        dtype: DtypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: Bool = False,
    ) -> Tensor: ...
    @overload
    def new_zeros(
        self,
        *size: SupportsIndex,
        dtype: DtypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: Bool = False,
    ) -> Tensor: ...
    @overload
    def new_ones(
        self,
        size: Ints,
        *,
        dtype: DtypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: Bool = False,
    ) -> Tensor: ...
    @overload
    def new_ones(
        self,
        *size: SupportsIndex,
        dtype: DtypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: Bool = False,
    ) -> Tensor: ...
    @overload
    def new_empty(
        self,
        size: Ints,
        *,
        dtype: DtypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: Bool = False,
    ) -> Tensor: ...
    @overload
    def new_empty(
        self,
        *size: SupportsIndex,
        dtype: DtypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: Bool = False,
    ) -> Tensor: ...
    def new_full(
        self,
        size: Ints,
        fill_value: Number,
        *,
        dtype: DtypeLike | None = None,
        device: DeviceLike | None = None,
        requires_grad: Bool = False,
    ) -> Tensor: ...

    # Forms of several rows, as the functions of these names.
    @overload
    def max(self, dim: None = None, keepdim: Bool = False) -> Tensor: ...
    @overload
    def max(self, dim: Tensor, keepdim: Bool = False) -> Tensor: ...
    @overload
    def max(self, dim: Int, keepdim: Bool = False) -> Extremum: ...
    @overload
    def min(self, dim: None = None, keepdim: Bool = False) -> Tensor: ...
    @overload
    def min(self, dim: Tensor, keepdim: Bool = False) -> Tensor: ...
    @overload
    def min(self, dim: Int, keepdim: Bool = False) -> Extremum: ...
    def where(self, condition: Tensor, other: Tensor | Number) -> Tensor: ...
    def det(self) -> Tensor: ...
    def inverse(self) -> Tensor: ...
    def pinverse(self) -> Tensor: ...
    def slogdet(self) -> Any: ...
    def matrix_power(self, n: SupportsIndex) -> Tensor: ...
    def matrix_exp(self) -> Tensor: ...
    def split(
        self, split_size_or_sections: SupportsIndex | Sequence[SupportsIndex], dim: Int = 0
    ) -> tuple[Tensor, ...]: ...

    # Derivatives.
    requires_grad: Bool
    grad: Tensor | None
    data: Tensor
    @property
    def is_leaf(self) -> Bool: ...
    def requires_grad_(self, requires_grad: Bool = True) -> Self: ...
    def detach(self) -> Tensor:
        """The same values in the same memory, outside of every record."""
    def detach_(self) -> Self:
        """Takes the tensor itself out of every record, and returns it."""
    def retain_grad(self) -> None: ...
    # Its shape, memory and elements, changed in place.
    def as_strided_(self, size: Ints, stride: Ints, storage_offset: SupportsIndex | None = None) -> Self: ...
    def squeeze_(self, *dim: SupportsIndex) -> Self: ...
    def swapaxes_(self, dim0: SupportsIndex, dim1: SupportsIndex) -> Self: ...
    def swapdims_(self, dim0: SupportsIndex, dim1: SupportsIndex) -> Self: ...
    def t_(self) -> Self: ...
    def transpose_(self, dim0: SupportsIndex, dim1: SupportsIndex) -> Self: ...
    def unsqueeze_(self, dim: SupportsIndex) -> Self: ...
    def set_(
        self,
        source: Tensor | None = None,
        storage_offset: SupportsIndex = 0,
        size: Ints | None = None,
        stride: Ints | None = None,
    ) -> Self:
        """The tensor has the memory of `source` from now on, a part of it by `size` and `stride`; without a source,
        none."""
    def resize_(self, *sizes: Any, memory_format: Str = "contiguous_format") -> Self:
        """Another shape for the same elements in the order of memory; those beyond the present ones have no defined
        value."""
    def resize_as_(self, tensor: Tensor, memory_format: Str = "contiguous_format") -> Self: ...
    def apply_(self, callable: Callable[[Any], Number]) -> Self:
        """Replaces each element by `callable` of it, one by one on the host: slow."""
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Number]) -> Self: ...
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Number]) -> Self: ...
    def cauchy_(self, median: Real = 0, sigma: Real = 1, *, generator: Generator | None = None) -> Self: ...
    def geometric_(self, p: Real, *, generator: Generator | None = None) -> Self: ...
    def log_normal_(self, mean: Real = 1, std: Real = 2, *, generator: Generator | None = None) -> Self: ...
    # Facts by PyTorch's names.
    def type(self, dtype: Any = None, non_blocking: Bool = False) -> Any:
        """With a dtype, or the name of a type, the tensor as such a one; without, that name."""
    @property
    def layout(self) -> _layout: ...
    @property
    def is_cpu(self) -> Bool: ...
    @property
    def is_cuda(self) -> Bool: ...
    @property
    def is_sparse(self) -> Bool: ...
    @property
    def is_quantized(self) -> Bool: ...
    @property
    def is_nested(self) -> Bool: ...
    def get_device(self) -> Int: ...
    def is_conj(self) -> Bool: ...
    def is_neg(self) -> Bool: ...
    def is_set_to(self, tensor: Tensor) -> Bool: ...
    def resolve_conj(self) -> Self: ...
    def resolve_neg(self) -> Self: ...
    def to_dense(self, dtype: DtypeLike | None = None, *, masked_grad: Bool = True) -> Tensor: ...
    def const_data_ptr(self) -> Int: ...
    def new_empty_strided(self, size: Ints, stride: Ints, **options: Any) -> Tensor: ...
    def pin_memory(self, device: DeviceLike | None = None) -> Tensor:
        """A copy in the host's pinned memory, which `device`, by default the default device, reads and writes at full
        speed. Itself if it is there, or if the device has no such memory."""
    def is_pinned(self, device: DeviceLike | None = None) -> Bool: ...
    def share_memory_(self) -> Self:
        """Moves the tensor into memory that processes which are forked later share, and returns it."""
    def is_shared(self) -> Bool: ...
    def record_stream(self, stream: Stream) -> None: ...
    def backward(
        self, gradient: Tensor | None = None, retain_graph: Bool | None = None, create_graph: Bool = False
    ) -> None:
        """Adds the derivatives of this tensor to the leaves that it was made of."""
    @property
    def grad_fn(self) -> Any:
        """None for a leaf."""
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Calls `hook` with the derivative by this tensor as soon as it is complete; what it returns, if anything,
        takes its place."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Calls `hook` with this leaf once its gradient is accumulated."""

    # Python's operators.
    def __getitem__(self, index: Index) -> Tensor: ...
    def __setitem__(self, index: Index, value: Any) -> None: ...
    def __add__(self, other: Number) -> Tensor: ...
    def __radd__(self, other: Number) -> Tensor: ...
    def __iadd__(self, other: Number) -> Self: ...
    def __sub__(self, other: Number) -> Tensor: ...
    def __rsub__(self, other: Number) -> Tensor: ...
    def __isub__(self, other: Number) -> Self: ...
    def __mul__(self, other: Number) -> Tensor: ...
    def __rmul__(self, other: Number) -> Tensor: ...
    def __imul__(self, other: Number) -> Self: ...
    def __truediv__(self, other: Number) -> Tensor: ...
    def __rtruediv__(self, other: Number) -> Tensor: ...
    def __itruediv__(self, other: Number) -> Self: ...
    def __floordiv__(self, other: Number) -> Tensor: ...
    def __rfloordiv__(self, other: Number) -> Tensor: ...
    def __ifloordiv__(self, other: Number) -> Self: ...
    def __mod__(self, other: Number) -> Tensor: ...
    def __rmod__(self, other: Number) -> Tensor: ...
    def __imod__(self, other: Number) -> Self: ...
    def __pow__(self, other: Number) -> Tensor: ...
    def __rpow__(self, other: Number) -> Tensor: ...
    def __ipow__(self, other: Number) -> Self: ...
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __and__(self, other: Number) -> Tensor: ...
    def __rand__(self, other: Number) -> Tensor: ...
    def __iand__(self, other: Number) -> Self: ...
    def __or__(self, other: Number) -> Tensor: ...
    def __ror__(self, other: Number) -> Tensor: ...
    def __ior__(self, other: Number) -> Self: ...
    def __xor__(self, other: Number) -> Tensor: ...
    def __rxor__(self, other: Number) -> Tensor: ...
    def __ixor__(self, other: Number) -> Self: ...
    def __lshift__(self, other: Number) -> Tensor: ...
    def __rlshift__(self, other: Number) -> Tensor: ...
    def __ilshift__(self, other: Number) -> Self: ...
    def __rshift__(self, other: Number) -> Tensor: ...
    def __rrshift__(self, other: Number) -> Tensor: ...
    def __irshift__(self, other: Number) -> Self: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __lt__(self, other: Number) -> Tensor: ...
    def __le__(self, other: Number) -> Tensor: ...
    def __gt__(self, other: Number) -> Tensor: ...
    def __ge__(self, other: Number) -> Tensor: ...
    def __eq__(self, other: Number) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Number) -> Tensor: ...  # type: ignore[override]
    def __hash__(self) -> Int: ...

class _Size(Int):
    """The number of elements, as the array API has it; called, PyTorch's method."""

    @overload
    def __call__(self, dim: None = None) -> tuple[Int, ...]: ...
    @overload
    def __call__(self, dim: Int) -> Int: ...

class Extremum(tuple[Tensor, Tensor]):
    """Values and their indices."""

    @property
    def values(self) -> Tensor: ...
    @property
    def indices(self) -> Tensor: ...

def tensor(
    data: Any, *, dtype: DtypeLike | None = None, device: DeviceLike | None = None, requires_grad: Bool = False
) -> Tensor:
    """A new tensor of numbers, nested lists, or another's array, which is copied.

    Raises:
        TypeError: something in it is not a number.
        ValueError: lists of one level differ in length.
    """

def as_tensor(data: Any, dtype: DtypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """A tensor of the values, over the same memory if possible."""

def from_dlpack(
    data: Any, *, device: DeviceLike | None = None, copy: Bool | None = None, accept_read_only: Bool = False
) -> Tensor:
    """A tensor over the memory of another's array, by DLPack.

    `data` has `__dlpack__`, or is a capsule that this returned. Memory that may only be read is refused, unless
    `accept_read_only` promises that nobody writes into the tensor. With `device` the tensor is there; with `copy` it
    has memory of its own.

    Raises:
        BufferError, ValueError: the memory is of a device or of elements that are not known here, or may not be
        written.
    """

def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: Bool | None = None,
    create_graph: Bool = False,
) -> None:
    """Adds the derivatives of the tensors to the leaves that they were made of."""

def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: Bool | None = None,
    create_graph: Bool = False,
    allow_unused: Bool = False,
) -> tuple[Tensor, ...]:
    """The derivatives of `outputs` by `inputs`, returned and not accumulated. None in place of one, with
    `allow_unused`."""

def is_grad_enabled() -> Bool: ...
def is_inference_mode_enabled() -> Bool: ...

class saved_tensors_hooks:
    """In a with statement: this thread's recorded calls keep what `pack_hook` makes of a tensor, and `unpack_hook`
    makes that a tensor again when backward needs it."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

def checkpoint(function: Callable[..., Any], *args: Any) -> Any:
    """The results of `function`, which keeps nothing for backward: it is computed once more when backward comes
    there."""

def is_autocast_enabled(device_type: DeviceLike = "cpu") -> Bool:
    """Whether this thread casts calls on the device."""

def get_autocast_dtype(device_type: DeviceLike = "cpu") -> dtype:
    """The dtype that calls on the device are cast to."""

def is_autocast_cache_enabled() -> Bool: ...
def clear_autocast_cache() -> None:
    """Forgets the casts of weights that this thread keeps."""

class SafetensorsFile:
    """A .safetensors file, whose tensors are read one by one."""

    def __init__(self, path: Any, *, mapped: Bool = False) -> None: ...
    def keys(self) -> list[Str]:
        """In the order in which they lie in the file."""
    def __len__(self) -> Int: ...
    def __contains__(self, name: object) -> Bool: ...
    def __iter__(self) -> Iterator[Str]: ...
    def metadata(self) -> dict[Str, Str]: ...
    def info(self, name: Str) -> tuple[dtype, tuple[Int, ...]]:
        """The dtype and the shape."""
    def get_tensor(self, name: Str) -> Tensor: ...
    def get_tensors(self) -> dict[Str, Tensor]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

class FunctionContext:
    """What one call of a Function keeps from forward to backward. Other attributes may be set on it."""

    def save_for_backward(self, *tensors: Tensor | None) -> None: ...
    @property
    def saved_tensors(self) -> tuple[Tensor, ...]: ...
    def mark_dirty(self, *tensors: Tensor) -> None:
        """In forward: these inputs are written in place, and returned."""
    def mark_non_differentiable(self, *tensors: Tensor) -> None: ...
    def set_materialize_grads(self, value: Bool) -> None: ...
    @property
    def needs_input_grad(self) -> tuple[Bool, ...]:
        """For each argument, whether its derivative is needed."""
    def __setattr__(self, name: Str, value: Any) -> None: ...
    def __getattr__(self, name: Str) -> Any: ...

# What the package's own modules use besides.
def __getattr__(name: Str) -> Any: ...
