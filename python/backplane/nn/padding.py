"""Padding as modules: more elements around the last dimensions, or, where numbers are negative, fewer."""

import operator

from . import functional as F
from .module import Module

__all__ = [
    f"{mode}Pad{rank}d" for mode in ("Circular", "Constant", "Reflection", "Replication", "Zero") for rank in (1, 2, 3)
]

_SIZES = {1: "[N, C, L] or [C, L]", 2: "[N, C, H, W] or [C, H, W]", 3: "[N, C, D, H, W] or [C, D, H, W]"}


class _Padding(Module):
    _rank, _mode = 0, "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = self._checked(padding)

    def _checked(self, padding):
        count = 2 * self._rank
        sides = (padding,) * count if hasattr(padding, "__index__") else tuple(padding)
        if len(sides) != count:
            raise ValueError(f"{self._get_name()}: padding has {len(sides)} numbers; pass one, or {count}")
        return tuple(operator.index(side) for side in sides)

    def forward(self, input):
        if input.ndim not in (self._rank + 1, self._rank + 2):
            raise ValueError(
                f"{self._get_name()}: the input is {list(input.shape)}; pass {self._rank + 2} dimensions, or "
                f"{self._rank + 1} without a batch"
            )
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return str(self.padding)


class _ConstantPad(_Padding):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return str(self.padding)


def _make(name, base, mode, what):
    for rank, sizes in _SIZES.items():
        doc = f"""{what} around the last dimensions of {sizes}.

        Args:
            padding: one number for all sides, or two for each dimension, the last dimension first.
        """
        made = type(f"{name}{rank}d", (base,), {"_rank": rank, "_mode": mode, "__module__": __name__, "__doc__": doc})
        globals()[made.__name__] = made


_make("CircularPad", _Padding, "circular", "Elements from the other side")
_make("ReflectionPad", _Padding, "reflect", "Elements mirrored at the border")
_make("ReplicationPad", _Padding, "replicate", "The border's elements")
_make("ConstantPad", _ConstantPad, "constant", "A constant")
_make("ZeroPad", _ZeroPad, "constant", "Zeros")
