"""Losses: one number from outputs and what they should have been.

`reduction` is "mean", "sum", or "none" for a loss of each element or sample. `size_average` and `reduce` are its old
form.
"""

import math
import warnings

from ... import _core
from ..arguments import of_tensors

_rows = _core.operators

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linear_cross_entropy",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def reduction_of(size_average, reduce, reduction):
    """The reduction, which an old argument, if one is given, says in its place."""
    if size_average is None and reduce is None:
        return reduction
    warnings.warn("size_average and reduce are old; pass reduction='mean', 'sum' or 'none'", stacklevel=3)
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def check_reduction(loss, reduction, *more):
    """Raises ValueError unless it is one of them."""
    if reduction not in ("mean", "sum", "none", *more):
        known = ", ".join(repr(each) for each in ("mean", "sum", "none", *more))
        raise ValueError(f"{loss}: reduction is {reduction!r}; pass one of {known}")


def _reduced(loss, losses, reduction):
    check_reduction(loss, reduction)
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    """How unlikely softmax of the input, [N, C, ...] or [C], makes the target: classes [N, ...], or probabilities."""
    return _rows["cross_entropy"](
        input, target, weight, ignore_index, reduction_of(size_average, reduce, reduction), label_smoothing
    )


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """How unlikely the input, logarithms of probabilities [N, C, ...] or [C], makes the classes."""
    return _rows["nll_loss"](input, target, weight, ignore_index, reduction_of(size_average, reduce, reduction))


@of_tensors
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target) ** 2, times the weight if there is one."""
    return _of_elements("mse_loss", input, target, reduction_of(size_average, reduce, reduction), weight)


@of_tensors
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|input - target|, times the weight if there is one."""
    return _of_elements("l1_loss", input, target, reduction_of(size_average, reduce, reduction), weight)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """l1_loss, and mse_loss / (2 * beta) where the difference is below beta, without a step between them."""
    reduction = reduction_of(size_average, reduce, reduction)
    if beta < 0:
        raise ValueError(f"smooth_l1_loss: beta is {beta}; pass 0 or more")
    return (
        _rows["smooth_l1_loss"](input, target, reduction, beta) if beta else _rows["l1_loss"](input, target, reduction)
    )


@of_tensors
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """delta * smooth_l1_loss with beta = delta."""
    if not delta > 0:
        raise ValueError(f"huber_loss: delta is {delta}; pass a number above 0")
    return _of_elements("huber_loss", input, target, reduction, weight, delta)


def _of_elements(row, input, target, reduction, weight, *more):
    if weight is None:
        return _rows[row](input, target, reduction, *more)
    check_reduction(row, reduction)
    losses = _rows[row](input, target, "none", *more) * weight
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    return losses.sum() / weight.expand(losses.shape).sum()


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """How unlikely the input, probabilities, makes the target, numbers from 0 to 1.

    A probability outside of these gives NaN: to refuse it would be to wait for the device.
    """
    return _rows["binary_cross_entropy"](input, target, weight, reduction_of(size_average, reduce, reduction))


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """binary_cross_entropy of sigmoid(input). `pos_weight` is of the part of the target that is 1, for each class."""
    reduction = reduction_of(size_average, reduce, reduction)
    return _rows["binary_cross_entropy_with_logits"](input, target, weight, reduction, pos_weight)


@of_tensors
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input), of logarithms of probabilities and of probabilities.

    The reduction may be "batchmean" as well, the sum divided by the batch, which is the divergence.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if reduction != "batchmean":
        return _rows["kl_div"](input, target, reduction, log_target)
    return _rows["kl_div"](input, target, "sum", log_target) / (input.shape[0] if input.ndim else 1)


def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """How unlikely a Poisson distribution of this mean, or its logarithm, makes the target."""
    return _rows["poisson_nll_loss"](input, target, log_input, full, eps, reduction_of(size_average, reduce, reduction))


@of_tensors
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """How unlikely a normal distribution of this mean and variance makes the target (Nix and Weigend, 1994).

    `var` is a number, or has the input's shape, or 1 or nothing in place of the last dimension. Waits for the device,
    to refuse negative variances.
    """
    if isinstance(var, (int, float)):
        var = _rows["full_like"](input, var)
    if var.shape != input.shape and var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    alike = var.ndim == input.ndim and all(a in (1, b) for a, b in zip(var.shape, input.shape))
    if not alike and var.numel() != 1:
        raise ValueError(
            f"gaussian_nll_loss: var is {list(var.shape)} for an input of {list(input.shape)}; pass the same shape, or one whose last dimension is 1 or missing"
        )
    values = var.detach()
    if (values < 0).any().item():
        raise ValueError("gaussian_nll_loss: var has a number below 0; variances are 0 or more")
    limited = var + (_rows["clamp_min"](values, eps) - values)  # gradients go through as if it were not limited
    losses = (limited.log() + (input - target) ** 2 / limited) * 0.5
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return _reduced("gaussian_nll_loss", losses, reduction)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """How unlikely log_probs, [steps, N, classes] or [steps, classes], make the labels (Graves et al., 2006).

    Lengths are tensors, or lists of integers.
    """
    return _rows["ctc_loss"](
        log_probs, targets, _lengths(input_lengths), _lengths(target_lengths), blank, reduction, zero_infinity
    )


