"""Images of other sizes, and channels that become places."""

import math

from ... import _core
from ..arguments import of_tensors

_rows = _core.operators

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "grid_sample",
    "interpolate",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

pixel_shuffle, pixel_unshuffle = _rows["pixel_shuffle"], _rows["pixel_unshuffle"]

_MODES = ("nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area")


@of_tensors
def channel_shuffle(input, groups):
    """Channels of [N, C, ...], seen as [groups, C / groups], in the order of [C / groups, groups]."""
    if not groups > 0:
        raise ValueError(f"channel_shuffle: {groups} groups; pass 1 or more")
    if input.ndim < 3 or input.shape[1] % groups:
        raise ValueError(
            f"channel_shuffle: the input is {list(input.shape)}; pass [N, C, ...] with channels that are divisible into "
            f"{groups} groups"
        )
    return input.unflatten(1, [groups, input.shape[1] // groups]).transpose(1, 2).flatten(1, 2)


def affine_grid(theta, size, align_corners=None):
    """Where grid_sample reads for affine transformations [N, 2, 3] or [N, 3, 4] to the size [N, C, ...]."""
    return _rows["affine_grid"](theta, list(size), bool(align_corners))


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The input, [N, C, ...], read at the places [N, ..., rank], whose numbers go from -1 to 1 across it."""
    return _rows["grid_sample"](input, grid, mode, padding_mode, bool(align_corners))


@of_tensors
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """The input, [N, C, ...] with one to three more dimensions, in other sizes.

    Args:
        size: one, or one for each dimension. scale_factor: the same as factors; give one of the two.
        mode: "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic" or "area".
        align_corners: of linear and cubic modes: the outermost elements stay where they are.
        recompute_scale_factor: read in steps of the sizes' ratio, rather than of the given factor.
        antialias: of "bilinear" and "bicubic": read over as many elements as become one.

    Raises:
        ValueError: sizes, factors or the mode do not fit the input.
    """
    _check_interpolation(input, size, scale_factor, mode, align_corners)
    rank = input.ndim - 2
    if mode in ("linear", "bilinear", "trilinear", "bicubic"):
        wanted = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}[mode]
        if rank != wanted:
            raise ValueError(
                f"interpolate: mode '{mode}' for an input of {list(input.shape)}; it is for {wanted + 2} dimensions"
            )
    if size is not None:
        sizes = [size] * rank if isinstance(size, int) else list(size)
        factors = None
        if len(sizes) != rank:
            raise ValueError(
                f"interpolate: size has {len(sizes)} numbers for an input of {list(input.shape)}; pass one, or {rank}"
            )
    else:
        factors = (
            [float(scale_factor)] * rank
            if isinstance(scale_factor, (int, float))
            else [float(one) for one in scale_factor]
        )
        if len(factors) != rank:
            raise ValueError(
                f"interpolate: {len(factors)} factors for an input of {list(input.shape)}; pass one, or {rank}"
            )
        sizes = [math.floor(length * factor) for length, factor in zip(input.shape[2:], factors)]
        if recompute_scale_factor or all(
            length * factor == new for length, factor, new in zip(input.shape[2:], factors, sizes)
        ):
            factors = None
    if any(new < 1 for new in sizes):
        raise ValueError(f"interpolate: sizes {sizes} of an input of {list(input.shape)}; pass sizes of 1 or more")
    if antialias:
        return _antialiased(input, sizes, factors, mode, bool(align_corners))
    if factors is None or mode == "area":
        return _rows["interpolate"](input, sizes, mode, bool(align_corners))
    for i in range(rank):
        input = _resampled(input, i + 2, sizes[i], factors[i], mode, bool(align_corners))
    return input


def _check_interpolation(input, size, scale_factor, mode, align_corners):
    if not 3 <= input.ndim <= 5:
        raise ValueError(
            f"interpolate: the input is {list(input.shape)}; pass [N, C, ...] with one to three more dimensions"
        )
    if mode not in _MODES:
        raise ValueError(f"interpolate: mode is {mode!r}; pass one of {', '.join(map(repr, _MODES))}")
    if (size is None) == (scale_factor is None):
        raise ValueError(f"interpolate: size is {size} and scale_factor {scale_factor}; pass one of the two")
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError(f"interpolate: mode '{mode}' takes no align_corners; leave it out")


def _resampled(input, dim, size, factor, mode, align_corners):
    """One dimension to `size`, read in steps of 1 / factor as PyTorch does for a given factor."""
    # Where a size stays or doubles, PyTorch's nearest mode of two dimensions goes by the sizes, whatever the factor, as
    # its linear ones do where it stays.
    stays, doubles = input.shape[dim] == size, 2 * input.shape[dim] == size
    if "linear" in mode and stays:
        return input
    if mode == "nearest" and input.ndim == 4 and (stays or doubles):
        factor = 2.0 if doubles else 1.0
    kind = "nearest" if mode.startswith("nearest") else "cubic" if mode == "bicubic" else "linear"
    coordinates = "align_corners" if align_corners else "asymmetric" if mode == "nearest" else "half_pixel"
    nearest_mode = "floor" if mode == "nearest" else "round_prefer_ceil"
    return _rows["resample"](
        input,
        [size],
        dim,
        kind,
        coordinates=coordinates,
        nearest_mode=nearest_mode,
        scale=None if align_corners else factor,
    )


def _antialiased(input, sizes, factors, mode, align_corners):
    if mode not in ("bilinear", "bicubic"):
        raise ValueError(f"interpolate: antialias with mode '{mode}'; use 'bilinear' or 'bicubic'")
    kind = "cubic" if mode == "bicubic" else "linear"
    for i, size in enumerate(sizes):
        factor = None if factors is None else factors[i]
        if align_corners:  # of this PyTorch takes the step alone
            if size == 1:
                raise ValueError("interpolate: antialias with align_corners to a size of 1; leave out align_corners")
            factor = (size - 1) / max(input.shape[i + 2] - 1, 1)
        # The cubic kernel that reads over several elements is another than the one between two.
        input = _rows["resample"](
            input,
            [size],
            i + 2,
            kind,
            coordinates="half_pixel",
            antialias=True,
            cubic_coeff_a=-0.5,
            exclude_outside=True,
            scale=factor,
        )
    return input


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """interpolate by its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate with mode "nearest"."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate with mode "bilinear", the corners aligned."""
    return interpolate(input, size, scale_factor, "bilinear", True)
