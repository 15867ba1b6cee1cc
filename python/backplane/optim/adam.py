"""Adam and its kin: steps by the mean of gradients over the root of the mean of their squares."""

import math

from .. import _core
from ._lists import (
    add_squares,
    assign,
    decay,
    directed,
    foreach_abs,
    foreach_add_,
    foreach_addcdiv_,
    foreach_div,
    foreach_lerp_,
    foreach_maximum,
    foreach_mul_,
    foreach_sqrt,
    foreach_sqrt_,
    number,
)
from .optimizer import Optimizer, check_betas, check_not_negative, switches

_steps = {False: _core.operators["_fused_adam_"], True: _core.operators["_fused_adamw_"]}
_full = _core.operators["full"]


class _OfAdam(Optimizer):
    _numbers = ("step",)

    def _check_group(self, group):
        name = type(self).__name__
        check_not_negative(name, group, "lr", "eps", "weight_decay")
        check_betas(name, group)

    def _kept(self, group):
        return ("exp_avg", "exp_avg_sq")


class Adam(_OfAdam):
    """Kingma and Ba, 2015; `amsgrad` by Reddi, Kale and Kumar, 2018. The row `_fused_adam_` says the formula.

    Raises:
        ValueError: an option is negative, or betas are not in [0, 1).
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                betas=betas,
                eps=eps,
                weight_decay=weight_decay,
                amsgrad=amsgrad,
                maximize=maximize,
                decoupled_weight_decay=decoupled_weight_decay,
                **switches(
                    type(self).__name__,
                    foreach=foreach,
                    capturable=capturable,
                    differentiable=differentiable,
                    fused=fused,
                ),
            ),
        )

    def _kept(self, group):
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def _update(self, group, batch):
        count = _full((), batch.advance(), dtype=_core.float32, device=batch.params[0].device)
        beta1, beta2 = group["betas"]
        _steps[bool(group["decoupled_weight_decay"])](
            batch.params,
            batch.grads,
            batch.kept("exp_avg"),
            batch.kept("exp_avg_sq"),
            batch.kept("max_exp_avg_sq") if group["amsgrad"] else [],
            [count] * len(batch.params),
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=group["amsgrad"],
            maximize=group["maximize"],
        )


class AdamW(Adam):
    """Loshchilov and Hutter, 2019: the decay is not part of the gradient, but taken off the parameter.

    Raises:
        ValueError: an option is negative, or betas are not in [0, 1).
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


def _decayed(group, batch):
    """A decay that is not part of the gradient comes before all else."""
    if not group["decoupled_weight_decay"]:
        return directed(batch, group["maximize"], group["weight_decay"])
    decay(batch.params, group["lr"], group["weight_decay"])
    return directed(batch, group["maximize"])


class NAdam(_OfAdam):
    """Dozat, 2016: Adam with Nesterov's momentum.

    Raises:
        ValueError: an option is negative, or betas are not in [0, 1).
    """

    _numbers = ("step", "mu_product")

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                betas=betas,
                eps=eps,
                weight_decay=weight_decay,
                momentum_decay=momentum_decay,
                decoupled_weight_decay=decoupled_weight_decay,
                maximize=maximize,
                **switches("NAdam", foreach=foreach, capturable=capturable, differentiable=differentiable),
            ),
        )

    def _check_group(self, group):
        super()._check_group(group)
        check_not_negative("NAdam", group, "momentum_decay")

    def _initial_number(self, name, group):
        return float(name == "mu_product")

    def _update(self, group, batch):
        step, lr, (beta1, beta2) = batch.advance(), float(group["lr"]), group["betas"]

        def momentum_at(step):
            return beta1 * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))

        now, after = momentum_at(step), momentum_at(step + 1)
        batch.set_number("mu_product", batch.number("mu_product") * float(number(now)))
        product = batch.number("mu_product")
        grads, means, squares = _decayed(group, batch), batch.kept("exp_avg"), batch.kept("exp_avg_sq")
        foreach_lerp_(means, grads, 1 - beta1)
        add_squares(squares, grads, beta2)
        root = foreach_div(squares, 1 - beta2**step)
        foreach_sqrt_(root)
        foreach_add_(root, group["eps"])
        foreach_addcdiv_(batch.params, grads, root, -lr * (1 - now) / (1 - product))
        foreach_addcdiv_(batch.params, means, root, -lr * after / (1 - product * after))


class RAdam(_OfAdam):
    """Liu et al., 2020: Adam that trusts its squares only once enough steps have gone into them.

    Raises:
        ValueError: an option is negative, or betas are not in [0, 1).
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                betas=betas,
                eps=eps,
                weight_decay=weight_decay,
                maximize=maximize,
                decoupled_weight_decay=decoupled_weight_decay,
                **switches("RAdam", foreach=foreach, capturable=capturable, differentiable=differentiable),
            ),
        )

    def _update(self, group, batch):
        step, lr, (beta1, beta2) = batch.advance(), float(group["lr"]), group["betas"]
        bias1, bias2 = 1 - beta1**step, 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / bias2
        grads, means, squares = _decayed(group, batch), batch.kept("exp_avg"), batch.kept("exp_avg_sq")
        foreach_lerp_(means, grads, 1 - beta1)
        add_squares(squares, grads, beta2)
        if length <= 5:  # too few squares to divide by
            foreach_add_(batch.params, means, alpha=-lr / bias1)
            return
        rectified = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
        root = foreach_sqrt(squares)
        foreach_add_(root, group["eps"])
        foreach_addcdiv_(batch.params, means, root, -lr / bias1 * math.sqrt(bias2) * rectified)


class Adamax(_OfAdam):
    """Kingma and Ba, 2015, section 7.1: the greatest of decayed gradients in place of the root of their squares.

    Raises:
        ValueError: an option is negative, or betas are not in [0, 1).
    """

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                betas=betas,
                eps=eps,
                weight_decay=weight_decay,
                maximize=maximize,
                **switches("Adamax", foreach=foreach, differentiable=differentiable, capturable=capturable),
            ),
        )

    def _kept(self, group):
        return ("exp_avg", "exp_inf")

    def _update(self, group, batch):
        step, (beta1, beta2) = batch.advance(), group["betas"]
        grads = directed(batch, group["maximize"], group["weight_decay"])
        means, largest = batch.kept("exp_avg"), batch.kept("exp_inf")
        foreach_lerp_(means, grads, 1 - beta1)
        sizes = foreach_abs(grads)
        foreach_add_(sizes, group["eps"])
        foreach_mul_(largest, beta2)
        assign(largest, foreach_maximum(largest, sizes))
        foreach_addcdiv_(batch.params, means, largest, -float(group["lr"]) / (1 - beta1**step))
