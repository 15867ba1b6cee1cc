"""Lists of tensors, a call for each list; and numbers that a list shares."""

from .. import _core

_rows = _core.operators
foreach_add, foreach_add_ = _rows["_foreach_add"], _rows["_foreach_add_"]
foreach_mul, foreach_mul_ = _rows["_foreach_mul"], _rows["_foreach_mul_"]
foreach_div, foreach_div_ = _rows["_foreach_div"], _rows["_foreach_div_"]
foreach_addcmul, foreach_addcmul_ = _rows["_foreach_addcmul"], _rows["_foreach_addcmul_"]
foreach_addcdiv_ = _rows["_foreach_addcdiv_"]
foreach_lerp, foreach_lerp_ = _rows["_foreach_lerp"], _rows["_foreach_lerp_"]
foreach_maximum, foreach_minimum = _rows["_foreach_maximum"], _rows["_foreach_minimum"]
foreach_neg, foreach_abs, foreach_sign = _rows["_foreach_neg"], _rows["_foreach_abs"], _rows["_foreach_sign"]
foreach_sqrt, foreach_sqrt_ = _rows["_foreach_sqrt"], _rows["_foreach_sqrt_"]
foreach_zero_, foreach_norm = _rows["_foreach_zero_"], _rows["_foreach_norm"]
stack, unbind = _rows["stack"], _rows["unbind"]


def number(value):
    """A number of the state, on the host in float32, as PyTorch keeps it."""
    return _core.tensor(value, dtype=_core.float32)


def real_parts(tensor):
    """A complex tensor as pairs of real numbers; others as they are."""
    return _rows["view_as_real"](tensor.detach()) if tensor.dtype.is_complex else tensor


def full_of(parameter, value):
    """As large as the parameter; a number for each part of a complex one too."""
    made = _rows["zeros_like"](parameter.detach())
    real_parts(made).fill_(value)
    return made


def assign(targets, values):
    """Writes the values over the targets."""
    foreach_zero_(targets)
    foreach_add_(targets, values)


def directed(batch, maximize, weight_decay=0):
    """The gradients, turned around by `maximize`, plus weight_decay times the parameters."""
    grads = foreach_neg(batch.grads) if maximize else batch.grads
    return foreach_add(grads, batch.params, alpha=weight_decay) if weight_decay else grads


def decay(params, lr, weight_decay):
    """Takes weight_decay * lr off the parameters."""
    if weight_decay:
        foreach_mul_(params, 1 - lr * weight_decay)


def add_squares(means, values, beta):
    """means = beta * means + (1 - beta) * values * values."""
    foreach_mul_(means, beta)
    foreach_addcmul_(means, values, values, 1 - beta)


def by_shape(tensors):
    """The places of tensors that can be stacked, part by part."""
    places = {}
    for place, tensor in enumerate(tensors):
        places.setdefault(tuple(tensor.shape), []).append(place)
    return places.values()
