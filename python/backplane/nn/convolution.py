"""Convolutions as modules."""

import math

from .. import _core
from . import functional as F
from . import init
from .functional.convolution import same_padding
from .module import Module
from .parameter import Parameter
from .sizes import check_whole, each

_rows = _core.operators
_empty = _rows["empty"]

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """What both kinds hold: weight and bias, which begin uniform in +-1 / sqrt(fan_in)."""

    _rank, _transposed = 0, False

    def _begin(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        output_padding,
        groups,
        bias,
        padding_mode,
        device,
        dtype,
    ):
        layer, rank = self._get_name(), self._rank
        self.in_channels = check_whole(layer, "in_channels", in_channels, 0)
        self.out_channels = check_whole(layer, "out_channels", out_channels, 0)
        self.groups = check_whole(layer, "groups", groups, 1)
        for name, channels in (("input", in_channels), ("output", out_channels)):
            if channels % groups:
                raise ValueError(
                    f"{layer}: {channels} {name} channels are not divisible into {groups} groups; choose a divisor"
                )
        self.kernel_size = each(layer, "kernel_size", kernel_size, rank, 1)
        self.stride = each(layer, "stride", stride, rank, 1)
        self.padding = _checked_words(layer, padding, self.stride, padding_mode)
        if not isinstance(padding, str):
            self.padding = each(layer, "padding", padding, rank, 0)
        self.dilation = each(layer, "dilation", dilation, rank, 1)
        self.output_padding = each(layer, "output_padding", output_padding, rank, 0)
        self.padding_mode, self.transposed = padding_mode, self._transposed
        outer, inner = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        shape = [outer, inner // groups, *self.kernel_size]
        self.weight = Parameter(_empty(shape, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(_empty([out_channels], device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws new weights and biases."""
        bound = init.fan_in_bound(math.prod(self.weight.shape[1:]))
        init.uniform_around_0(self.weight, bound)
        if self.bias is not None:
            init.uniform_around_0(self.bias, bound)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        zeros, ones = (0,) * self._rank, (1,) * self._rank
        if self.padding != zeros:
            text += f", padding={self.padding}"
        if self.dilation != ones:
            text += f", dilation={self.dilation}"
        if self.output_padding != zeros:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


def _checked_words(layer, padding, stride, padding_mode):
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"{layer}: padding is {padding!r}; pass numbers, 'same' or 'valid'")
        if padding == "same" and any(one != 1 for one in stride):
            raise ValueError(f"{layer}: padding 'same' with stride {stride}; use stride 1, or numbers as padding")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"{layer}: padding_mode is {padding_mode!r}; pass one of {', '.join(map(repr, _PADDING_MODES))}"
        )
    return padding


class _Conv(_Convolution):
    """Cross-correlation with a weight.

    Args:
        kernel_size, stride, padding, dilation: one number, or one for each dimension. The padding may be "valid", none,
            or "same", for results of the input's size.
        groups: parts of the channels that do not see each other.
        padding_mode: "zeros", "reflect", "replicate" or "circular".

    Attributes:
        weight: [out_channels, in_channels / groups, *kernel_size]. bias: [out_channels], or None.
    """

    def __init__(
        self,
        in_channels,
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
        super().__init__()
        self._begin(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input):
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._sides(), self.padding_mode), 0
        return self._function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _sides(self):
        if self.padding == "valid":
            return [0] * (2 * self._rank)
        if self.padding == "same":
            return same_padding([one * (size - 1) for one, size in zip(self.dilation, self.kernel_size)])
        return same_padding([2 * side for side in self.padding])


class Conv1d(_Conv):
    """Convolution of [N, C, L] or [C, L]."""

    _rank, _function = 1, staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Convolution of [N, C, H, W] or [C, H, W]."""

    _rank, _function = 2, staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Convolution of [N, C, D, H, W] or [C, D, H, W]."""

    _rank, _function = 3, staticmethod(F.conv3d)


class _ConvTranspose(_Convolution):
    """The derivative of a convolution by its input.

    Args:
        output_padding: how much longer results are on one side, since inputs of several sizes convolve to one.

    Attributes:
        weight: [in_channels, out_channels / groups, *kernel_size]. bias: [out_channels], or None.
    """

    _transposed = True

    def __init__(
        self,
        in_channels,
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
        super().__init__()
        layer = self._get_name()
        if padding_mode != "zeros":
            raise ValueError(f"{layer}: padding_mode is {padding_mode!r}; transposed convolutions take only 'zeros'")
        if isinstance(padding, str):
            raise ValueError(f"{layer}: padding is {padding!r}; pass numbers")
        self._begin(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input, output_size=None):
        added = self.output_padding if output_size is None else self._output_padding_for(input, output_size)
        return self._function(
            input, self.weight, self.bias, self.stride, self.padding, added, self.groups, self.dilation
        )

    def _output_padding_for(self, input, output_size):
        layer, rank = self._get_name(), self._rank
        if input.ndim not in (rank + 1, rank + 2):
            raise ValueError(
                f"{layer}: the input is {list(input.shape)}; pass {rank + 2} dimensions, or {rank + 1} without a batch"
            )
        output_size = (output_size,) * rank if isinstance(output_size, int) else tuple(output_size)
        if len(output_size) not in (rank, input.ndim):
            raise ValueError(f"{layer}: output_size is {output_size}; pass {rank} numbers, or {input.ndim}")
        added = []
        for i, (size, wanted) in enumerate(zip(input.shape[-rank:], output_size[-rank:])):
            least = (size - 1) * self.stride[i] - 2 * self.padding[i] + self.dilation[i] * (self.kernel_size[i] - 1) + 1
            if not least <= wanted < least + self.stride[i]:
                raise ValueError(
                    f"{layer}: output_size is {output_size} for an input of {list(input.shape)}; dimension {i} "
                    "can have "
                    f"{least} to {least + self.stride[i] - 1}"
                )
            added.append(wanted - least)
        return added


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of [N, C, L] or [C, L]."""

    _rank, _function = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of [N, C, H, W] or [C, H, W]."""

    _rank, _function = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of [N, C, D, H, W] or [C, D, H, W]."""

    _rank, _function = 3, staticmethod(F.conv_transpose3d)
