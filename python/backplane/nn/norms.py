"""Layers that bring their input to mean 0 and variance 1, or to size 1, over the batch, channels or features."""

from .. import _core
from ..autograd import no_grad
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import check_whole

_rows = _core.operators
_empty, _batch_norm = _rows["empty"], _rows["batch_norm"]

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
    "SyncBatchNorm",
]


class _Affine(Module):
    """What has a weight that begins as ones, and a bias that begins as zeros; either may be absent."""

    def _begin(self, shape, has_weight, has_bias, device, dtype):
        self.register_parameter("weight", Parameter(_empty(shape, device=device, dtype=dtype)) if has_weight else None)
        self.register_parameter("bias", Parameter(_empty(shape, device=device, dtype=dtype)) if has_bias else None)

    def reset_parameters(self):
        """Sets the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _RunningNorm(_Affine):
    """What batch and instance norms hold: running statistics as well, which training writes and evaluation reads."""

    def __init__(self, num_features, eps, momentum, affine, track_running_stats, device, dtype, bias):
        super().__init__()
        self.num_features = check_whole(self._get_name(), "num_features", num_features, 0)
        self.eps, self.momentum, self.affine, self.track_running_stats = eps, momentum, affine, track_running_stats
        self._begin([num_features], affine, affine and bias, device, dtype)
        tracked = track_running_stats
        self.register_buffer("running_mean", _empty([num_features], device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", _empty([num_features], device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", _empty([], device=device, dtype=_core.int64) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forgets what was seen."""
        if self.running_mean is not None:
            with no_grad():
                self.running_mean.zero_()
                self.running_var.fill_(1)
                self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Forgets what was seen, and sets the weight to ones and the bias to zeros."""
        self.reset_running_stats()
        super().reset_parameters()

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _refuse(self, input, wanted):
        raise ValueError(f"{self._get_name()}: the input is {list(input.shape)}; pass {wanted}")

    def _check_channels(self, input, channels):
        if channels != self.num_features:
            raise ValueError(
                f"{self._get_name()}: the input {list(input.shape)} has {channels} channels, and the layer "
                f"{self.num_features}; make both the same"
            )


class _BatchNorm(_RunningNorm):
    """(x - mean) / sqrt(variance + eps) of each channel over the batch, times weight, plus bias.

    (Ioffe and Szegedy, Batch Normalization, 2015.) Evaluation goes by the running statistics, if there are any.

    Args:
        num_features: C.
        momentum: how much a batch counts in the running statistics; None makes them means over all batches.
    """

    _ranks = ()

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        if self._ranks and input.ndim not in self._ranks or input.ndim < 2:
            self._refuse(input, " or ".join(str(rank) for rank in self._ranks or (2,)) + " dimensions")
        self._check_channels(input, input.shape[1])
        training, momentum = self.training, self.momentum
        if training and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked.add_(1)
            if momentum is None:
                momentum = 1 / self.num_batches_tracked.item()
        return _batch_norm(
            input,
            self.weight,
            self.bias,
            self.running_mean,
            self.running_var,
            training or self.running_mean is None,
            float(momentum or 0),
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Batch norm of [N, C] or [N, C, L]."""

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch norm of [N, C, H, W]."""

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch norm of [N, C, D, H, W]."""

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch norm of [N, C, ...]. Here a batch is on one device, so that there is nothing to synchronize."""

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)


class _InstanceNorm(_RunningNorm):
    """Batch norm of each sample on its own (Ulyanov et al., 2017); the batch may be absent."""

    _rank = 0

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        if input.ndim not in (self._rank + 1, self._rank + 2):
            self._refuse(input, f"{self._rank + 2} dimensions, or {self._rank + 1} without a batch")
        has_batch = input.ndim == self._rank + 2
        if self.weight is not None or self.running_mean is not None:
            self._check_channels(input, input.shape[1 if has_batch else 0])
        result = F.instance_norm(
            input if has_batch else input.unsqueeze(0),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            self.momentum or 0.0,
            self.eps,
        )
        return result if has_batch else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Instance norm of [N, C, L] or [C, L]."""

    _rank = 1


class InstanceNorm2d(_InstanceNorm):
    """Instance norm of [N, C, H, W] or [C, H, W]."""

    _rank = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance norm of [N, C, D, H, W] or [C, D, H, W]."""

    _rank = 3


def _shape(layer, given):
    sizes = [given] if hasattr(given, "__index__") else list(given)
    if not sizes:
        raise ValueError(f"{layer}: normalized_shape is empty; pass the sizes of the last dimensions")
    return tuple(check_whole(layer, "normalized_shape", size, 0) for size in sizes)


class LayerNorm(_Affine):
    """(x - mean) / sqrt(variance + eps) over the last dimensions, times weight, plus bias (Ba et al., 2016).

    Args:
        normalized_shape: the sizes of these dimensions. elementwise_affine: whether there are weight and bias.
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _shape("LayerNorm", normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._begin(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """x / sqrt(mean of x * x + eps) over the last dimensions, times weight (Zhang and Sennrich, 2019).

    Args:
        normalized_shape: the sizes of these dimensions.
        eps: by default the distance from 1 to the next number of the dtype.
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _shape("RMSNorm", normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        made = Parameter(_empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", made)
        self.reset_parameters()

    def reset_parameters(self):
        """Sets the weight to ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """(x - mean) / sqrt(variance + eps) over groups of channels of [N, C, ...] (Wu and He, 2018).

    Raises:
        ValueError: num_groups does not divide num_channels.
    """

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        self.num_groups = check_whole("GroupNorm", "num_groups", num_groups, 1)
        self.num_channels = check_whole("GroupNorm", "num_channels", num_channels, 0)
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: {num_channels} channels are not divisible into {num_groups} groups; choose a divisor"
            )
        self.eps, self.affine = eps, affine
        self._begin([num_channels], affine, affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        groups = f"{self.num_groups}, {self.num_channels}"
        return f"{groups}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """x / (k + alpha * mean of the squares in `size` neighbouring channels) ** beta (Krizhevsky et al., 2012)."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size = check_whole(self._get_name(), "size", size, 1)
        self.alpha, self.beta, self.k = alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
