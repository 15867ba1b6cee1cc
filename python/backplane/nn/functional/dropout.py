"""Dropout: zeros in random places while training."""

import math

from ... import _core
from ..arguments import of_tensors

_rows = _core.operators

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

_SELU_FLOOR = -1.7580993408473766  # the limit of selu at minus infinity


def check_probability(name, p):
    """Raises ValueError unless p is from 0 to 1."""
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p is {p}; pass a probability from 0 to 1")


@of_tensors
def dropout(input, p=0.5, training=True, inplace=False):
    """Each element becomes 0 with probability p in training; the others are divided by 1 - p (Srivastava et al.,
    2014).
    """
    check_probability("dropout", p)
    if not inplace or not training or p == 0:
        return _rows["dropout"](input, float(p), training)
    return input.mul_(_rows["dropout"](_rows["ones_like"](input.detach()), float(p), True))


@of_tensors
def dropout1d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of [N, C, L] or [C, L]."""
    return _drop_channels("dropout1d", input, p, training, inplace, 2 if _rank(input, "dropout1d", (2, 3)) == 3 else 1)


@of_tensors
def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of [N, C, H, W]. An input of three dimensions is [N, C, L], as PyTorch has it."""
    return _drop_channels("dropout2d", input, p, training, inplace, _rank(input, "dropout2d", (3, 4)) and 2)


@of_tensors
def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of [N, C, D, H, W] or [C, D, H, W]."""
    return _drop_channels("dropout3d", input, p, training, inplace, 2 if _rank(input, "dropout3d", (4, 5)) == 5 else 1)


def _rank(input, name, ranks):
    if input.ndim not in ranks:
        raise ValueError(f"{name}: the input is {list(input.shape)}; pass {ranks[1]} dimensions, or {ranks[0]}")
    return input.ndim


def _drop_channels(name, input, p, training, inplace, num_kept):
    check_probability(name, p)
    if not training or p == 0:
        return input
    shape = [*input.shape[:num_kept], *[1] * (input.ndim - num_kept)]
    factors = _rows["dropout"](_rows["ones"](shape, dtype=input.dtype, device=input.device), float(p), True)
    return input.mul_(factors) if inplace else input * factors


@of_tensors
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout to selu's limit, which keeps mean and variance (Klambauer et al., 2017)."""
    check_probability("alpha_dropout", p)
    return _to_alpha(input, input.shape, p, inplace) if training and p else input


@of_tensors
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels of [N, C, ...]."""
    check_probability("feature_alpha_dropout", p)
    if input.ndim < 2:
        raise ValueError(f"feature_alpha_dropout: the input is {list(input.shape)}; pass [N, C, ...]")
    shape = [*input.shape[:2], *[1] * (input.ndim - 2)]
    return _to_alpha(input, shape, p, inplace) if training and p else input


def _to_alpha(input, shape, p, inplace):
    if not input.is_floating_point():
        raise ValueError(f"alpha_dropout: the input is {input.dtype.name}; cast it to a floating-point dtype")
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    a = 1 / math.sqrt((_SELU_FLOOR**2 * p + 1) * (1 - p))
    kept = _rows["bernoulli"](_rows["full"](shape, 1 - p, dtype=input.dtype, device=input.device))
    shift = (1 - kept) * (_SELU_FLOOR * a) - _SELU_FLOOR * a * p
    return input.mul_(kept * a).add_(shift) if inplace else input * (kept * a) + shift
