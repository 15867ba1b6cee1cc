"""Layers that find the number of their input's features or channels in the first input that they see.

Each becomes the layer of the same name without "Lazy" then. Until then its weight has no shape, and only a state dict
of a layer that was called gives it one.
"""

from .. import _core
from .._core import Tensor
from . import convolution, linear, norms
from .parameter import Buffer, Parameter

_rows = _core.operators

__all__ = ["UninitializedBuffer", "UninitializedParameter"]
__all__ += [
    f"Lazy{name}"
    for name in (
        "Linear",
        *(f"{kind}{rank}d" for kind in ("BatchNorm", "Conv", "ConvTranspose", "InstanceNorm") for rank in (1, 2, 3)),
    )
]


class _Uninitialized:
    """A tensor that has a dtype and a device, but no shape."""

    is_uninitialized = True

    @property
    def shape(self):
        raise ValueError(f"{type(self).__name__}: it has no shape as yet; call the module with an input first")

    def materialize(self, shape, device=None, dtype=None):
        """Gives it a shape, and memory whose values are whatever was there."""
        data = _rows["empty"](list(shape), dtype=dtype or self.dtype, device=device or self.device)
        self.__class__ = self._becomes
        self.data = data

    def __repr__(self):
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is not known as yet."""

    _becomes = Parameter

    def __init__(self, requires_grad=True, device=None, dtype=None):
        super().__init__(_rows["empty"]([0], device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer whose shape is not known as yet."""

    _becomes = Buffer

    def __init__(self, requires_grad=False, device=None, dtype=None, *, persistent=True):
        super().__init__(_rows["empty"]([0], device=device, dtype=dtype), persistent=persistent)

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self)(device=self.device, dtype=self.dtype, persistent=self.persistent)
        return made

    def __reduce_ex__(self, protocol):
        return _rebuild_buffer, (str(self.device), self.dtype, self.persistent)


def _rebuild_buffer(device, dtype, persistent):
    return UninitializedBuffer(device=device, dtype=dtype, persistent=persistent)


def is_uninitialized(tensor):
    """Has it no shape as yet?"""
    return isinstance(tensor, _Uninitialized)


class LazyModule:
    """What lazy layers share. A subclass says what the input's size means."""

    _sized = ("weight",)  # members that have no shape

    def _forget(self):
        """Replaces the members whose shape depends on the input."""
        for name in self._sized:
            old = getattr(self, name)
            if old is None:
                continue
            made = dict(device=old.device, dtype=old.dtype)
            if isinstance(old, Parameter):
                setattr(self, name, UninitializedParameter(old.requires_grad, **made))
            else:
                self.__dict__[name] = UninitializedBuffer(**made)

    def has_uninitialized_params(self):
        """Is a shape unknown?"""
        return any(is_uninitialized(self.__dict__[name]) for name in self._sized)

    def initialize_parameters(self, input):
        """Gives all members shapes that fit the input, and draws them."""
        if self.has_uninitialized_params():
            self._size(self._size_in(input))
            for name, shape in self._shapes().items():
                if is_uninitialized(self.__dict__[name]):
                    self.__dict__[name].materialize(shape)
            self.reset_parameters()

    def forward(self, input, *args, **keywords):
        if not isinstance(input, Tensor):
            raise TypeError(f"{self._get_name()}: the input must be a Tensor, not {type(input).__name__}")
        if self.has_uninitialized_params():
            self.initialize_parameters(input)
        else:
            self._size(self._size_loaded())
        self.__class__ = self.cls_to_become
        return self.forward(input, *args, **keywords)

    def _size_in(self, input):
        if input.ndim < 2:
            raise ValueError(f"{self._get_name()}: the input is {list(input.shape)}; pass [N, C, ...]")
        return input.shape[1]


class LazyLinear(LazyModule, linear.Linear):
    """A Linear whose in_features is the size of its first input's last dimension."""

    cls_to_become = linear.Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, out_features, bias, device, dtype)
        self._forget()

    def _size_in(self, input):
        if not input.ndim:
            raise ValueError("LazyLinear: the input is a number; pass [..., features]")
        return input.shape[-1]

    def _size(self, features):
        self.in_features = features

    def _size_loaded(self):
        return self.weight.shape[1]

    def _shapes(self):
        return {"weight": [self.out_features, self.in_features]}


class _LazyConvolution(LazyModule):
    def _size_in(self, input):
        if input.ndim not in (self._rank + 1, self._rank + 2):
            raise ValueError(
                f"{self._get_name()}: the input is {list(input.shape)}; pass {self._rank + 2} dimensions, or "
                f"{self._rank + 1} without a batch"
            )
        channels = input.shape[-self._rank - 1]
        if channels % self.groups:
            raise ValueError(
                f"{self._get_name()}: {channels} input channels are not divisible into {self.groups} groups; choose a "
                "divisor"
            )
        return channels

    def _size(self, channels):
        self.in_channels = channels

    def _size_loaded(self):
        return self.weight.shape[0] if self._transposed else self.weight.shape[1] * self.groups

    def _shapes(self):
        outer, inner = (
            (self.in_channels, self.out_channels) if self._transposed else (self.out_channels, self.in_channels)
        )
        return {"weight": [outer, inner // self.groups, *self.kernel_size]}


class _LazyConv(_LazyConvolution):
    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(
            0, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )
        self._forget()


class _LazyConvTranspose(_LazyConvolution):
    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(
            0,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            bias,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._forget()


class _LazyNorm(LazyModule):
    _sized = ("weight", "bias", "running_mean", "running_var")

    def _size(self, channels):
        self.num_features = channels

    def _size_loaded(self):
        known = [getattr(self, name) for name in self._sized if getattr(self, name) is not None]
        return known[0].shape[0] if known else self.num_features

    def _shapes(self):
        return {name: [self.num_features] for name in self._sized}

    def initialize_parameters(self, input):
        """Gives all members shapes that fit the input, and draws them."""
        self._size(self._size_in(input))
        super().initialize_parameters(input)

    def forward(self, input, *args, **keywords):
        if all(getattr(self, name) is None for name in self._sized):
            self._size(self._size_in(input))
        return super().forward(input, *args, **keywords)


class _LazyBatchNorm(_LazyNorm):
    def __init__(
        self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True
    ):
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self._forget()


class _LazyInstanceNorm(_LazyNorm):
    def __init__(
        self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True
    ):
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self._forget()

    def _size_in(self, input):
        if input.ndim not in (self._rank + 1, self._rank + 2):
            raise ValueError(
                f"{self._get_name()}: the input is {list(input.shape)}; pass {self._rank + 2} dimensions, or "
                f"{self._rank + 1} without a batch"
            )
        return input.shape[-self._rank - 1]


def _make():
    bases = {
        "Conv": (_LazyConv, convolution),
        "ConvTranspose": (_LazyConvTranspose, convolution),
        "BatchNorm": (_LazyBatchNorm, norms),
        "InstanceNorm": (_LazyInstanceNorm, norms),
    }
    for kind, (lazy, module) in bases.items():
        for rank in (1, 2, 3):
            layer = getattr(module, f"{kind}{rank}d")
            doc = f"A {layer.__name__} whose number of input channels is that of its first input."
            members = {"cls_to_become": layer, "__module__": __name__, "__doc__": doc}
            globals()[f"Lazy{layer.__name__}"] = type(f"Lazy{layer.__name__}", (lazy, layer), members)


_make()