def _lengths(given):
    return given if isinstance(given, _core.Tensor) else _core.tensor(given, dtype=_core.int64)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where the target is 1, max(0, margin - input) where it is -1."""
    return _rows["hinge_embedding_loss"](input, target, margin, reduction_of(size_average, reduce, reduction))


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin), with targets of 1 and -1."""
    return _rows["margin_ranking_loss"](input1, input2, target, margin, reduction_of(size_average, reduce, reduction))


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input)), with targets of 1 and -1."""
    return _rows["soft_margin_loss"](input, target, reduction_of(size_average, reduce, reduction))


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over the classes of max(0, margin - the target's score + theirs) ** p, where p is 1 or 2."""
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p is {p}; pass 1 or 2")
    return _rows["multi_margin_loss"](
        input, target, int(p), margin, weight, reduction_of(size_average, reduce, reduction)
    )


@of_tensors
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The sum, over labels and other classes, of max(0, 1 - the label's score + the other's), divided by the classes.

    Both are [N, C] or [C]; labels end before the first -1.
    """
    if input.ndim not in (1, 2) or target.shape != input.shape:
        raise ValueError(
            f"multilabel_margin_loss: the input is {list(input.shape)} and the target {list(target.shape)}; pass both "
            "[N, C] or [C]"
        )
    classes = input.shape[-1]
    if classes == 0:
        raise ValueError(
            f"multilabel_margin_loss: the input is {list(input.shape)} and has no class; pass at least one"
        )
    labels, scores = target.reshape(-1, classes), input.reshape(-1, classes)
    counts = (labels < 0).to(_core.int64).cumsum(1) == 0  # before the first -1
    chosen = _rows["where"](counts, labels, _rows["zeros_like"](labels))
    is_label = _rows["scatter_add"](_rows["zeros_like"](chosen), 1, chosen, counts.to(chosen.dtype)) > 0
    margins = _rows["relu"](1 - scores.gather(1, chosen).unsqueeze(2) + scores.unsqueeze(1))
    weights = (counts.unsqueeze(2) & (~is_label).unsqueeze(1)).to(input.dtype)
    losses = (margins * weights).sum([1, 2]) / classes
    return _reduced(
        "multilabel_margin_loss",
        losses.squeeze(0) if input.ndim == 1 else losses,
        reduction_of(size_average, reduce, reduction),
    )


@of_tensors
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over the classes of binary_cross_entropy_with_logits."""
    losses = _rows["binary_cross_entropy_with_logits"](input, target, weight, "none").mean(-1)
    return _reduced("multilabel_soft_margin_loss", losses, reduction_of(size_average, reduce, reduction))


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1."""
    return _rows["cosine_embedding_loss"](input1, input2, target, margin, reduction_of(size_average, reduce, reduction))


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """max(0, distance of anchor and positive - distance of anchor and negative + margin).

    With `swap`, the distance of positive and negative where that is smaller.
    """
    _check_margin("triplet_margin_loss", margin)
    return _rows["triplet_margin_loss"](
        anchor, positive, negative, margin, p, eps, swap, reduction_of(size_average, reduce, reduction)
    )


@of_tensors
def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """triplet_margin_loss with another distance, a function of two tensors; by default pairwise_distance."""
    _check_margin("triplet_margin_with_distance_loss", margin)
    distance = distance_function or _rows["pairwise_distance"]
    near, apart = distance(anchor, positive), distance(anchor, negative)
    if swap:
        apart = _rows["minimum"](apart, distance(positive, negative))
    return _reduced("triplet_margin_with_distance_loss", _rows["clamp_min"](near - apart + margin, 0), reduction)


def _check_margin(loss, margin):
    if not margin > 0:
        raise ValueError(f"{loss}: margin is {margin}; pass a number above 0")


@of_tensors
def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
):
    """cross_entropy of the input, [N, features] or [features], times a weight, [C, ..., features], plus a bias, [C,
    ...].
    """
    sizes, features = linear_weight.shape[:-1], linear_weight.shape[-1]
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = _rows["linear"](input, linear_weight.reshape(-1, features), bias).reshape([*input.shape[:-1], *sizes])
    return _rows["cross_entropy"](
        scores, target, weight, -100 if ignore_index is None else ignore_index, reduction, label_smoothing
    )
