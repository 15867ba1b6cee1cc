"""Arrays of other libraries, over the same memory if possible."""

from . import _core
from ._core import from_dlpack

_UNKNOWN_TO_NUMPY = {_core.bfloat16, _core.float8_e4m3fn, _core.float8_e5m2}


def borrow(data, copies):
    """The same; what cannot be shared (memory that goes backwards or has another byte order) is copied by NumPy.

    With `copies` the caller copies the tensor, and memory that is only read is shared as well.
    """
    import numpy

    if not hasattr(data, "__dlpack__"):
        data = numpy.asarray(data)
    if not isinstance(data, (numpy.ndarray, numpy.generic)):
        return from_dlpack(data, accept_read_only=copies)
    array = numpy.asarray(data)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"tensor: an array of {array.dtype} has no dtype here")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    itemsize = array.itemsize or 1
    is_odd = any(step < 0 or step % itemsize for step in array.strides) or not array.flags.aligned
    if is_odd or not (copies or array.flags.writeable):
        array = numpy.array(array, copy=True, order="C")
    try:
        return from_dlpack(array, accept_read_only=copies)
    except (BufferError, ValueError) as error:
        raise TypeError(f"tensor: an array of {array.dtype} has no dtype here ({error})") from None


def to_numpy(tensor, *, force=False):
    """The tensor as a NumPy array, over the same memory where the host can read it.

    With `force`, also of a tensor that requires grad, whose derivatives the array cannot record.

    Raises:
        TypeError: NumPy does not have the dtype, or the tensor requires grad.
    """
    import numpy

    if tensor.requires_grad:
        if not force:
            raise TypeError("numpy: the tensor requires grad, which an array cannot record; call detach() first")
        tensor = tensor.detach()
    if tensor.is_meta:
        raise ValueError("numpy: a meta tensor has no values; call it on a tensor of another device")
    try:
        return numpy.from_dlpack(tensor.cpu())
    except (BufferError, RuntimeError):
        if tensor.dtype in _UNKNOWN_TO_NUMPY:
            raise TypeError(f"numpy: NumPy has no {tensor.dtype.name}; call float() first") from None
        raise


def from_numpy(array):
    """A tensor over the memory of a NumPy array.

    Raises:
        TypeError: it is not a NumPy array.
        ValueError: the memory may not be written, or goes backwards; `tensor` copies it.
    """
    import numpy

    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"from_numpy: give a NumPy array, not {type(array).__name__}; tensor() takes others")
    return from_dlpack(array)
