"""Gradients of limited size, parameters as one vector, computed members, and sequences of several lengths."""

from ..._later import import_later as _import_later
from . import rnn
from .gradients import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]


def __getattr__(name):
    if name in ("parametrizations", "parametrize", "stateless"):  # they need modules, which need what is here
        return _import_later(name, __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
