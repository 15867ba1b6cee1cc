"""What the stubs call the types of arguments. A module of stubs alone: import nothing of it in a program that runs."""

import builtins
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, SupportsComplex, SupportsFloat, SupportsIndex, TypeAlias

from ._core import Tensor, device, dtype

# The package has dtypes of these names.
Bool: TypeAlias = builtins.bool
Int: TypeAlias = builtins.int
Float: TypeAlias = builtins.float
Str: TypeAlias = builtins.str

# A number of Python's or of NumPy's; where one is wanted, a tensor of one element serves as well.
Number: TypeAlias = builtins.complex | SupportsFloat | SupportsIndex | SupportsComplex
Real: TypeAlias = SupportsFloat | SupportsIndex
Ints: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
DeviceLike: TypeAlias = device | str
DtypeLike: TypeAlias = (
    dtype | str | type[builtins.bool] | type[builtins.int] | type[builtins.float] | type[builtins.complex]
)
# Of x[...].
Index: TypeAlias = SupportsIndex | slice | EllipsisType | Tensor | Sequence[Any] | None
