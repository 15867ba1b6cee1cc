"""Convolutions and products with weights; padding."""

from ... import _core
from ..arguments import of_tensors

_rows = _core.operators

__all__ = [
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "linear",
    "pad",
    "unfold",
]

linear, bilinear = _rows["linear"], _rows["bilinear"]
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_rows[f"conv_transpose{rank}d"] for rank in (1, 2, 3))


def _convolution(rank):
    row = _rows[f"conv{rank}d"]
    name = f"conv{rank}d"

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if isinstance(padding, str):
            input, padding = _padded_by_word(name, rank, input, weight, stride, padding, dilation)
        return row(input, weight, bias, stride, padding, dilation, groups)

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = (
        f"Cross-correlation of the input, [N, C, ...] or [C, ...] with {rank} more dimensions, with the weight, "
        "[out, C / groups, ...].\n\n"
        '    padding is a number, one for each dimension, "valid" for none, or "same" to keep the sizes.\n    '
    )
    return of_tensors(conv)


conv1d, conv2d, conv3d = (_convolution(rank) for rank in (1, 2, 3))


def _padded_by_word(name, rank, input, weight, stride, word, dilation):
    if word == "valid":
        return input, 0
    if word != "same":
        raise ValueError(f"{name}: padding is {word!r}; pass numbers, 'same' or 'valid'")
    strides = (stride,) if isinstance(stride, int) else tuple(stride)
    if any(each != 1 for each in strides):
        raise ValueError(f"{name}: padding 'same' with stride {stride}; use stride 1, or numbers as padding")
    dilations = (
        (dilation,) * rank if isinstance(dilation, int) else tuple(dilation) * (rank if len(dilation) == 1 else 1)
    )
    sides = [one * (size - 1) for one, size in zip(dilations, weight.shape[2:])]
    if all(side % 2 == 0 for side in sides):
        return input, [side // 2 for side in sides]
    return _rows["constant_pad_nd"](input, same_padding(sides)), 0


def same_padding(totals):
    """What pad() takes for so many elements in each dimension, of which the odd one goes behind."""
    return [part for total in reversed(totals) for part in (total // 2, total - total // 2)]


def pad(input, pad, mode="constant", value=None):
    """More elements around the last dimensions: two numbers for each, the last dimension first; negative ones crop.

    Args:
        mode: "constant", "reflect", "replicate" or "circular". value: of "constant"; by default 0.
    """
    return _rows["pad"](input, pad, mode, value)


@of_tensors
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of [N, C, H, W] as columns, [N, C * elements, windows]; or without N."""
    if input.ndim not in (3, 4):
        raise ValueError(f"unfold: the input is {list(input.shape)}; pass [N, C, H, W] or [C, H, W]")
    columns = _rows["im2col"](input if input.ndim == 4 else input.unsqueeze(0), kernel_size, dilation, padding, stride)
    return columns if input.ndim == 4 else columns.squeeze(0)


@of_tensors
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns, [N, C * elements, windows], added up in their windows, [N, C, *output_size]; or without N."""
    if input.ndim not in (2, 3):
        raise ValueError(f"fold: the input is {list(input.shape)}; pass [N, channels * elements, windows], or no N")
    output_size = (output_size,) * 2 if isinstance(output_size, int) else output_size
    image = _rows["col2im"](
        input if input.ndim == 3 else input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride
    )
    return image if input.ndim == 3 else image.squeeze(0)
