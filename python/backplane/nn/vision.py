"""Layers that give tensors other shapes: sizes of images, channels that become places, windows."""

from . import functional as F
from .module import Module
from .sizes import check_whole, each

__all__ = [
    "ChannelShuffle",
    "Flatten",
    "Fold",
    "PixelShuffle",
    "PixelUnshuffle",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class Flatten(Module):
    """The dimensions from start_dim to end_dim as one."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several, of which one may be -1."""

    def __init__(self, dim, unflattened_size):
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"Unflatten: unflattened_size must be a tuple of ints, not {type(unflattened_size).__name__}"
            )
        self.dim = check_whole("Unflatten", "dim", dim, -(1 << 40))
        self.unflattened_size = tuple(
            check_whole("Unflatten", "unflattened_size", size, -1) for size in unflattened_size
        )
        if not self.unflattened_size:
            raise ValueError("Unflatten: unflattened_size is empty; pass at least one size")

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Unfold(Module):
    """The windows of [N, C, H, W] as columns, [N, C * elements, windows]; or without N."""

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        _check_windows("Unfold", kernel_size, dilation, padding, stride)
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Columns, [N, C * elements, windows], added up in their windows, [N, C, *output_size]; or without N."""

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        each("Fold", "output_size", output_size, 2, 1)
        _check_windows("Fold", kernel_size, dilation, padding, stride)
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, "
            f"stride={self.stride}"
        )


def _check_windows(layer, kernel_size, dilation, padding, stride):
    each(layer, "kernel_size", kernel_size, 2, 1)
    each(layer, "dilation", dilation, 2, 1)
    each(layer, "padding", padding, 2, 0)
    each(layer, "stride", stride, 2, 1)


class PixelShuffle(Module):
    """[..., C * r * r, H, W] to [..., C, H * r, W * r] (Shi et al., 2016)."""

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = check_whole("PixelShuffle", "upscale_factor", upscale_factor, 1)

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self):
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """[..., C, H * r, W * r] to [..., C * r * r, H, W]."""

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = check_whole("PixelUnshuffle", "downscale_factor", downscale_factor, 1)

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self):
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels of [N, C, ...], seen as [groups, C / groups], in the order of [C / groups, groups]."""

    def __init__(self, groups):
        super().__init__()
        self.groups = check_whole("ChannelShuffle", "groups", groups, 1)

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return f"groups={self.groups}"


class Upsample(Module):
    """An image, [N, C, ...] with one to three more dimensions, in other sizes.

    Args:
        size: one, or one for each dimension. scale_factor: the same as factors; give one of the two.
        mode: "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic" or "area".
        align_corners: of linear and cubic modes: the outermost elements stay where they are.
    """

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        self.scale_factor = (
            tuple(float(one) for one in scale_factor)
            if isinstance(scale_factor, (tuple, list))
            else (None if scale_factor is None else float(scale_factor))
        )
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self):
        what = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample with mode "nearest"."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode "bilinear", the corners aligned."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, "bilinear", True)
