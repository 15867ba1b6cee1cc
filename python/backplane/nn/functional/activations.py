"""Nonlinearities."""

from ... import _core
from ..arguments import of_tensors

_rows = _core.operators

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]

sigmoid, tanh, tanhshrink, softsign, prelu = (
    _rows[name] for name in ("sigmoid", "tanh", "tanhshrink", "softsign", "prelu")
)
logsigmoid, glu = _rows["logsigmoid"], _rows["glu"]
celu_, elu_, hardtanh_, leaky_relu_, selu_, threshold_ = (
    _rows[f"{name}_"] for name in ("celu", "elu", "hardtanh", "leaky_relu", "selu", "threshold")
)
_relu = _rows["relu"]


def _either(name, input, *arguments, inplace):
    if not inplace:
        return _rows[name](input, *arguments)
    return _rows[f"{name}_"](input, *arguments)


def relu_(input):
    """max(0, x), written into the input."""
    return _rows["relu_"](input)


def relu(input, inplace=False):
    """max(0, x)."""
    return _rows["relu_"](input) if inplace else _relu(input)


def relu6(input, inplace=False):
    """min(max(0, x), 6)."""
    return _either("relu6", input, inplace=inplace)


def elu(input, alpha=1.0, inplace=False):
    """x above 0, alpha * (exp(x) - 1) below."""
    return _either("elu", input, alpha, inplace=inplace)


def selu(input, inplace=False):
    """A scaled elu whose results keep mean 0 and variance 1."""
    return _either("selu", input, inplace=inplace)


def celu(input, alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    if alpha == 0:
        raise ValueError("celu: alpha is 0, and celu divides by it; pass another number")
    return _either("celu", input, alpha, inplace=inplace)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x above 0, negative_slope * x below."""
    return _either("leaky_relu", input, negative_slope, inplace=inplace)


@of_tensors
def rrelu(input, lower=1 / 8, upper=1 / 3, training=False, inplace=False):
    """leaky_relu whose slope, in training, is drawn from lower to upper for each element, and else is their mean."""
    if not lower <= upper:
        raise ValueError(f"rrelu: lower {lower} is above upper {upper}; pass the smaller slope first")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slopes = _rows["rand"](input.shape, dtype=input.dtype, device=input.device) * (upper - lower) + lower
    factors = _rows["where"](input > 0, _rows["ones_like"](slopes), slopes)
    return input.mul_(factors) if inplace else input * factors


def rrelu_(input, lower=1 / 8, upper=1 / 3, training=False):
    """rrelu, written into the input."""
    return rrelu(input, lower, upper, training, True)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x within min_val to max_val."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: max_val {max_val} is below min_val {min_val}; pass the smaller number first")
    return _either("hardtanh", input, min_val, max_val, inplace=inplace)


def hardswish(input, inplace=False):
    """x * relu6(x + 3) / 6."""
    return _either("hardswish", input, inplace=inplace)


def hardsigmoid(input, inplace=False):
    """relu6(x + 3) / 6."""
    return _either("hardsigmoid", input, inplace=inplace)


def silu(input, inplace=False):
    """x * sigmoid(x)."""
    return _either("silu", input, inplace=inplace)


def mish(input, inplace=False):
    """x * tanh(softplus(x))."""
    return _either("mish", input, inplace=inplace)


def threshold(input, threshold, value, inplace=False):
    """x above the threshold, value elsewhere."""
    return _either("threshold", input, threshold, value, inplace=inplace)


def gelu(input, approximate="none"):
    """x times the share of a normal distribution below x; or its approximation by "tanh"."""
    if approximate == "none":
        return _rows["gelu"](input)
    if approximate != "tanh":
        raise ValueError(f"gelu: approximate is {approximate!r}; pass 'none' or 'tanh'")
    return _rows["gelu_tanh"](input)


def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold."""
    return _rows["softplus"](input, beta, threshold)


def hardshrink(input, lambd=0.5):
    """x outside of +-lambd, 0 within."""
    return _rows["hardshrink"](input, lambd)


def softshrink(input, lambd=0.5):
    """x brought nearer to 0 by lambd, 0 within +-lambd."""
    if lambd < 0:
        raise ValueError(f"softshrink: lambd is {lambd}; pass 0 or more")
    return _rows["softshrink"](input, lambd)


def usual_dim(ndim):
    """The dimension that softmax takes when none is given, as PyTorch does."""
    return 0 if ndim in (0, 1, 3) else 1


@of_tensors
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) divided by its sum along `dim`."""
    return _rows["softmax"](input, usual_dim(input.ndim) if dim is None else dim, dtype=dtype)


@of_tensors
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax."""
    return _rows["log_softmax"](input, usual_dim(input.ndim) if dim is None else dim, dtype=dtype)


@of_tensors
def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x)."""
    return _rows["softmin"](input, usual_dim(input.ndim) if dim is None else dim, dtype=dtype)


@of_tensors
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A draw from the distribution that the logits say, through which derivatives go (Jang et al., 2016).

    With `hard` it is one-hot, and its derivative that of the soft one.
    """
    uniform = _rows["rand"](logits.shape, dtype=logits.dtype, device=logits.device)
    least = 1e-38 if logits.dtype == _core.float32 else 1e-7
    noise = -_rows["log"](-_rows["log"](_rows["clamp_min"](uniform, least)))
    soft = _rows["softmax"]((logits + noise) / tau, dim)
    if not hard:
        return soft
    place = _rows["argmax"](soft, dim, True)
    one_hot = _rows["scatter"](_rows["zeros_like"](logits), dim, place, _rows["ones_like"](soft))
    return one_hot.detach() - soft.detach() + soft
