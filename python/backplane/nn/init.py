"""How parameters begin: functions that write into a tensor and return it. Their calls are not recorded."""

import math

from .. import _core
from .._core import Tensor
from ..autograd import no_grad

_rows = _core.operators

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


def calculate_gain(nonlinearity, param=None):
    """By how much deviations grow before a nonlinearity, so that they are kept behind it.

    Raises:
        ValueError: nobody knows the nonlinearity. TypeError: the slope of leaky_relu is not a number.
    """
    if nonlinearity in _LINEAR:
        return 1
    known = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
    if nonlinearity in known:
        return known[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(
            f"calculate_gain: no nonlinearity '{nonlinearity}'; use linear, conv1d to conv3d, their transposed forms, sigmoid, tanh, relu, leaky_relu or selu"
        )
    if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
        raise TypeError(f"calculate_gain: the slope of leaky_relu is {param!r}; pass a number")
    slope = 0.01 if param is None else param
    return math.sqrt(2 / (1 + slope * slope))


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform numbers from a to b."""
    with no_grad():
        return _checked("uniform_", tensor).uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal numbers."""
    with no_grad():
        return _checked("normal_", tensor).normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal numbers, of which those outside of a to b do not occur.

    They are drawn by the inverse of the distribution: none is drawn twice, however far out a and b are.
    """
    if not a <= b:
        raise ValueError(f"trunc_normal_: no numbers from {a} to {b}; let a be at most b")
    if not std > 0:
        raise ValueError(f"trunc_normal_: the deviation is {std}; pass a number above 0")
    dtype = _drawn_dtype("trunc_normal_", tensor)
    # Above the mean, the share below a number is so near 1 that digits are lost: there it is drawn from the other side.
    side = -1 if a > mean else 1
    low, high = (mean - b, mean - a) if side < 0 else (a - mean, b - mean)
    least = 2.3e-308 if dtype == _core.float64 else 1.2e-38  # shares are numbers of the dtype
    with no_grad():
        drawn = _rows["empty"](tensor.shape, dtype=dtype, device=tensor.device)
        drawn.uniform_(max(_share(low / std), least), max(_share(high / std), least), generator=generator)
        return tensor.copy_(_rows["clamp"](_rows["ndtri"](drawn) * (side * std) + mean, a, b))


def constant_(tensor, val):
    """One number everywhere."""
    with no_grad():
        return _checked("constant_", tensor).fill_(val)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1)


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0)


def eye_(tensor):
    """Ones on the diagonal of a matrix, zeros elsewhere."""
    if _checked("eye_", tensor).ndim != 2:
        raise ValueError(f"eye_: the tensor has shape {list(tensor.shape)}; pass one of 2 dimensions")
    rows, columns = tensor.shape
    places = _rows["arange"]
    with no_grad():
        return tensor.copy_(
            places(0, rows, device=tensor.device).unsqueeze(1) == places(0, columns, device=tensor.device)
        )


def dirac_(tensor, groups=1):
    """Weights of a convolution that gives its input back, as many channels of it as there are.

    Raises:
        ValueError: the tensor has not 3, 4 or 5 dimensions, or groups does not divide the output channels.
    """
    if _checked("dirac_", tensor).ndim not in (3, 4, 5):
        raise ValueError(f"dirac_: the tensor has shape {list(tensor.shape)}; pass one of 3, 4 or 5 dimensions")
    if groups <= 0 or tensor.shape[0] % groups:
        raise ValueError(
            f"dirac_: {tensor.shape[0]} output channels are not divisible into {groups} groups; choose a divisor"
        )
    in_group = tensor.shape[0] // groups
    center = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(in_group, tensor.shape[1])):
                tensor[(group * in_group + channel, channel, *center)] = 1
        return tensor


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform numbers of variance gain ** 2 * 2 / (fan_in + fan_out) (Glorot and Bengio, 2010)."""
    bound = math.sqrt(3) * _xavier_deviation("xavier_uniform_", tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal numbers of variance gain ** 2 * 2 / (fan_in + fan_out) (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, _xavier_deviation("xavier_normal_", tensor, gain), generator)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform numbers of variance gain ** 2 / fan (He et al., 2015); `a` is the slope of leaky_relu."""
    deviation = _kaiming_deviation("kaiming_uniform_", tensor, a, mode, nonlinearity)
    bound = math.sqrt(3) * deviation
    return uniform_(tensor, -bound, bound, generator) if tensor.numel() else tensor


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal numbers of variance gain ** 2 / fan (He et al., 2015); `a` is the slope of leaky_relu."""
    deviation = _kaiming_deviation("kaiming_normal_", tensor, a, mode, nonlinearity)
    return normal_(tensor, 0.0, deviation, generator) if tensor.numel() else tensor


def orthogonal_(tensor, gain=1, generator=None):
    """An orthogonal matrix times gain, of the tensor seen as [rows, rest] (Saxe et al., 2013)."""
    _fans("orthogonal_", tensor)
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    dtype = _drawn_dtype("orthogonal_", tensor)
    with no_grad():
        drawn = _rows["randn"](
            [max(rows, columns), min(rows, columns)], dtype=dtype, device=tensor.device, generator=generator
        )
        q, r = _rows["linalg_qr"](drawn)
        # The signs make it uniform among all such matrices.
        q = q * _rows["sign"](_rows["diagonal"](r))
        return tensor.copy_(((q.transpose(0, 1) if rows < columns else q) * gain).reshape(tensor.shape))


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers, of which in each column a part of `sparsity` is 0 (Martens, 2010)."""
    if _checked("sparse_", tensor).ndim != 2:
        raise ValueError(f"sparse_: the tensor has shape {list(tensor.shape)}; pass one of 2 dimensions")
    if not 0 <= sparsity <= 1:
        raise ValueError(f"sparse_: the sparsity is {sparsity}; pass a fraction from 0 to 1")
    num_zeros = math.ceil(sparsity * tensor.shape[0])
    with no_grad():
        tensor.normal_(0.0, std, generator=generator)
        if tensor.numel() == 0:
            return tensor
        # Sorting random numbers gives each column a permutation of its own.
        drawn = _rows["rand"](tensor.shape, device=tensor.device, generator=generator)
        order = _rows["sort"](drawn, 0)[1]
        return tensor.copy_(_rows["masked_fill"](tensor, order < num_zeros, 0))


def uniform_around_0(tensor, bound):
    """Uniform numbers in +-bound; of complex numbers both parts are."""
    with no_grad():
        if tensor.is_complex():
            _rows["view_as_real"](tensor).uniform_(-bound, bound)
            return tensor
        return tensor.uniform_(-bound, bound)


def fan_in_bound(fan_in):
    """1 / sqrt(fan_in), where fan_in is how many numbers go into one result."""
    return 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0


def _checked(function, tensor):
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{function}: give a Tensor, not {type(tensor).__name__}")
    return tensor


def _share(x):
    """The share of a normal distribution below x."""
    return math.erfc(-x / math.sqrt(2)) / 2


def _drawn_dtype(function, tensor):
    if not _checked(function, tensor).is_floating_point():
        raise ValueError(f"{function}: the tensor is {tensor.dtype.name}; pass a floating-point one")
    return _core.float32 if tensor.itemsize < 4 else tensor.dtype


def _fans(function, tensor):
    if _checked(function, tensor).ndim < 2:
        raise ValueError(
            f"{function}: the tensor has shape {list(tensor.shape)}, and fan-in and fan-out need 2 dimensions or more"
        )
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


def _xavier_deviation(function, tensor, gain):
    fans = sum(_fans(function, tensor))
    return gain * math.sqrt(2 / fans) if fans else 0.0


def _kaiming_deviation(function, tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"{function}: the mode is '{mode}'; use 'fan_in' or 'fan_out'")
    if not _checked(function, tensor).numel():
        return 0.0
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(function, tensor)[mode == "fan_out"])
