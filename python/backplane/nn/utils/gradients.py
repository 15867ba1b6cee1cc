"""Gradients of limited size."""

import math

from ... import _core
from ..._core import Tensor
from ...autograd import no_grad

_rows = _core.operators

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _gradients(parameters):
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    gradients = []
    for each in given:
        if not isinstance(each, Tensor):
            raise TypeError(f"clip_grad: give parameters, not {type(each).__name__}")
        gradient = each.grad
        if gradient is not None:
            gradients.append(gradient.detach())
    return gradients


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all elements of the tensors together, as a tensor of one number. `foreach` changes nothing here.

    Raises:
        ValueError: with error_if_nonfinite, which waits for the device, when it is not finite.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return _rows["zeros"]([])
    norm_type = float(norm_type)
    with no_grad():
        device = tensors[0].device
        norms = [each.to(device) for one in _by_kind(tensors) for each in _rows["_foreach_norm"](one, norm_type)]
        total = _rows["norm"](_rows["stack"](_alike(norms)), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise ValueError(
            f"get_total_norm: the norm of order {norm_type} is {total.item()}; look for gradients that are not finite"
        )
    return total


def _by_kind(tensors):
    """Lists of tensors of one device and dtype, which one call takes."""
    groups = {}
    for each in tensors:
        groups.setdefault((str(each.device), each.dtype.name), []).append(each)
    return groups.values()


def _alike(norms):
    dtype = norms[0].dtype
    for each in norms:
        dtype = _core.promote_types(dtype, each.dtype)
    return [each.to(dtype) for each in norms]


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients of this total norm to max_norm, in place, where it is above."""
    with no_grad():
        factor = _rows["clamp_max"](float(max_norm) / (total_norm + 1e-6), 1.0)
        for each in _gradients(parameters):
            each.mul_(factor.to(each.device, each.dtype))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the gradients in place, so that their total norm is max_norm at most. Returns what it was."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Brings each element of the gradients into +-clip_value, in place."""
    limit = float(clip_value)
    with no_grad():
        for each in _gradients(parameters):
            each.clamp_(-limit, limit)
