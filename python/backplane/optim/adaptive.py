"""Optimizers that divide each gradient by how large its place's gradients have been: Adagrad, Adadelta, RMSprop; and
two that look at signs or averages alone: Rprop, ASGD."""

import sys

from .. import _core
from ._lists import (
    add_squares,
    assign,
    directed,
    foreach_add,
    foreach_add_,
    foreach_addcdiv_,
    foreach_addcmul,
    foreach_addcmul_,
    foreach_div_,
    foreach_lerp_,
    foreach_maximum,
    foreach_minimum,
    foreach_mul,
    foreach_mul_,
    foreach_sign,
    foreach_sqrt,
    foreach_sqrt_,
    full_of,
)
from .optimizer import Optimizer, check_not_negative, switches

_adagrad_step, _full = _core.operators["_fused_adagrad_"], _core.operators["full"]
_largest = {
    "float64": sys.float_info.max,
    "float32": float.fromhex("0x1.fffffep127"),
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
}


class Adagrad(Optimizer):
    """Duchi, Hazan and Singer, 2011. The row `_fused_adagrad_` says the formula.

    Raises:
        ValueError: an option is negative.
    """

    _numbers = ("step",)

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                lr_decay=lr_decay,
                eps=eps,
                weight_decay=weight_decay,
                initial_accumulator_value=initial_accumulator_value,
                maximize=maximize,
                **switches("Adagrad", foreach=foreach, differentiable=differentiable, fused=fused),
            ),
        )

    def _check_group(self, group):
        check_not_negative("Adagrad", group, "lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")

    def _kept(self, group):
        return ("sum",)

    def _initial(self, name, parameter, group):
        return full_of(parameter, group["initial_accumulator_value"])

    def _update(self, group, batch):
        count = _full((), batch.advance(), dtype=_core.float32, device=batch.params[0].device)
        _adagrad_step(
            batch.params,
            batch.grads,
            batch.kept("sum"),
            [count] * len(batch.params),
            lr=group["lr"],
            lr_decay=group["lr_decay"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


class Adadelta(Optimizer):
    """Zeiler, 2012.

    Raises:
        ValueError: an option is negative, or rho above 1.
    """

    _numbers = ("step",)

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                rho=rho,
                eps=eps,
                weight_decay=weight_decay,
                maximize=maximize,
                **switches("Adadelta", foreach=foreach, capturable=capturable, differentiable=differentiable),
            ),
        )

    def _check_group(self, group):
        check_not_negative("Adadelta", group, "lr", "rho", "eps", "weight_decay")
        if group["rho"] > 1:
            raise ValueError(f"Adadelta: rho is {group['rho']}; it must be from 0 to 1")

    def _kept(self, group):
        return ("square_avg", "acc_delta")

    def _update(self, group, batch):
        batch.advance()
        grads = directed(batch, group["maximize"], group["weight_decay"])
        squares, deltas = batch.kept("square_avg"), batch.kept("acc_delta")
        add_squares(squares, grads, group["rho"])
        root = foreach_add(squares, group["eps"])
        foreach_sqrt_(root)
        delta = foreach_add(deltas, group["eps"])
        foreach_sqrt_(delta)
        foreach_div_(delta, root)
        foreach_mul_(delta, grads)
        add_squares(deltas, delta, group["rho"])
        foreach_add_(batch.params, delta, alpha=-float(group["lr"]))


class RMSprop(Optimizer):
    """Hinton's lecture, 2012; `centered` by Graves, 2013.

    Raises:
        ValueError: an option is negative.
    """

    _numbers = ("step",)

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                momentum=momentum,
                alpha=alpha,
                eps=eps,
                centered=centered,
                weight_decay=weight_decay,
                maximize=maximize,
                **switches("RMSprop", capturable=capturable, foreach=foreach, differentiable=differentiable),
            ),
        )

    def _check_group(self, group):
        check_not_negative("RMSprop", group, "lr", "momentum", "alpha", "eps", "weight_decay")

    def _kept(self, group):
        return (
            "square_avg",
            *(("momentum_buffer",) if group["momentum"] > 0 else ()),
            *(("grad_avg",) if group["centered"] else ()),
        )

    def _update(self, group, batch):
        batch.advance()
        lr, fresh = float(group["lr"]), 1 - group["alpha"]
        grads, squares = directed(batch, group["maximize"], group["weight_decay"]), batch.kept("square_avg")
        add_squares(squares, grads, group["alpha"])
        if group["centered"]:
            means = batch.kept("grad_avg")
            foreach_lerp_(means, grads, fresh)
            root = foreach_addcmul(squares, means, means, -1)
            foreach_sqrt_(root)
        else:
            root = foreach_sqrt(squares)
        foreach_add_(root, group["eps"])
        if group["momentum"] > 0:
            velocities = batch.kept("momentum_buffer")
            foreach_mul_(velocities, group["momentum"])
            foreach_addcdiv_(velocities, grads, root)
            foreach_add_(batch.params, velocities, alpha=-lr)
        else:
            foreach_addcdiv_(batch.params, grads, root, -lr)


