"""Functions of several forms, as PyTorch has them, made of the table's rows; and the methods of Tensor that are
written in Python."""

from . import _core, _named
from ._core import Tensor
from ._exchange import from_numpy, to_numpy

_rows = _core.operators
__all__ = ["arange", "from_numpy", "max", "min", "randint", "split"]


def _extremum(row, argument_row, both_row, input, dim, keepdim):
    if dim is None:
        return _rows[row](input)
    if isinstance(dim, Tensor):
        return _rows[both_row](input, dim)
    indices = _rows[argument_row](input.to(_core.uint8) if input.dtype == _core.bool else input, dim, True)
    values = _rows["gather"](input, dim, indices)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return _types[row](values, indices)


class _Named(tuple):
    """Values and their indices."""

    def __new__(cls, values, indices):
        return super().__new__(cls, (values, indices))

    values = property(lambda self: self[0])
    indices = property(lambda self: self[1])

    def __repr__(self):
        return f"{type(self).__name__}(values={self[0]!r}, indices={self[1]!r})"


_types = {name: type(name, (_Named,), {"__module__": "backplane.return_types"}) for name in ("max", "min")}


def max(input, dim=None, keepdim=False):
    """The largest element; with `dim`, the largest along it and where it stands; of two tensors, the larger."""
    return _extremum("max", "argmax", "maximum", input, dim, keepdim)


def min(input, dim=None, keepdim=False):
    """The smallest element; with `dim`, the smallest along it and where it stands; of two tensors, the smaller
    elements."""
    return _extremum("min", "argmin", "minimum", input, dim, keepdim)


def split(tensor, split_size_or_sections, dim=0):
    """Parts of one size, of which the last may be smaller, or of the sizes in a list, along `dim`."""
    if hasattr(split_size_or_sections, "__index__"):
        return _rows["split"](tensor, split_size_or_sections, dim)
    return _rows["split_with_sizes"](tensor, split_size_or_sections, dim)


def arange(*bounds, start=None, end=None, step=1, dtype=None, device=None, requires_grad=False):
    """arange(end), arange(start, end) or arange(start, end, step): numbers in equal steps, without the end."""
    if len(bounds) == 3:
        *bounds, step = bounds
    if len(bounds) == 1 and end is None:
        start, end = (0 if start is None else start), bounds[0]
    elif len(bounds) == 2:
        start, end = bounds
    elif bounds:
        start = bounds[0]
    if end is None:
        raise TypeError("arange: give an end")
    return _rows["arange"](
        0 if start is None else start, end, step, dtype=dtype, device=device, requires_grad=requires_grad
    )


def randint(low, high=None, size=None, **keywords):
    """randint(high, size) or randint(low, high, size): integers from `low`, by default 0, up to `high`, without it."""
    if size is None:
        low, high, size = 0, low, high
    return _rows["randint"](low, high, size, **keywords)


# --- Methods ----------------------------------------------------------------------------------------------------------


def _reduce(self, protocol=None):
    """Pickled by values, since another process may not have the device's memory. They lie there in the same order, so that
    channels last stays so."""
    here = self.detach()
    order = sorted(range(here.ndim), key=here.stride, reverse=True)
    if here.is_contiguous() or not here.permute(order).is_contiguous():
        order = None
    here = (here if order is None else here.permute(order)).cpu().contiguous()
    wants_grad = self.requires_grad and self.is_leaf
    content = (_core.bytes_of(here), here.dtype, tuple(here.shape), str(self.device), wants_grad, order, type(self))
    return _rebuild, content, self.__dict__ or None


def _rebuild(raw, dtype, shape, device, requires_grad, order=None, cls=Tensor):
    made = _core.tensor_of_bytes(raw, dtype, shape).to(device)
    if order is not None:
        made = made.permute([order.index(dim) for dim in range(len(order))])
    return _as_class(cls, made, requires_grad)


def _as_class(cls, values, requires_grad):
    made = values
    if cls is not Tensor:
        made = cls.__new__(cls)  # its __init__ may ask for something else
        Tensor.__init__(made, values)
    return made.requires_grad_() if requires_grad else made


def _copy(self):
    """Over the same memory, as copy.copy of PyTorch's."""
    made = _as_class(type(self), self.detach(), self.requires_grad)
    made.__dict__.update(self.__dict__)
    return made


def _deepcopy(self, memo):
    if not self.is_leaf:
        raise ValueError("copy.deepcopy: the tensor was made by recorded calls; copy a leaf, or detach() it")
    made = memo[id(self)] = _as_class(type(self), self.detach().clone(), self.requires_grad)
    if self.grad is not None:
        made.grad = self.grad.detach().clone()
    if self.__dict__:
        from copy import deepcopy

        made.__dict__.update(deepcopy(self.__dict__, memo))
    return made


def _array(self, dtype=None, copy=None):
    array = to_numpy(self.detach() if not _core.is_grad_enabled() else self)
    if dtype is not None and array.dtype != dtype:
        array = array.astype(dtype)
    return array.copy() if copy else array


Tensor.numpy = to_numpy
Tensor.__array__ = _array
Tensor.__reduce_ex__ = _reduce
Tensor.__copy__ = _copy
Tensor.__deepcopy__ = _deepcopy
_named.name_all(globals(), __all__)
Tensor.max, Tensor.min, Tensor.split = max, min, split
Tensor.__reversed__ = lambda self: self.flip(0) if self.ndim else self
Tensor.expand_as = lambda self, other: self.expand(other.shape)
Tensor.view_as = lambda self, other: self.view(other.shape)
Tensor.reshape_as = lambda self, other: self.reshape(other.shape)
Tensor.new_tensor = lambda self, data, **options: _core.tensor(
    data, **{"dtype": self.dtype, "device": self.device, **options}
)
for _name in ("zeros", "ones", "full", "empty"):
    setattr(
        Tensor,
        f"new_{_name}",
        lambda self, *sizes, _row=_rows[_name], **options: _row(
            *sizes, **{"dtype": self.dtype, "device": self.device, **options}
        ),
    )
