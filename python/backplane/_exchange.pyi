from typing import Any

from ._core import Tensor, from_dlpack as from_dlpack
from ._types import Bool

def borrow(data: Any, copies: Bool) -> Tensor: ...
def to_numpy(tensor: Tensor, *, force: Bool = False) -> Any: ...
def from_numpy(array: Any) -> Tensor:
    """A tensor over the memory of a NumPy array.

    Raises:
        TypeError: it is not a NumPy array.
        ValueError: the memory may not be written, or goes backwards; `tensor` copies it.
    """