class Rprop(Optimizer):
    """Riedmiller and Braun, 1993: steps by the gradient's sign, of a size that grows while the sign stays.

    Raises:
        ValueError: an option is negative, or not 0 < etas[0] < 1 < etas[1].
    """

    _numbers = ("step",)

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                etas=etas,
                step_sizes=step_sizes,
                maximize=maximize,
                **switches("Rprop", capturable=capturable, foreach=foreach, differentiable=differentiable),
            ),
        )

    def _check_group(self, group):
        check_not_negative("Rprop", group, "lr")
        if not 0 < group["etas"][0] < 1 < group["etas"][1]:
            raise ValueError(f"Rprop: etas are {group['etas']}; the first must be between 0 and 1, the second above 1")
        if not 0 <= group["step_sizes"][0] <= group["step_sizes"][1]:
            raise ValueError(f"Rprop: step_sizes are {group['step_sizes']}; they must rise from 0 or more")

    def _kept(self, group):
        return ("prev", "step_size")

    def _initial(self, name, parameter, group):
        return full_of(parameter, 0 if name == "prev" else float(group["lr"]))

    def _update(self, group, batch):
        batch.advance()
        before, sizes = batch.kept("prev"), batch.kept("step_size")
        # An infinite gradient has a sign too; times 0 it would be NaN.
        largest = _largest[batch.params[0].dtype.name]
        grads = foreach_maximum(foreach_minimum(directed(batch, group["maximize"]), largest), -largest)
        signs = foreach_sign(foreach_mul(grads, before))
        stays, turns = foreach_maximum(signs, 0), foreach_minimum(signs, 0)
        factors = foreach_mul(stays, group["etas"][1] - 1)
        foreach_add_(factors, turns, alpha=1 - group["etas"][0])
        foreach_add_(factors, 1)
        foreach_mul_(sizes, factors)
        assign(sizes, foreach_minimum(foreach_maximum(sizes, group["step_sizes"][0]), group["step_sizes"][1]))
        # Where the sign has turned, nothing moves, and the next step starts afresh.
        grads = foreach_addcmul(grads, grads, turns)
        foreach_addcmul_(batch.params, foreach_sign(grads), sizes, -1)
        assign(before, grads)


class ASGD(Optimizer):
    """Polyak and Juditsky, 1992: gradient descent with a falling rate. "ax" of the state is the average since step
    `t0`.

    Raises:
        ValueError: an option is negative.
    """

    _numbers = ("step", "eta", "mu")

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                lambd=lambd,
                alpha=alpha,
                t0=t0,
                weight_decay=weight_decay,
                maximize=maximize,
                **switches("ASGD", foreach=foreach, differentiable=differentiable, capturable=capturable),
            ),
        )

    def _check_group(self, group):
        check_not_negative("ASGD", group, "lr", "lambd", "alpha", "t0", "weight_decay")

    def _kept(self, group):
        return ("ax",)

    def _initial_number(self, name, group):
        return {"step": 0.0, "eta": float(group["lr"]), "mu": 1.0}[name]

    def _update(self, group, batch):
        step, eta, mu = batch.advance(), batch.number("eta"), batch.number("mu")
        grads, averages = directed(batch, group["maximize"], group["weight_decay"]), batch.kept("ax")
        foreach_mul_(batch.params, 1 - group["lambd"] * eta)
        foreach_add_(batch.params, grads, alpha=-eta)
        if mu == 1:
            assign(averages, batch.params)
        else:
            foreach_lerp_(averages, batch.params, mu)
        lr = float(group["lr"])
        batch.set_number("eta", lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
        batch.set_number("mu", 1 / max(1.0, step - group["t0"]))
