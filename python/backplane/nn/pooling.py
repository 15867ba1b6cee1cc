"""Pooling as modules."""

from . import functional as F
from .functional.pooling import check_fractions
from .module import Module
from .sizes import each

__all__ = [f"{name}Pool{rank}d" for name in ("AdaptiveAvg", "AdaptiveMax", "Avg", "LP", "Max") for rank in (1, 2, 3)]
__all__ += ["FractionalMaxPool2d", "FractionalMaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _MaxPool(Module):
    """The greatest element of each window, and with `return_indices` where it stands.

    Args:
        kernel_size, stride, padding, dilation: one number, or one for each dimension; the stride is the kernel's size
        by default.
        ceil_mode: also windows that go beyond the end.
    """

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        _check_padding(self, kernel_size, padding)
        self.kernel_size, self.stride = kernel_size, _stride(self, stride, kernel_size)
        self.padding, self.dilation = padding, dilation
        each(self._get_name(), "dilation", dilation, self._rank, 1)
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input):
        return getattr(F, f"max_pool{self._rank}d")(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _AvgPool(Module):
    """The mean of each window.

    Args:
        count_include_pad: zeros of the padding count. divisor_override: what sums are divided by.
    """

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        super().__init__()
        _check_padding(self, kernel_size, padding)
        if divisor_override == 0:
            raise ValueError(f"{self._get_name()}: divisor_override is 0; pass another number")
        self.kernel_size, self.stride, self.padding = kernel_size, _stride(self, stride, kernel_size), padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input):
        pool = F.avg_pool2d if self._rank == 2 else F.avg_pool3d
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _LPPool(Module):
    """The sum of x ** norm_type in each window, to the power of 1 / norm_type."""

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        each(self._get_name(), "kernel_size", kernel_size, self._rank, 1)
        if stride is not None:
            each(self._get_name(), "stride", stride, self._rank, 1)
        if norm_type == 0:
            raise ValueError(f"{self._get_name()}: norm_type is 0; pass another number")
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        return getattr(F, f"lp_pool{self._rank}d")(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        sizes = f"kernel_size={self.kernel_size}, stride={self.stride}"
        return f"norm_type={self.norm_type}, {sizes}, ceil_mode={self.ceil_mode}"


class _AdaptiveAvgPool(Module):
    """The means of windows that give the wanted sizes.

    Args:
        output_size: one number, or one for each dimension; None keeps the input's.
    """

    def __init__(self, output_size):
        super().__init__()
        sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
        if len(sizes) not in (1, self._rank):
            raise ValueError(f"{self._get_name()}: output_size is {output_size}; pass one number, or {self._rank}")
        for size in sizes:
            if size is not None:
                each(self._get_name(), "output_size", size, 1, 0)
        self.output_size = output_size

    def forward(self, input):
        return getattr(F, f"adaptive_avg_pool{self._rank}d")(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(_AdaptiveAvgPool):
    """The greatest elements of windows that give the wanted sizes, and with `return_indices` where they stand."""

    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        return getattr(F, f"adaptive_max_pool{self._rank}d")(input, self.output_size, self.return_indices)


class _MaxUnpool(Module):
    """Puts elements where the indices of a max pool say, zeros elsewhere."""

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = each(self._get_name(), "kernel_size", kernel_size, self._rank, 1)
        self.stride = self.kernel_size if stride is None else each(self._get_name(), "stride", stride, self._rank, 1)
        self.padding = each(self._get_name(), "padding", padding, self._rank, 0)

    def forward(self, input, indices, output_size=None):
        return getattr(F, f"max_unpool{self._rank}d")(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _FractionalMaxPool(Module):
    """The greatest elements of windows in pseudo-random places (Graham, 2014), so that sizes shrink by any ratio below
    1.

    Args:
        output_size, output_ratio: the sizes, or their ratios to the input's; give one of the two.
    """

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        self.kernel_size = each(self._get_name(), "kernel_size", kernel_size, self._rank, 1)
        self.output_size, self.output_ratio = check_fractions(self._get_name(), self._rank, output_size, output_ratio)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input):
        return getattr(F, f"fractional_max_pool{self._rank}d")(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


def _check_padding(module, kernel_size, padding):
    kernel = each(module._get_name(), "kernel_size", kernel_size, module._rank, 1)
    for side, size in zip(each(module._get_name(), "padding", padding, module._rank, 0), kernel):
        if side > size // 2:
            raise ValueError(
                f"{module._get_name()}: padding {padding} is beyond half of kernel_size {kernel_size}; pad less"
            )


def _stride(module, stride, kernel_size):
    if stride is None:
        return kernel_size
    each(module._get_name(), "stride", stride, module._rank, 1)
    return stride


class MaxPool1d(_MaxPool):
    """Max pooling of [N, C, L] or [C, L]."""

    _rank = 1


class MaxPool2d(_MaxPool):
    """Max pooling of [N, C, H, W] or [C, H, W]."""

    _rank = 2


class MaxPool3d(_MaxPool):
    """Max pooling of [N, C, D, H, W] or [C, D, H, W]."""

    _rank = 3


class AvgPool1d(_AvgPool):
    """Mean pooling of [N, C, L] or [C, L]."""

    _rank = 1

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, each("AvgPool1d", name, getattr(self, name), 1, 0))

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPool):
    """Mean pooling of [N, C, H, W] or [C, H, W]."""

    _rank = 2


class AvgPool3d(_AvgPool):
    """Mean pooling of [N, C, D, H, W] or [C, D, H, W]."""

    _rank = 3


def _for_each_rank(base, name, ranks, what):
    """Classes that differ in the number of dimensions alone."""
    sizes = {1: "[N, C, L] or [C, L]", 2: "[N, C, H, W] or [C, H, W]", 3: "[N, C, D, H, W] or [C, D, H, W]"}
    for rank in ranks:
        doc = f"{what} of {sizes[rank]}.\n\n{base.__doc__}"
        made = type(f"{name}{rank}d", (base,), {"_rank": rank, "__module__": __name__, "__doc__": doc})
        globals()[made.__name__] = made


_for_each_rank(_LPPool, "LPPool", (1, 2, 3), "Pooling by a norm")
_for_each_rank(_AdaptiveAvgPool, "AdaptiveAvgPool", (1, 2, 3), "Mean pooling to given sizes")
_for_each_rank(_AdaptiveMaxPool, "AdaptiveMaxPool", (1, 2, 3), "Max pooling to given sizes")
_for_each_rank(_MaxUnpool, "MaxUnpool", (1, 2, 3), "The inverse of max pooling")
_for_each_rank(_FractionalMaxPool, "FractionalMaxPool", (2, 3), "Max pooling of random windows")
