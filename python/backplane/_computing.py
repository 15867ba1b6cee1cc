"""Functions by PyTorch's names that compare, order and compute: made of several rows, or of forms of one."""

from . import _core, _named
from ._core import Tensor, forms as _forms

_rows = _core.operators


def equal(input, other):
    """True if both have one shape and equal elements; NaN equals nothing. Waits for the device."""
    return _forms.equal(input, other)


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True if all elements are close, as isclose says. Waits for the device."""
    return _forms.allclose(input, other, rtol, atol, equal_nan)


def argsort(input, dim=-1, descending=False, stable=False):
    """The indices by which sort puts `input` in order. Equal elements always keep their order."""
    return _forms.argsort(input, dim, descending)


def msort(input):
    """`input` sorted along its first dimension."""
    return _rows["sort"](input, 0).values


def amax(input, dim=(), keepdim=False):
    """The largest elements along `dim`, one or several, by default all."""
    return _rows["max"](input, None if dim == () else dim, keepdim)


def amin(input, dim=(), keepdim=False):
    """The smallest elements along `dim`, one or several, by default all."""
    return _rows["min"](input, None if dim == () else dim, keepdim)


def median(input, dim=None, keepdim=False):
    """The median of all elements, the lower of two; with `dim`, the medians along it and their indices."""
    return _forms.median(input) if dim is None else _rows["median"](input, dim, keepdim)


def nanmedian(input, dim=None, keepdim=False):
    """The median of all elements that are not NaN; with `dim`, the medians along it and their indices."""
    return _rows["nanmedian"](input.reshape(-1), 0).values if dim is None else _rows["nanmedian"](input, dim, keepdim)


def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The quantile `q` of all elements, or of those along `dim`; for each q along a new first dimension."""
    if isinstance(q, Tensor):
        return _forms.quantile(input, q, dim, keepdim, interpolation)
    return _rows["quantile"](input, q, dim, keepdim, interpolation=interpolation)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements in ascending order; with them, where each element of `input` is found there, and how often
    each occurs.

    Raises:
        ValueError: `dim` is given: rows are not compared here.
    """
    if dim is not None:
        raise ValueError("unique: slices along a dimension are not compared; leave dim out")
    found = _rows["unique_all"](input)
    results = [found.values]
    if return_inverse:
        results.append(found.inverse_indices)
    if return_counts:
        results.append(found.counts)
    return results[0] if len(results) == 1 else tuple(results)


def isreal(input):
    """Whether the imaginary part of each element is 0."""
    return _rows["eq"](input.imag, 0) if input.dtype.is_complex else _rows["ones_like"](input, dtype=_core.bool)


# --- Computing --------------------------------------------------------------------------------------------------------


def clamp(input, min=None, max=None):
    """Each element limited to `min` and `max`, numbers or tensors, of which one may be missing.

    Raises:
        ValueError: both are.
    """
    if min is None and max is None:
        raise ValueError("clamp: give min, max, or both")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if min is not None:
            input = _rows["maximum"](input, min)
        return input if max is None else _rows["minimum"](input, max)
    if min is None:
        return _rows["clamp_max"](input, max)
    return _rows["clamp_min"](input, min) if max is None else _rows["clamp"](input, min, max)


def clamp_(input, min=None, max=None):
    """clamp, written into `input` itself, which is returned."""
    if min is None and max is None:
        raise ValueError("clamp_: give min, max, or both")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return input.copy_(clamp(input, min, max))
    if min is None:
        return _rows["clamp_max_"](input, max)
    return _rows["clamp_min_"](input, min) if max is None else _rows["clamp_"](input, min, max)


def clamp_min(input, min):
    """Each element, or `min` where that is larger: a number or a tensor."""
    return _rows["maximum" if isinstance(min, Tensor) else "clamp_min"](input, min)


def clamp_max(input, max):
    """Each element, or `max` where that is smaller: a number or a tensor."""
    return _rows["minimum" if isinstance(max, Tensor) else "clamp_max"](input, max)


def div(input, other, *, rounding_mode=None, out=None):
    """input / other; with `rounding_mode` "floor" or "trunc", rounded down or towards
    zero.

    Raises:
        ValueError: another rounding mode.
    """
    if rounding_mode is None:
        return _rows["div"](input, other, out=out)
    if rounding_mode == "floor":
        return _rows["floor_divide"](input, other, out=out)
    if rounding_mode != "trunc":
        raise ValueError(f"div: rounding_mode is {rounding_mode!r}; it may be None, 'floor' or 'trunc'")
    dtype = result_type(input, other)
    if dtype.is_floating_point:
        return _rows["trunc"](_rows["div"](input, other), out=out)
    rest = _rows["fmod"](input, other)
    return _rows["floor_divide"](_rows["sub"](input, rest), other, out=out)


def div_(input, other, *, rounding_mode=None):
    """div, written into `input` itself, which is returned."""
    return (
        _rows["div_"](input, other)
        if rounding_mode is None
        else input.copy_(div(input, other, rounding_mode=rounding_mode))
    )


def _deviation(row):
    def compute(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None and correction is not None:
            raise TypeError(f"{row}: give unbiased or correction, not both")
        if correction is None:
            correction = 1 if unbiased is None or unbiased else 0
        options = {} if out is None else {"out": out}
        return _rows[row](
            input,
            dim or None if isinstance(dim, (tuple, list)) else dim,
            correction=correction,
            keepdim=keepdim,
            **options,
        )

    compute.__name__ = compute.__qualname__ = row
    compute.__doc__ = (
        f"{row} of all elements, or along `dim`: sums are divided by their number less `correction`, by default 1."
    )
    return compute


std, var, std_mean, var_mean = map(_deviation, ("std", "var", "std_mean", "var_mean"))


def norm(input, p="fro", dim=None, keepdim=False, *, dtype=None, out=None):
    """The p-norm of all elements, or of those along `dim`; "fro" is 2, "nuc" the sum of a matrix's singular values."""
    if dtype is not None:
        input = input.to(dtype)
    if p == "nuc":
        return _rows["linalg_matrix_norm"](input, "nuc", (-2, -1) if dim is None else dim, keepdim)
    options = {} if out is None else {"out": out}
    return _rows["norm"](input, 2 if p == "fro" or p is None else p, dim, keepdim, **options)


