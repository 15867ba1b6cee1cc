from typing import Any

from ._core import Tensor

def from_dlpack(data: Any) -> Tensor:
    """A tensor over the memory of another's array, by DLPack.

    Raises:
        BufferError, ValueError: the memory is of a device or a type that is not known here, or may not be written.
    """

def borrow(data: Any) -> Tensor: ...
def to_numpy(tensor: Tensor) -> Any: ...
