"""Arrays of others, over the same memory where that can be."""

from . import _core


def from_dlpack(data):
    """A tensor over the memory of another's array, by DLPack.

    Args:
        data: whatever has `__dlpack__`, or a capsule that it returned.

    Raises:
        BufferError, ValueError: the memory is of a device or a type that is not known here, or may not be written.
    """
    if type(data).__name__ == "PyCapsule":
        return _core.tensor_of_capsule(data)
    try:
        capsule = data.__dlpack__(max_version=(1, 0))
    except TypeError:  # older than the versioned form
        capsule = data.__dlpack__()
    return _core.tensor_of_capsule(capsule)


def borrow(data):
    """The same; what cannot be shared (memory that is read-only, goes backwards or has another byte order) is copied by NumPy."""
    import numpy

    if not hasattr(data, "__dlpack__"):
        data = numpy.asarray(data)
    if not isinstance(data, numpy.ndarray) and not isinstance(data, numpy.generic):
        return from_dlpack(data)
    array = numpy.asarray(data)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    itemsize = array.itemsize or 1
    if not array.flags.writeable or any(step < 0 or step % itemsize for step in array.strides):
        array = numpy.array(array, copy=True, order="C")
    if array.dtype.kind not in "biufc":
        raise TypeError(f"tensor: an array of {array.dtype} has no dtype here")
    try:
        return from_dlpack(array)
    except BufferError as error:
        raise TypeError(f"tensor: an array of {array.dtype} has no dtype here ({error})") from None


def to_numpy(tensor):
    """The tensor as an array of NumPy, over the same memory where the host can read it.

    Raises:
        TypeError: NumPy does not have the dtype, or the tensor requires grad.
    """
    import numpy

    if tensor.requires_grad:
        raise TypeError("numpy: the tensor requires grad, which an array does not know; call detach() first")
    if tensor.dtype in (_core.bfloat16, _core.float8_e4m3fn, _core.float8_e5m2):
        raise TypeError(f"numpy: NumPy has no {tensor.dtype.name}; call float() first")
    here = tensor.cpu()
    return numpy.from_dlpack(here)