def polygamma(n, input):
    """The n-th derivative of digamma; as a method, x.polygamma(n)."""
    return _rows["polygamma"](n, input) if isinstance(n, Tensor) else _rows["polygamma"](input, n)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """The indices at which each element of `input` keeps a sorted sequence in order; `right`, or side="right": behind
    equal ones."""
    if side not in (None, "left", "right"):
        raise ValueError(f"searchsorted: side is {side!r}; it may be 'left' or 'right'")
    if sorter is not None:
        sorted_sequence = _rows["gather"](sorted_sequence, -1, sorter)
    if not isinstance(input, Tensor):
        input = _core.tensor(input, dtype=sorted_sequence.dtype, device=sorted_sequence.device)
    return _rows["searchsorted"](sorted_sequence, input, out_int32=out_int32, right=right or side == "right")


def einsum(equation, *operands):
    """Sums of products of the operands, as the equation's letters say: "ij,jk->ik" is matmul."""
    return _rows["einsum"](
        equation, operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands
    )


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """quantile of the elements that are not NaN; for each q along a new first dimension."""
    if not isinstance(q, Tensor):
        return _rows["nanquantile"](input, q, dim, keepdim, interpolation=interpolation)
    parts = [
        _rows["nanquantile"](input, each, dim, keepdim, interpolation=interpolation) for each in q.reshape(-1).tolist()
    ]
    return _rows["stack"](parts).reshape(tuple(q.shape) + tuple(parts[0].shape))


def positive(input):
    """`input` itself."""
    return input


def float_power(input, exponent):
    """`input` to a power, in float64 or complex128."""

    def widest(each):
        if isinstance(each, Tensor):
            return each.to(_core.complex128 if each.dtype.is_complex else _core.float64)
        return each

    return _rows["pow"](widest(input), widest(exponent))


def rsub(input, other, *, alpha=1):
    """other - alpha input."""
    return _rows["sub"](other, input, alpha=alpha)


def logdet(input):
    """The logarithm of the determinant of a square matrix, or of a batch of them."""
    return _rows["log"](_rows["linalg_det"](input))


def vdot(input, other):
    """The sum of products of two vectors, the first conjugate."""
    return _rows["dot"](_rows["conj"](input) if input.dtype.is_complex else input, other)


def dist(input, other, p=2):
    """The p-norm of input - other."""
    return _rows["norm"](_rows["sub"](input, other), p)


