"""Layers of matrix products."""

import math

from .. import _core
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import check_whole

_rows = _core.operators
_linear, _bilinear, _empty = _rows["linear"], _rows["bilinear"], _rows["empty"]

__all__ = ["Bilinear", "Identity", "Linear", "NonDynamicallyQuantizableLinear"]


class Identity(Module):
    """Gives its input back. Takes whatever arguments, so that it can stand for any layer."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """x W' + b, of [..., in_features] to [..., out_features].

    Both begin uniform in +-1 / sqrt(in_features).

    Args:
        in_features, out_features: sizes of the last dimension.
        bias: whether there is a b.

    Attributes:
        weight: [out_features, in_features]. bias: [out_features], or None.
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features = check_whole("Linear", "in_features", in_features, 0)
        self.out_features = check_whole("Linear", "out_features", out_features, 0)
        self.weight = Parameter(_empty([out_features, in_features], device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(_empty([out_features], device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws new weights and biases."""
        bound = init.fan_in_bound(self.in_features)
        init.uniform_around_0(self.weight, bound)
        if self.bias is not None:
            init.uniform_around_0(self.bias, bound)

    def forward(self, input):
        return _linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear by the name that PyTorch prints within attention."""


class Bilinear(Module):
    """x1 W x2' + b for each output, of [..., in1_features] and [..., in2_features] to [..., out_features].

    Attributes:
        weight: [out_features, in1_features, in2_features], uniform in +-1 / sqrt(in1_features). bias: [out_features],
        or None.
    """

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in1_features = check_whole("Bilinear", "in1_features", in1_features, 1)
        self.in2_features = check_whole("Bilinear", "in2_features", in2_features, 0)
        self.out_features = check_whole("Bilinear", "out_features", out_features, 0)
        self.weight = Parameter(_empty([out_features, in1_features, in2_features], device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(_empty([out_features], device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws new weights and biases."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_around_0(self.weight, bound)
        if self.bias is not None:
            init.uniform_around_0(self.bias, bound)

    def forward(self, input1, input2):
        return _bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
