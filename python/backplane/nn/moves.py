"""Modules that move: to devices and dtypes."""

from .. import _core
from .._core import Tensor
from .parameter import Buffer

__all__ = ["MoveMethods"]


class MoveMethods:
    """What Module inherits to change where its tensors are, and what they are made of."""

    def _apply(self, fn, recurse=True):
        """Replaces each parameter, gradient and buffer by fn of it. Parameters stay the objects that they are,
        and so do Buffers."""
        for module in self.modules() if recurse else [self]:
            for parameter in module._parameters.values():
                if parameter is not None:
                    _replace(parameter, fn)
            for name, buffer in module._buffers.items():
                if isinstance(buffer, Buffer):
                    _replace(buffer, fn)
                elif buffer is not None:
                    module.__dict__[name] = fn(buffer)
        return self

    def to(self, *args, **keywords):
        """to(device), to(dtype), to(device, dtype) or to(tensor): moves all, and casts floating-point and complex
        numbers.

        Raises:
            TypeError: what is given is none of these, or the dtype is of integers or bools.
        """
        device, dtype = _destination(args, keywords)

        def moved(tensor):
            is_number = tensor.is_floating_point() or tensor.is_complex()
            return tensor.to(device, dtype if is_number else None)

        return self._apply(moved)

    def cpu(self):
        """Moves all to the host."""
        return self._apply(lambda tensor: tensor.cpu())

    def type(self, dst_type):
        """Casts all, integers too."""
        return self._apply(lambda tensor: tensor.to(dst_type))

    def _cast(self, dtype):
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self):
        """Casts floating-point numbers to float32."""
        return self._cast(_core.float32)

    def double(self):
        """Casts floating-point numbers to float64."""
        return self._cast(_core.float64)

    def half(self):
        """Casts floating-point numbers to float16."""
        return self._cast(_core.float16)

    def bfloat16(self):
        """Casts floating-point numbers to bfloat16."""
        return self._cast(_core.bfloat16)

    def to_empty(self, *, device, recurse=True):
        """Moves all to a device without the values, as from "meta", where there are none."""
        empty_like = _core.operators["empty_like"]
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse)


def _replace(tensor, fn):
    gradient = tensor.grad
    old = tensor.detach()
    new = fn(old)
    if new is old:
        return
    if gradient is None:
        tensor.data = new
        return
    tensor.grad = None  # a gradient is like its tensor, at all times
    tensor.data = new
    tensor.grad = fn(gradient.detach())


def _destination(args, keywords):
    device = dtype = None
    given = list(args)
    for name, value in keywords.items():
        if name not in ("device", "dtype", "tensor", "non_blocking"):
            raise TypeError(f"Module.to: no argument '{name}'; pass device, dtype or tensor")
        if name != "non_blocking":
            given.append(value)
    for each in given:
        if isinstance(each, Tensor):
            device, dtype = each.device, each.dtype
        elif isinstance(each, _core.dtype):
            dtype = each
        elif isinstance(each, (str, _core.device)):
            device = each
        elif each is not None and not isinstance(each, bool):
            raise TypeError(f"Module.to: give a device, a dtype or a tensor, not {type(each).__name__}")
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(f"Module.to: the dtype is {dtype.name}; modules are cast to floating-point or complex ones")
    return device, dtype