def _weighted(input, name, weights):
    if weights.ndim != 1 or weights.shape[0] != input.shape[1]:
        raise ValueError(
            f"cov: {name} has shape {list(weights.shape)}; give one for each of the {input.shape[1]} columns"
        )
    return weights


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance of the rows of a matrix, each row a variable, each column an observation.

    `fweights` says how often each column was observed, `aweights` how much it counts.

    Raises:
        ValueError: the input has more than two dimensions, or the weights do not fit.
    """
    if input.ndim > 2:
        raise ValueError(f"cov: the input has {input.ndim} dimensions; give a matrix, or a vector")
    columns = _forms.atleast_2d(input)
    if not (columns.dtype.is_floating_point or columns.dtype.is_complex):
        columns = columns.to(_core.get_default_dtype())
    weights = None
    if fweights is not None:
        weights = _weighted(columns, "fweights", fweights)
    if aweights is not None:
        own = _weighted(columns, "aweights", aweights)
        weights = own if weights is None else weights * own
    count = columns.shape[1] if weights is None else weights.sum()
    mean = columns.sum(1, True) / count if weights is None else (columns * weights).sum(1, True) / count
    if aweights is None or correction == 0:
        rest = count - correction
    else:
        rest = count - correction * (weights * aweights).sum() / count
    centered = columns - mean
    product = (centered if weights is None else centered * weights) @ centered.mH
    product = product / (_rows["clamp_min"](rest, 0) if isinstance(rest, Tensor) else max(rest, 0))
    return product.squeeze() if columns.shape[0] == 1 else product


def corrcoef(input):
    """The correlation of the rows of a matrix."""
    product = cov(input)
    if product.ndim == 0:
        return product / product
    deviation = product.diagonal().real.sqrt()
    return product / deviation[:, None] / deviation[None]


def trapezoid(y, x=None, *, dx=1.0, dim=-1):
    """The integral of `y` along `dim` by trapezoids, whose corners lie at `x`, or `dx` apart."""
    if y.ndim == 0:
        raise ValueError("trapezoid: y has no dimensions; give a vector at least")
    sums = y.narrow(dim, 1, y.shape[dim] - 1) + y.narrow(dim, 0, y.shape[dim] - 1)
    if x is None:
        return sums.sum(dim) * (dx / 2)
    steps = _rows["diff"](x, 1, dim if x.ndim > 1 else -1)
    if x.ndim == 1 and y.ndim > 1:
        steps = steps.reshape([-1 if i == dim % y.ndim else 1 for i in range(y.ndim)])
    return (sums * steps).sum(dim) / 2


trapz = trapezoid


def cartesian_prod(*tensors):
    """[n, len(tensors)]: all combinations of elements of vectors; for one vector, itself."""
    if len(tensors) == 1:
        return tensors[0]
    return _rows["stack"]([each.reshape(-1) for each in _rows["meshgrid"](list(tensors), indexing="ij")], -1)


# --- What a tensor is -------------------------------------------------------------------------------------------------


def is_tensor(obj):
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Whether the dtype is a floating-point one."""
    return input.is_floating_point()


def is_complex(input):
    """Whether the dtype is complex."""
    return input.is_complex()


def is_signed(input):
    """Whether the dtype is signed."""
    return input.dtype.is_signed


def is_same_size(input, other):
    """Whether both have the same shape."""
    return input.shape == other.shape


def is_nonzero(input):
    """Whether the only element is not 0."""
    return bool(input)


def numel(input):
    """The number of elements."""
    return input.numel()


def clone(input, *, memory_format="preserve_format"):
    """A copy, which is recorded."""
    return input.clone(memory_format=memory_format)


def detach(input):
    """The same values in the same memory, outside of every record."""
    return input.detach()


def result_type(tensor1, tensor2):
    """The dtype in which two tensors, or a tensor and a number, are added."""
    tensors = [tensor1, tensor2]
    if not any(isinstance(each, Tensor) for each in tensors):
        tensors = [_core.tensor(each) for each in tensors]
    small = [
        _rows["empty"]((1,) * min(each.ndim, 1), dtype=each.dtype, device="meta") if isinstance(each, Tensor) else each
        for each in tensors
    ]
    return _rows["add"](*small).dtype


def can_cast(from_, to):
    """May an array of the first dtype become one of the second without leaving its category?"""

    def rank(dtype):
        return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype == _core.bool else 1

    return rank(from_) <= rank(to) and (rank(from_) != 1 or to.is_signed or not from_.is_signed or rank(to) > 1)


__all__ = [name for name in dir() if not name.startswith("_") and name != "Tensor"]
_named.name_all(globals(), __all__)
_METHODS = """allclose amax amin argsort clamp clamp_ clamp_max clamp_min corrcoef cov dist div div_ equal float_power
    is_nonzero is_same_size is_signed isreal logdet median msort nanmedian nanquantile norm polygamma positive quantile
    std unique var vdot""".split()
for _name in _METHODS:
    setattr(Tensor, _name, globals()[_name])
