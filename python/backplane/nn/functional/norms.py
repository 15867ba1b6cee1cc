"""Normalization: to mean 0 and variance 1, or to size 1."""

from ... import _core

_rows = _core.operators
_layer_norm, _rms_norm = _rows["layer_norm"], _rows["rms_norm"]

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """(x - mean) / sqrt(variance + eps) of each channel over the batch, times weight, plus bias (Ioffe and Szegedy,
    2015).

    Without `training`, by the running statistics; with it, these are written.
    """
    return _rows["batch_norm"](input, weight, bias, running_mean, running_var, training, float(momentum), eps)


def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    """batch_norm of each sample on its own (Ulyanov et al., 2017)."""
    return _rows["instance_norm"](input, weight, bias, running_mean, running_var, use_input_stats, float(momentum), eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Over the last dimensions, whose sizes are normalized_shape (Ba et al., 2016)."""
    return _layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """x / sqrt(mean of x * x + eps) over the last dimensions, times weight (Zhang and Sennrich, 2019)."""
    return _rms_norm(input, normalized_shape, weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Over groups of channels of [N, C, ...] (Wu and He, 2018)."""
    return _rows["group_norm"](input, num_groups, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """x / (k + alpha * mean of the squares in `size` neighbouring channels) ** beta (Krizhevsky et al., 2012)."""
    return _rows["local_response_norm"](input, size, alpha, beta, k)
