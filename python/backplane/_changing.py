"""Methods of Tensor that change the tensor itself: its shape, its memory, its elements one by one."""

from . import _core, _named
from ._core import Tensor

_rows = _core.operators


def _become(self, made, name):
    """The tensor has the shape and memory of `made` from now on."""
    if self.requires_grad and (not self.is_leaf or _core.is_grad_enabled()):
        raise ValueError(
            f"{name}: the tensor, shape {list(self.shape)}, takes part in derivatives, and its shape is not changed in "
            f"place; write x = x.{name.removesuffix('_')}(...), or detach_() it first"
        )
    try:
        self.data = made
    except ValueError as error:
        error.args = (name + str(error).removeprefix("set_data"),)
        raise
    return self


def _in_place(view):
    name = f"{view}_"

    def change(self, *args, **keywords):
        return _become(self, getattr(self.detach(), view)(*args, **keywords), name)

    change.__doc__ = f"Gives the tensor itself the shape of {view}, and returns it; one that is recorded is refused."
    return _named.named(change, name)


for _name in ("as_strided", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze"):
    setattr(Tensor, f"{_name}_", _in_place(_name))


def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """The tensor has the memory of `source` from now on, a part of it by `size` and `stride`; without a source, none."""
    if source is None:
        return _become(self, _rows["empty"]([0], dtype=self.dtype, device=self.device), "set_")
    if not isinstance(source, Tensor):
        raise TypeError(f"set_: source must be a Tensor, not {type(source).__name__}")
    made = source.detach()
    if size is not None:
        made = made.as_strided(size, _contiguous(size) if stride is None else stride, storage_offset)
    return _become(self, made, "set_")


def _contiguous(size):
    strides, step = [], 1
    for each in reversed(size):
        strides.append(step)
        step *= max(each, 1)
    return strides[::-1]


def resize_(self, *sizes, memory_format="contiguous_format"):
    """Another shape for the same elements in the order of memory; those beyond the present ones have no defined value."""
    size = list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else list(sizes)
    made = _rows["empty"](size, dtype=self.dtype, device=self.device)
    kept = min(made.numel(), self.numel())
    try:
        present = self.detach().as_strided((self.numel(),), (1,), self.storage_offset())
    except ValueError:  # expanded: it has fewer elements in memory
        present = self.detach().reshape(-1)
    if made.numel() <= self.numel():
        return _become(self, present[:kept].view(size), "resize_")
    made.view(-1)[:kept] = present[:kept]
    return _become(self, made, "resize_")


def resize_as_(self, tensor, memory_format="contiguous_format"):
    """resize_ to the shape of another tensor."""
    return resize_(self, *tensor.shape)


# --- Elements ---------------------------------------------------------------------------------------------------------


def _computed(self, function, *others):
    if not callable(function):
        raise TypeError(f"give a function of one number of each tensor, not {type(function).__name__}")
    columns = [each.expand(self.shape).reshape(-1).tolist() for each in others]
    values = [function(*row) for row in zip(*columns)]
    return self.copy_(_core.tensor(values, dtype=self.dtype, device=self.device).reshape(self.shape))


def apply_(self, callable):
    """Replaces each element by `callable` of it, one by one on the host: slow."""
    return _computed(self, callable, self)


def map_(self, tensor, callable):
    """Replaces each element by `callable` of it and of the other tensor's, one by one on the host: slow."""
    return _computed(self, callable, self, tensor)


def map2_(self, x, y, callable):
    """Replaces each element by `callable` of it and of those of two others, one by one on the host: slow."""
    return _computed(self, callable, self, x, y)


def _drawn(self, generator):
    """Numbers in (0, 1)."""
    dtype = self.dtype if self.dtype.is_floating_point else _core.float32
    made = _rows["rand"](self.shape, dtype=dtype, device=self.device, generator=generator)
    return made.clamp_min(2.0**-24)


def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Draws from the Cauchy distribution into the tensor."""
    return self.copy_(median + sigma * ((_drawn(self, generator) - 0.5) * 3.141592653589793).tan())


def geometric_(self, p, *, generator=None):
    """Draws the number of trials, each a success with probability `p`, until the first one into the tensor.

    Raises:
        ValueError: `p` is not in (0, 1).
    """
    if not 0 < p < 1:
        raise ValueError(f"geometric_: p is {p}; give a number between 0 and 1")
    from math import log1p

    return self.copy_((_drawn(self, generator).log() / log1p(-p)).ceil())


def log_normal_(self, mean=1, std=2, *, generator=None):
    """Draws numbers whose logarithms are normal, with `mean` and `std`, into the tensor."""
    return self.copy_(_rows["randn"](self.shape, device=self.device, generator=generator).mul_(std).add_(mean).exp_())


for _name in """set_ resize_ resize_as_ apply_ map_ map2_ cauchy_ geometric_ log_normal_""".split():
    setattr(Tensor, _name, _named.named(globals()[_name], _name))


def _function(method):
    """Tensor's method as a function, as PyTorch has both."""

    def call(input, *args, **keywords):
        if not isinstance(input, Tensor):
            raise TypeError(f"{method}: give a Tensor, not {type(input).__name__}")
        return getattr(input, method)(*args, **keywords)

    call.__doc__ = f"x.{method}(...), which changes `input` itself and returns it."
    return _named.named(call, method)


__all__ = ["as_strided_", "detach_", "fill_", "resize_as_", "zero_"]
globals().update({_name: _function(_name) for _name in __all__})
