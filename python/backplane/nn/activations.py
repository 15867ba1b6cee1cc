"""Nonlinearities as modules."""

from .. import _core
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter
from .sizes import check_whole

_rows = _core.operators

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Plain(Module):
    """One without arguments: the function is an attribute of the class."""

    def forward(self, input):
        return self._function(input)


class Sigmoid(_Plain):
    """1 / (1 + exp(-x))."""

    _function = staticmethod(_rows["sigmoid"])


class Tanh(_Plain):
    """The hyperbolic tangent."""

    _function = staticmethod(_rows["tanh"])


class Tanhshrink(_Plain):
    """x - tanh(x)."""

    _function = staticmethod(_rows["tanhshrink"])


class Softsign(_Plain):
    """x / (1 + |x|)."""

    _function = staticmethod(_rows["softsign"])


class LogSigmoid(_Plain):
    """log(sigmoid(x))."""

    _function = staticmethod(_rows["logsigmoid"])


class _MayBeInPlace(Module):
    """One whose only argument is whether it writes into its input."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return self._function(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class ReLU(_MayBeInPlace):
    """max(0, x)."""

    _function = staticmethod(F.relu)


class SiLU(_MayBeInPlace):
    """x * sigmoid(x)."""

    _function = staticmethod(F.silu)


class Mish(_MayBeInPlace):
    """x * tanh(softplus(x))."""

    _function = staticmethod(F.mish)


class SELU(_MayBeInPlace):
    """A scaled ELU whose results keep mean 0 and variance 1 (Klambauer et al., 2017)."""

    _function = staticmethod(F.selu)


class Hardswish(_MayBeInPlace):
    """x * relu6(x + 3) / 6."""

    _function = staticmethod(F.hardswish)

    def extra_repr(self):
        return ""


class Hardsigmoid(_MayBeInPlace):
    """relu6(x + 3) / 6."""

    _function = staticmethod(F.hardsigmoid)

    def extra_repr(self):
        return ""


class ELU(Module):
    """x above 0, alpha * (exp(x) - 1) below."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return f"alpha={self.alpha}{_in_place(self)}"


class CELU(ELU):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__(alpha, inplace)
        if alpha == 0:
            raise ValueError("CELU: alpha is 0, and CELU divides by it; pass another number")

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(Module):
    """x above 0, negative_slope * x below."""

    def __init__(self, negative_slope=1e-2, inplace=False):
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}{_in_place(self)}"


class RReLU(Module):
    """LeakyReLU whose slope, in training, is drawn from lower to upper for each element, and else is their mean."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        if not lower <= upper:
            raise ValueError(f"RReLU: lower {lower} is above upper {upper}; pass the smaller slope first")
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}{_in_place(self)}"


class Hardtanh(Module):
    """x within min_val to max_val."""

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        super().__init__()
        if not max_val > min_val:
            raise ValueError(
                f"{self._get_name()}: max_val {max_val} is not above min_val {min_val}; pass the smaller number first"
            )
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}{_in_place(self)}"


class ReLU6(Hardtanh):
    """min(max(0, x), 6)."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Threshold(Module):
    """x above the threshold, value elsewhere."""

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return f"threshold={self.threshold}, value={self.value}{_in_place(self)}"


class GELU(Module):
    """x times the share of a normal distribution below x; or its approximation by "tanh"."""

    def __init__(self, approximate="none"):
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f"GELU: approximate is {approximate!r}; pass 'none' or 'tanh'")
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold."""

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class Hardshrink(Module):
    """x outside of +-lambd, 0 within."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.hardshrink(input, self.lambd)

    def extra_repr(self):
        return str(self.lambd)


class Softshrink(Hardshrink):
    """x brought nearer to 0 by lambd, 0 within +-lambd."""

    def __init__(self, lambd=0.5):
        super().__init__(lambd)
        if lambd < 0:
            raise ValueError(f"Softshrink: lambd is {lambd}; pass 0 or more")

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class GLU(Module):
    """The first half along `dim` times sigmoid of the second."""

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class _Softmax(Module):
    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_Softmax):
    """exp(x) divided by its sum along `dim`."""

    def forward(self, input):
        return F.softmax(input, self.dim)


class LogSoftmax(_Softmax):
    """The logarithm of softmax along `dim`."""

    def forward(self, input):
        return F.log_softmax(input, self.dim)


class Softmin(_Softmax):
    """softmax(-x) along `dim`."""

    def forward(self, input):
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """softmax over the channels of [N, C, H, W] or [C, H, W]."""

    def forward(self, input):
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: the input is {list(input.shape)}; pass [N, C, H, W] or [C, H, W]")
        return F.softmax(input, -3)


class PReLU(Module):
    """x above 0, weight * x below.

    Args:
        num_parameters: 1, or the number of channels. init: how the weight begins.

    Attributes:
        weight: [num_parameters].
    """

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = check_whole("PReLU", "num_parameters", num_parameters, 0)
        self.init = init
        self.weight = Parameter(_rows["empty"]([num_parameters], device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Sets the weight to what it began as."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


def _in_place(module):
    return ", inplace=True" if module.inplace else ""
