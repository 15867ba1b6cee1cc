"""Tensors that a module holds: parameters, which are trained, and buffers, which are not."""

import copy

from .. import _core
from .._core import Tensor

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A tensor that belongs to the parameters of the module to which it is assigned.

    Args:
        data: the values; the parameter is over the same memory. By default no element.
        requires_grad: whether derivatives by it are wanted.

    Raises:
        TypeError: data is not a tensor.
        ValueError: a derivative is wanted by integers or bools.
    """

    def __init__(self, data=None, requires_grad=True):
        super().__init__(_checked(type(self), data))
        if requires_grad:
            self.requires_grad_()

    def __repr__(self):
        return f"{type(self).__name__} containing:\n{Tensor.__repr__(self)}"

    def __deepcopy__(self, memo):
        made = _rebuild_parameter(type(self), self.detach().clone(), self.requires_grad, {})
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        if self.grad is not None:
            made.grad = self.grad.detach().clone()
        return made

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (type(self), self.detach(), self.requires_grad, dict(self.__dict__))


def _rebuild_parameter(cls, data, requires_grad, attributes):
    made = cls.__new__(cls)
    Tensor.__init__(made, data)
    if requires_grad:
        made.requires_grad_()
    made.__dict__.update(attributes)
    return made


class Buffer(Tensor):
    """A tensor that belongs to the buffers of the module to which it is assigned.

    Args:
        data: the values; the buffer is over the same memory.
        persistent: whether it is part of the module's state_dict.
    """

    def __init__(self, data=None, *, persistent=True):
        super().__init__(_checked(type(self), data))
        self.persistent = persistent

    def __repr__(self):
        return f"{type(self).__name__} containing:\n{Tensor.__repr__(self)}"

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self)(self.detach().clone(), persistent=self.persistent)
        return made

    def __reduce_ex__(self, protocol):
        return _rebuild_buffer, (type(self), self.detach(), self.persistent)


def _rebuild_buffer(cls, data, persistent):
    return cls(data, persistent=persistent)


def _checked(cls, data):
    if data is None:
        return _core.operators["empty"]([0])
    if not isinstance(data, Tensor):
        raise TypeError(f"{cls.__name__}: data must be a Tensor, not {type(data).__name__}")
    return data
