"""Pooling: the greatest, the mean or a norm of windows."""

from ... import _core
from ..arguments import of_tensors
from ..sizes import each

_rows = _core.operators

__all__ = [
    f"{kind}_pool{rank}d{ending}"
    for rank in (1, 2, 3)
    for kind, ending in (
        ("avg", ""),
        ("max", ""),
        ("max", "_with_indices"),
        ("lp", ""),
        ("adaptive_avg", ""),
        ("adaptive_max", ""),
        ("adaptive_max", "_with_indices"),
    )
]
__all__ += [
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]


def _of_rank(rank):
    """The functions for inputs of [N, C, ...] or [C, ...] with `rank` more dimensions."""
    avg, most, lp, unpool = (_rows[f"{kind}{rank}d"] for kind in ("avg_pool", "max_pool", "lp_pool", "max_unpool"))
    adaptive_avg, adaptive_max = _rows[f"adaptive_avg_pool{rank}d"], _rows[f"adaptive_max_pool{rank}d"]
    sizes = {1: "[N, C, L] or [C, L]", 2: "[N, C, H, W] or [C, H, W]", 3: "[N, C, D, H, W] or [C, D, H, W]"}[rank]

    if rank == 1:

        def avg_pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
            return avg(input, kernel_size, stride or (), padding, ceil_mode, count_include_pad)
    else:

        def avg_pool(
            input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
        ):
            if divisor_override == 0:
                raise ValueError(f"avg_pool{rank}d: divisor_override is 0; pass another number")
            return avg(input, kernel_size, stride or (), padding, ceil_mode, count_include_pad, divisor_override)

    def max_pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if return_indices:
            return max_pool_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return most(input, kernel_size, stride or (), padding, dilation, ceil_mode)

    def max_pool_with_indices(
        input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
    ):
        has_batch = _has_batch(f"max_pool{rank}d", input, rank)
        kernel_size = each(f"max_pool{rank}d", "kernel_size", kernel_size, rank, 1)
        both = _rows["max_pool_with_indices"](
            input if has_batch else input.unsqueeze(0), kernel_size, stride or (), padding, dilation, ceil_mode
        )
        return tuple(both) if has_batch else tuple(one.squeeze(0) for one in both)

    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        if norm_type == 0:
            raise ValueError(f"lp_pool{rank}d: norm_type is 0; pass another number")
        return lp(input, norm_type, kernel_size, stride or (), ceil_mode)

    def adaptive_avg_pool(input, output_size):
        return adaptive_avg(input, output_sizes(f"adaptive_avg_pool{rank}d", input, output_size, rank))

    def adaptive_max_pool(input, output_size, return_indices=False):
        if return_indices:
            return adaptive_max_pool_with_indices(input, output_size)
        return adaptive_max(input, output_sizes(f"adaptive_max_pool{rank}d", input, output_size, rank))

    def adaptive_max_pool_with_indices(input, output_size, return_indices=True):
        has_batch = _has_batch(f"adaptive_max_pool{rank}d", input, rank)
        wanted = output_sizes(f"adaptive_max_pool{rank}d", input, output_size, rank)
        both = _rows["adaptive_max_pool_with_indices"](input if has_batch else input.unsqueeze(0), wanted)
        return tuple(both) if has_batch else tuple(one.squeeze(0) for one in both)

    def max_unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        if output_size is not None:
            output_size = list(output_size)[-rank:]  # batch and channels stay
        return unpool(input, indices, kernel_size, stride or (), padding, output_size)

    documented = {
        "avg_pool": (avg_pool, "The mean of each window"),
        "max_pool": (max_pool, "The greatest element of each window, with `return_indices` also where it stands"),
        "max_pool_with_indices": (max_pool_with_indices, "The greatest element of each window and where it stands"),
        "lp_pool": (lp_pool, "The sum of x ** norm_type in each window, to the power of 1 / norm_type"),
        "adaptive_avg_pool": (adaptive_avg_pool, "The means of windows that give the wanted sizes; None keeps one"),
        "adaptive_max_pool": (
            adaptive_max_pool,
            "The greatest elements of windows that give the wanted sizes; None keeps one",
        ),
        "adaptive_max_pool_with_indices": (adaptive_max_pool_with_indices, "The same, and where they stand"),
        "max_unpool": (max_unpool, "Puts elements where `indices` of a max_pool say, zeros elsewhere"),
    }
    for name, (function, doc) in documented.items():
        head, _, tail = name.partition("_with_")
        function.__name__ = function.__qualname__ = f"{head}{rank}d" + (f"_with_{tail}" if tail else "")
        function.__doc__ = f"{doc}, of {sizes}."
        globals()[function.__name__] = of_tensors(function)


def _has_batch(name, input, rank):
    if input.ndim not in (rank + 1, rank + 2):
        raise ValueError(
            f"{name}: the input is {list(input.shape)}; pass {rank + 2} dimensions, or {rank + 1} without a batch"
        )
    return input.ndim == rank + 2


