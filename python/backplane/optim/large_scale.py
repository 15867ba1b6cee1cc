"""Optimizers for large networks: Lion, LAMB, Muon, Adafactor."""

import math

from .. import _core
from ._lists import (
    add_squares,
    assign,
    by_shape,
    decay,
    directed,
    foreach_add_,
    foreach_div,
    foreach_div_,
    foreach_lerp,
    foreach_lerp_,
    foreach_mul_,
    foreach_norm,
    foreach_sign,
    foreach_sqrt_,
    stack,
    unbind,
)
from .optimizer import Optimizer, check_betas, check_not_negative, switches

_rows = _core.operators
_epsilons = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


class Lion(Optimizer):
    """Chen et al., 2023, "Symbolic Discovery of Optimization Algorithms".

    With c = betas[0] * m + (1 - betas[0]) * g, parameter -= lr * (sign(c) + weight_decay * parameter), then
    m = betas[1] * m + (1 - betas[1]) * g.

    Raises:
        ValueError: an option is negative, or betas are not in [0, 1).
    """

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0, *, maximize=False):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))

    def _check_group(self, group):
        check_not_negative("Lion", group, "lr", "weight_decay")
        check_betas("Lion", group)

    def _kept(self, group):
        return ("exp_avg",)

    def _update(self, group, batch):
        lr, (beta1, beta2) = float(group["lr"]), group["betas"]
        grads, means = directed(batch, group["maximize"]), batch.kept("exp_avg")
        decay(batch.params, lr, group["weight_decay"])
        foreach_add_(batch.params, foreach_sign(foreach_lerp(means, grads, 1 - beta1)), alpha=-lr)
        foreach_lerp_(means, grads, 1 - beta2)


class LAMB(Optimizer):
    """You et al., 2020, "Large Batch Optimization for Deep Learning".

    With r Adam's direction and u = r + weight_decay * parameter, parameter -= lr * |parameter| / |u| * u, or lr * u
    where one of the norms is 0. Norms are those of a whole parameter.

    Raises:
        ValueError: an option is negative, or betas are not in [0, 1).
    """

    _numbers = ("step",)

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=1e-2, *, maximize=False):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize))

    def _check_group(self, group):
        check_not_negative("LAMB", group, "lr", "eps", "weight_decay")
        check_betas("LAMB", group)

    def _kept(self, group):
        return ("exp_avg", "exp_avg_sq")

    def _update(self, group, batch):
        step, (beta1, beta2) = batch.advance(), group["betas"]
        grads, means, squares = directed(batch, group["maximize"]), batch.kept("exp_avg"), batch.kept("exp_avg_sq")
        foreach_lerp_(means, grads, 1 - beta1)
        add_squares(squares, grads, beta2)
        root = foreach_div(squares, 1 - beta2**step)
        foreach_sqrt_(root)
        foreach_add_(root, group["eps"])
        change = foreach_div(means, 1 - beta1**step)
        foreach_div_(change, root)
        if group["weight_decay"]:
            foreach_add_(change, batch.params, alpha=group["weight_decay"])
        own, of_change = stack(foreach_norm(batch.params)), stack(foreach_norm(change))
        both = _rows["logical_and"](own > 0, of_change > 0)
        ratio = _rows["where"](both, own / of_change, _rows["ones_like"](own))
        foreach_mul_(change, unbind(ratio.to(batch.params[0].dtype)))
        foreach_add_(batch.params, change, alpha=-float(group["lr"]))


