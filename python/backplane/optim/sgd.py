"""Stochastic gradient descent."""

from .. import _core
from ._lists import real_parts
from .optimizer import Optimizer, check_not_negative, switches

_step = _core.operators["_fused_sgd_"]


class SGD(Optimizer):
    """With a momentum, which may be Nesterov's. The row `_fused_sgd_` says the formula.

    Raises:
        ValueError: an option is negative, or `nesterov` has no momentum or a dampening.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                momentum=momentum,
                dampening=dampening,
                weight_decay=weight_decay,
                nesterov=nesterov,
                maximize=maximize,
                **switches("SGD", foreach=foreach, differentiable=differentiable, fused=fused),
            ),
        )

    def _check_group(self, group):
        check_not_negative("SGD", group, "lr", "momentum", "weight_decay")
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError(
                f"SGD: nesterov needs a momentum above 0 and no dampening, but got {group['momentum']} and {group['dampening']}"
            )

    def _apart_by(self, group, state):
        return (state.get("momentum_buffer") is None,) if group["momentum"] else ()

    def _update(self, group, batch):
        momentum = group["momentum"]
        is_first = bool(momentum) and batch.states[0].get("momentum_buffer") is None
        made = self._new_buffers(batch) if is_first else []  # which the step fills
        buffers = [real_parts(each) for each in made] if is_first else batch.kept("momentum_buffer") if momentum else []
        _step(
            batch.params,
            batch.grads,
            buffers,
            weight_decay=group["weight_decay"],
            momentum=momentum,
            lr=group["lr"],
            dampening=group["dampening"],
            nesterov=group["nesterov"],
            maximize=group["maximize"],
            is_first_step=is_first,
        )
        for state, buffer in zip(batch.states, made):
            state["momentum_buffer"] = buffer

    def _new_buffers(self, batch):
        empty_like, view_as_complex = _core.operators["empty_like"], _core.operators["view_as_complex"]
        made = [empty_like(each.detach()) for each in batch.params]
        return [view_as_complex(each) for each in made] if batch.is_complex else made