def output_sizes(name, input, output_size, rank):
    """One size for each dimension: None is that of the input."""
    _has_batch(name, input, rank)
    if isinstance(output_size, int) or output_size is None:
        output_size = (output_size,) * rank
    if len(output_size) == 1:
        output_size = tuple(output_size) * rank
    if len(output_size) != rank:
        raise ValueError(f"{name}: output_size is {tuple(output_size)}; pass one number, or {rank}")
    return [size if wanted is None else wanted for wanted, size in zip(output_size, input.shape[-rank:])]


for _rank in (1, 2, 3):
    _of_rank(_rank)


# --- Windows in random places -------------------------------------------------------------------------------


@of_tensors
def fractional_max_pool2d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=True, _random_samples=None
):
    """Like fractional_max_pool2d, and where the elements stand."""
    return _fractional("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)


@of_tensors
def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The greatest elements of windows in pseudo-random places, so that sizes shrink by any ratio (Graham, 2014)."""
    both = _fractional("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


@of_tensors
def fractional_max_pool3d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=True, _random_samples=None
):
    """Like fractional_max_pool3d, and where the elements stand."""
    return _fractional("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)


@of_tensors
def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """fractional_max_pool2d of three dimensions."""
    both = _fractional("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


def _fractional(name, rank, input, kernel_size, output_size, output_ratio, samples):
    if not _has_batch(name, input, rank):
        both = _fractional(name, rank, input.unsqueeze(0), kernel_size, output_size, output_ratio, samples)
        return tuple(one.squeeze(0) for one in both)
    kernel = each(name, "kernel_size", kernel_size, rank, 1)
    counts = _window_counts(name, rank, input.shape[2:], kernel, output_size, output_ratio)
    batch, channels = input.shape[:2]
    if samples is None:
        samples = _rows["rand"]([batch, channels, rank], dtype=input.dtype, device=input.device)
    if tuple(samples.shape) != (batch, channels, rank):
        raise ValueError(
            f"{name}: _random_samples is {list(samples.shape)} for an input of {list(input.shape)}; pass "
            f"{[batch, channels, rank]}"
        )
    places = _window_places(samples, input.shape[2:], counts, kernel)
    windows = _rows["gather"](input.flatten(2), 2, places.flatten(2)).reshape(places.shape)
    chosen = _rows["argmax"](windows, -1, True)
    return tuple(_rows["gather"](of, -1, chosen).reshape(batch, channels, *counts) for of in (windows, places))


def check_fractions(name, rank, output_size, output_ratio):
    """Both, of which one is None and the other has a number for each dimension. Raises ValueError for others."""
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name}: output_size is {output_size} and output_ratio {output_ratio}; pass one of the two")
    if output_size is not None:
        return each(name, "output_size", output_size, rank, 1), None
    ratios = (output_ratio,) * rank if isinstance(output_ratio, (int, float)) else tuple(output_ratio)
    if len(ratios) != rank or not all(0 < ratio < 1 for ratio in ratios):
        raise ValueError(f"{name}: output_ratio is {output_ratio}; pass one number between 0 and 1, or {rank}")
    return None, ratios


def _window_counts(name, rank, sizes, kernel, output_size, output_ratio):
    counts, ratios = check_fractions(name, rank, output_size, output_ratio)
    counts = counts or [int(size * ratio) for size, ratio in zip(sizes, ratios)]
    for i, (count, size, width) in enumerate(zip(counts, sizes, kernel)):
        if count < 1 or count + width - 1 > size:
            raise ValueError(
                f"{name}: {count} windows of {width} do not fit into {size} (dimension {i}); use fewer or smaller ones"
            )
    return counts


def _window_starts(samples, size, count, kernel):
    """[N, C, count]: where windows begin in a dimension, by one random number for each channel."""
    last = size - kernel
    at_end = _rows["full"]([*samples.shape, 1], last, dtype=_core.int64, device=samples.device)
    if count == 1:
        return at_end
    step = last / (count - 1)
    sample = samples.unsqueeze(-1)
    numbers = _rows["arange"](0, count - 1, dtype=samples.dtype, device=samples.device)
    starts = ((numbers + sample) * step).floor() - (sample * step).floor()
    return _rows["cat"]([starts.to(_core.int64), at_end], 2)


def _window_places(samples, sizes, counts, kernel):
    """[N, C, windows, window's elements]: places in the flattened input, over all dimensions."""
    batch, channels = samples.shape[:2]
    places = _rows["zeros"]([batch, channels, 1, 1], dtype=_core.int64, device=samples.device)
    for i, (size, count, width) in enumerate(zip(sizes, counts, kernel)):
        # PyTorch's samples of two dimensions begin with the width, those of three with the depth.
        sample = samples.select(2, 1 - i if len(sizes) == 2 else i)
        starts = _window_starts(sample, size, count, width).unsqueeze(-1)
        inside = starts + _rows["arange"](0, width, dtype=_core.int64, device=samples.device)
        joined = (places * size).unsqueeze(3).unsqueeze(5) + inside.unsqueeze(2).unsqueeze(4)  # [N, C, w, W, k, K]
        places = joined.reshape(batch, channels, places.shape[2] * count, places.shape[3] * width)
    return places