class Muon(Optimizer):
    """Jordan et al., 2024: momentum, brought near to an orthogonal matrix by steps of Newton and Schulz.

    Args:
        adjust_lr_fn: None or "original", "match_rms_adamw" (Liu et al., 2025), or "spectral_unclamped".
        ns_dtype: of the steps of Newton and Schulz; by default bfloat16.

    Raises:
        ValueError: an option is negative, or a parameter is not a real matrix; the others are for AdamW.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.775, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
        *,
        ns_dtype=_core.bfloat16,
    ):
        self._ns_dtype = ns_dtype
        super().__init__(
            params,
            dict(
                lr=lr,
                weight_decay=weight_decay,
                momentum=momentum,
                nesterov=nesterov,
                ns_coefficients=ns_coefficients,
                eps=eps,
                ns_steps=ns_steps,
                adjust_lr_fn=adjust_lr_fn,
            ),
        )

    def _check_group(self, group):
        check_not_negative("Muon", group, "lr", "momentum", "eps", "weight_decay")
        if not isinstance(group["ns_steps"], int) or not 0 <= group["ns_steps"] < 100:
            raise ValueError(f"Muon: ns_steps is {group['ns_steps']}; it must be from 0 to 99")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError(f"Muon: ns_coefficients are {group['ns_coefficients']}; they must be three numbers")
        if group["adjust_lr_fn"] not in (None, "original", "match_rms_adamw", "spectral_unclamped"):
            raise ValueError(
                f"Muon: adjust_lr_fn is {group['adjust_lr_fn']!r}; it must be None, 'original', 'match_rms_adamw' or "
                "'spectral_unclamped'"
            )

    def _check_parameter(self, index, parameter):
        if parameter.ndim != 2 or parameter.dtype.is_complex:
            raise ValueError(
                f"Muon: parameter {index} is {parameter.dtype.name} of shape {tuple(parameter.shape)}; pass real"
                " matrices, and the others to AdamW"
            )

    def _kept(self, group):
        return ("momentum_buffer",)

    def _update(self, group, batch):
        means, momentum = batch.kept("momentum_buffer"), group["momentum"]
        foreach_lerp_(means, batch.grads, 1 - momentum)
        updates = foreach_lerp(batch.grads, means, momentum) if group["nesterov"] else means
        decay(batch.params, float(group["lr"]), group["weight_decay"])
        for places in by_shape(batch.params):
            params = [batch.params[place] for place in places]
            if params[0].numel():
                change = self._orthogonal(stack([updates[place] for place in places]), group)
                foreach_add_(params, unbind(change), alpha=-_rate(group, *params[0].shape))

    def _orthogonal(self, matrices, group):
        """What has singular values near 1, for each matrix of a stack."""
        is_tall = matrices.shape[1] > matrices.shape[2]
        x = matrices.to(self._ns_dtype)
        if is_tall:
            x = x.mT.contiguous()
        x = x / _rows["clamp_min"](_rows["norm"](x, 2, (1, 2), True), group["eps"])
        a, b, c = group["ns_coefficients"]
        for _ in range(group["ns_steps"]):
            gram = _rows["bmm"](x, x.mT)
            change = _rows["baddbmm"](gram, gram, gram, beta=b, alpha=c)
            x = _rows["baddbmm"](x, change, x, beta=a)
        return (x.mT if is_tall else x).to(matrices.dtype)


def _rate(group, rows, columns):
    lr, rule = float(group["lr"]), group["adjust_lr_fn"]
    if rule == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    if rule == "spectral_unclamped":
        return lr * math.sqrt(rows / columns)
    return lr * math.sqrt(max(1.0, rows / columns))


class Adafactor(Optimizer):
    """Shazeer and Stern, 2018: for each matrix, squares of gradients by row and by column alone.

    Raises:
        ValueError: an option is negative, beta2_decay above 0, d below 1, or a parameter is complex.
    """

    _numbers = ("step",)

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0,
        *,
        foreach=None,
        maximize=False,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                beta2_decay=beta2_decay,
                eps=eps,
                d=d,
                weight_decay=weight_decay,
                maximize=maximize,
                **switches("Adafactor", foreach=foreach),
            ),
        )

    def _check_group(self, group):
        check_not_negative("Adafactor", group, "lr", "weight_decay")
        if not (group["eps"][0] or 0) >= 0 or not group["eps"][1] >= 0:
            raise ValueError(f"Adafactor: eps are {group['eps']}; they must not be negative")
        if not group["beta2_decay"] <= 0:
            raise ValueError(f"Adafactor: beta2_decay is {group['beta2_decay']}; it must not be above 0")
        if not group["d"] >= 1:
            raise ValueError(f"Adafactor: d is {group['d']}; it must be at least 1")

    def _check_parameter(self, index, parameter):
        if parameter.dtype.is_complex:
            raise ValueError(
                f"Adafactor: parameter {index} is {parameter.dtype.name}; pass real ones, and the others to Adam"
            )

    def _kept(self, group):
        return ("row_var", "col_var", "variance")

    def _kept_shape(self, name, parameter):
        shape = list(parameter.shape)
        if name != "variance" and len(shape) > 1:
            shape[-1 if name == "row_var" else -2] = 1
        return shape

    def _initial(self, name, parameter, group):
        if (name == "variance") == (parameter.ndim > 1):
            return None
        return _rows["zeros"](self._kept_shape(name, parameter), dtype=parameter.dtype, device=parameter.device)

    def _update(self, group, batch):
        step = batch.advance()
        fresh, rate = step ** group["beta2_decay"], min(float(group["lr"]), 1 / math.sqrt(step))
        eps = group["eps"][0]
        if eps is None:
            eps = _epsilons[batch.params[0].dtype.name]
        grads = directed(batch, group["maximize"])
        for places in by_shape(batch.params):
            params = [batch.params[place] for place in places]
            if params[0].numel() == 0:
                continue
            states, stacked = [batch.states[place] for place in places], stack([grads[place] for place in places])
            scale = _rows["clamp_min"](_root_mean_squares(stack(params)), group["eps"][1]) * rate
            update = _rows["rsqrt"](_rows["clamp_min"](_estimate(states, stacked, fresh, eps), eps * eps)) * stacked
            shrink = _rows["clamp_min"](_root_mean_squares(update) / group["d"], 1.0)
            decay(params, float(group["lr"]), group["weight_decay"])
            foreach_add_(params, unbind(update * (scale / shrink)), alpha=-1)


def _estimate(states, gradients, fresh, eps):
    """The means of squares, of rows and columns where there are both; written into the states."""

    def follow(name, now):
        kept = [state[name] for state in states]
        mean = _rows["lerp"](stack(kept), now, fresh)
        assign(kept, unbind(mean))
        return mean

    squares = gradients * gradients
    if gradients.ndim < 3:
        return follow("variance", squares)
    rows = follow("row_var", _rows["mean"](squares, -1, True))
    columns = follow("col_var", _rows["mean"](squares, -2, True))
    return rows * columns / _rows["clamp_min"](_rows["mean"](rows, -2, True), eps)


def _root_mean_squares(stacked):
    """For each tensor of a stack, as [n, 1, ..., 1]."""
    flat = stacked.reshape(stacked.shape[0], -1)
    return _rows["sqrt"](_rows["mean"](flat * flat, 1)).reshape([stacked.shape[0]] + [1] * (stacked.ndim - 1))
