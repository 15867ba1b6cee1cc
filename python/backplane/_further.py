"""PyTorch's rarer functions, made of rows and of other functions."""

import math

from . import _core, _named
from ._core import Tensor, forms as _forms
from ._creation import _leaf

_rows = _core.operators
_indices = range  # Python's, since PyTorch has one of its own


# --- Numbers ----------------------------------------------------------------------------------------------------------


def round(input, *, decimals=0, out=None):
    """The nearest integers, of two the even one; with `decimals`, the nearest multiples of that power of a tenth."""
    if decimals == 0:
        return _rows["round"](input) if out is None else _rows["round"](input, out=out)
    scale = 10.0 ** abs(decimals)
    if not input.dtype.is_floating_point:
        raise ValueError(f"round: {input.dtype.name} has no decimals; leave decimals out, or call float() first")
    if decimals > 0:
        made = _rows["div"](_rows["round"](_rows["mul"](input, scale)), scale)
    else:
        made = _rows["mul"](_rows["round"](_rows["div"](input, scale)), scale)
    return made if out is None else out.copy_(made)


def _integers(name, *tensors):
    for each in tensors:
        if each.dtype.is_floating_point or each.dtype.is_complex or each.dtype == _core.bool:
            raise ValueError(f"{name}: not defined for {each.dtype.name}; give integers")


def gcd(input, other):
    """The greatest common divisor of integers. Waits for the device."""
    _integers("gcd", input, other)
    a, b = _rows["broadcast_tensors"]([_rows["abs"](input), _rows["abs"](other)])
    dtype = _core.promote_types(a.dtype, b.dtype)
    a, b = a.to(dtype).clone(), b.to(dtype).clone()
    while bool(b.any()):
        is_done = b == 0
        a, b = _rows["where"](is_done, a, b), _rows["where"](is_done, b, a % b.masked_fill(is_done, 1))
    return a


def lcm(input, other):
    """The least common multiple of integers. Waits for the device."""
    _integers("lcm", input, other)
    divisor = gcd(input, other)
    return _rows["abs"](input // divisor.masked_fill(divisor == 0, 1) * other)


def poisson(input, generator=None):
    """Draws from the Poisson distribution with each element as the rate: of small rates by counting exponential waits, of
    rates above 30 by the nearest integer of a normal number with that mean and variance."""
    if not input.dtype.is_floating_point:
        raise ValueError(f"poisson: not defined for {input.dtype.name}; call float() first")
    if bool((input < 0).any()):
        raise ValueError("poisson: a rate is negative; give rates of 0 or more")
    rates = input.detach()
    normal = _rows["randn"](rates.shape, device=rates.device, generator=generator).to(rates.dtype)
    many = (rates + normal * rates.sqrt()).round().clamp_min(0)
    few, limits = _rows["zeros_like"](rates), (-rates.clamp_max(30)).exp()
    product = _rows["ones_like"](rates)
    for _ in _indices(120):  # of rate 30, more are as rare as one in 10^30
        product = product * _rows["rand"](rates.shape, dtype=rates.dtype, device=rates.device, generator=generator)
        is_within = product > limits
        if not bool(is_within.any()):
            break
        few = few + is_within
    return _rows["where"](rates > 30, many, few)


# --- Matrices ---------------------------------------------------------------------------------------------------------


def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """beta input + alpha times the sum of the products of two batches of matrices."""
    product = _rows["matmul"](batch1, batch2).sum(0)
    return product * alpha if beta == 0 else input * beta + product * alpha


def chain_matmul(*matrices):
    """The product of matrices, in the order that takes the fewest multiplications."""
    return matrices[0] if len(matrices) == 1 else _rows["linalg_multi_dot"](list(matrices))


def vander(x, N=None, increasing=False):
    """The powers of a vector's elements as columns, the highest first unless `increasing`."""
    powers = _rows["linalg_vander"](x, N=x.shape[0] if N is None else N)
    return powers if increasing else powers.flip(-1)


def diagflat(input, offset=0):
    """A matrix with all elements of `input` along a diagonal."""
    return _rows["diag"](input.reshape(-1), offset)


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of `input` with `src` along a diagonal."""
    made = input.clone()
    made.diagonal(offset, dim1, dim2).copy_(src)
    return made


def renorm(input, p, dim, maxnorm):
    """`input` with each part along `dim` whose p-norm is above `maxnorm` scaled to it."""
    others = [i for i in _indices(input.ndim) if i != dim % input.ndim]
    norms = _rows["norm"](input, p, others, True)
    return input * _rows["where"](norms > maxnorm, maxnorm / (norms + 1e-7), _rows["ones_like"](norms))


# --- Lists of elements ------------------------------------------------------------------------------------------------


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements, without those that equal the one before; with them, where each element of `input` is found there,
    and how often each comes in a row.

    Raises:
        ValueError: `dim` is given: rows are not compared here.
    """
    if dim is not None:
        raise ValueError("unique_consecutive: slices along a dimension are not compared; leave dim out")
    flat = input.reshape(-1)
    is_first = _rows["ones"]([flat.shape[0]], dtype=_core.bool, device=input.device)
    if flat.shape[0] > 1:
        is_first[1:] = flat[1:] != flat[:-1]
    results = [flat[is_first]]
    if return_inverse:
        results.append((is_first.cumsum(0) - 1).reshape(input.shape))
    if return_counts:
        places = is_first.nonzero().reshape(-1)
        results.append(_rows["diff"](_rows["cat"]([places, places.new_full([1], flat.shape[0])])))
    return results[0] if len(results) == 1 else tuple(results)


def combinations(input, r=2, with_replacement=False):
    """[n, r]: all ways to choose `r` elements of a vector, in its order."""
    if input.ndim != 1:
        raise ValueError(f"combinations: the input has {input.ndim} dimensions; give a vector")
    import itertools

    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = list(choose(_indices(input.shape[0]), r))
    places = _core.tensor(chosen, dtype=_core.int64, device=input.device).reshape(len(chosen), r)
    return input[places]


def unravel_index(indices, shape):
    """The coordinates, a tensor for each dimension, of positions in a row-major tensor of the shape."""
    shape = [shape] if isinstance(shape, int) else list(shape)
    found = []
    for size in reversed(shape):
        found.append(indices % size)
        indices = indices // size
    return tuple(reversed(found))


def narrow_copy(input, dim, start, length):
    """A copy of narrow."""
    return input.narrow(dim, start, length).clone()


def unsafe_chunk(input, chunks, dim=0):
    """chunk."""
    return _rows["chunk"](input, chunks, dim)


def unsafe_split(tensor, split_size, dim=0):
    """split."""
    return tensor.split(split_size, dim)


def fill(input, value):
    """A tensor of `input`'s shape whose elements are all `value`."""
    return _rows["full_like"](input, value.item() if isinstance(value, Tensor) else value)


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """split."""
    return _rows["split_with_sizes"](input, split_sizes, dim)


def as_strided_scatter(input, src, size, stride, storage_offset=0):
    """A copy of `input` with `src` in the view that as_strided makes of it."""
    made = input.clone()
    made.as_strided(size, stride, storage_offset).copy_(src)
    return made


# --- Curves -----------------------------------------------------------------------------------------------------------


def cumulative_trapezoid(y, x=None, *, dx=1.0, dim=-1):
    """The integrals of `y` along `dim` by trapezoids, from the first point to each later one."""
    sums = y.narrow(dim, 1, y.shape[dim] - 1) + y.narrow(dim, 0, y.shape[dim] - 1)
    if x is None:
        return sums.cumsum(dim) * (dx / 2)
    steps = _rows["diff"](x, 1, dim if x.ndim > 1 else -1)
    if x.ndim == 1 and y.ndim > 1:
        steps = steps.reshape([-1 if i == dim % y.ndim else 1 for i in _indices(y.ndim)])
    return (sums * steps).cumsum(dim) / 2


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """Along each of `dim`, by default all, the slopes by differences of second order inside, and of `edge_order` at the
    edges. `spacing` is the distance of two points, or for each dimension a distance or a vector of coordinates."""
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order is {edge_order}; it may be 1 or 2")
    dims = _indices(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = [each % input.ndim for each in dims]
    spacing = 1 if spacing is None else spacing
    spacings = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise ValueError(f"gradient: {len(spacings)} spacings for {len(dims)} dimensions; give one for each")
    return [_slope(input, each, step, edge_order) for each, step in zip(dims, spacings)]


def _slope(input, dim, spacing, edge_order):
    size = input.shape[dim]
    if size <= edge_order:
        raise ValueError(f"gradient: dimension {dim} has size {size}, and edge_order {edge_order} needs more")
    y = input.movedim(dim, -1)
    if isinstance(spacing, Tensor) and spacing.ndim == 1:
        steps = _rows["diff"](spacing)
    else:
        steps = _rows["full"]([size - 1], float(spacing), dtype=y.dtype if y.dtype.is_floating_point else None)
        steps = steps.to(input.device)
    slopes = _rows["diff"](y) / steps
    before, after = steps[:-1], steps[1:]
    inside = (slopes[..., :-1] * after + slopes[..., 1:] * before) / (before + after)
    first, last = slopes[..., :1], slopes[..., -1:]
    if edge_order == 2:  # a parabola's slope moves as far from the first middle to the edge as back to the point
        first, last = 2 * first - inside[..., :1], 2 * last - inside[..., -1:]
    return _rows["cat"]([first, inside, last], -1).movedim(-1, dim)


# --- Batches ----------------------------------------------------------------------------------------------------------


def vmap(func, in_dims=0, out_dims=0, randomness="same"):
    """`func`, which is written for one element, for a whole batch: each operator is called once.

    Args:
        func: a function of tensors, and of others that all elements share, which returns a tensor or a tuple of them.
        in_dims: where each argument has its batch; None, or an argument that is not a tensor: all elements share it.
        out_dims: where each result gets its batch.
        randomness: "same", since all elements draw the same numbers.
    """
    if not callable(func):
        raise TypeError(f"vmap: give a function, not {type(func).__name__}")
    if randomness != "same":
        raise ValueError(f"vmap: randomness is {randomness!r}; all elements draw the same numbers here: 'same'")

    def call(*args, **keywords):
        dims = list(in_dims) if isinstance(in_dims, (tuple, list)) else [in_dims] * len(args)
        if len(dims) != len(args):
            raise ValueError(f"vmap: {len(dims)} in_dims for {len(args)} arguments; give one for each")
        dims = [dim if isinstance(arg, Tensor) else None for dim, arg in zip(dims, args)]
        is_tuple = True

        def one(*given):
            nonlocal is_tuple
            made = func(*given, **keywords)
            is_tuple = isinstance(made, (tuple, list))
            return made

        results = _core._vmap(one, args, dims)
        places = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * len(results)
        if len(places) != len(results):
            raise ValueError(f"vmap: {len(places)} out_dims for {len(results)} results; give one for each")
        results = tuple(each if dim == 0 else each.movedim(0, dim) for each, dim in zip(results, places))
        return results if is_tuple else results[0]

    return call


# --- Creation ---------------------------------------------------------------------------------------------------------


def bartlett_window(window_length, periodic=True, *, dtype=None, device=None, requires_grad=False):
    """[window_length]: a triangle from 0 to 1 and back; a periodic one ends one step before it would start again."""
    return _leaf(_forms.window("bartlett", window_length, periodic, 0, 0, dtype, device), requires_grad)


def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, device=None, requires_grad=False):
    """[window_length]: i0(beta sqrt(1 - x^2)) / i0(beta), x from -1 to 1."""
    return _leaf(_forms.window("kaiser", window_length, periodic, 0, beta, dtype, device), requires_grad)


def empty_strided(size, stride, *, dtype=None, device=None, requires_grad=False):
    """Without values, with `stride` elements from one to the next along each dimension."""
    size, stride = list(size), list(stride)
    if len(size) != len(stride) or any(each < 0 for each in size + stride):
        raise ValueError(f"empty_strided: size {size} and stride {stride}; give as many of both, none negative")
    count = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride))
    made = _rows["empty"]([count], dtype=dtype, device=device).as_strided(size, stride)
    return _leaf(made.detach(), requires_grad)


def range(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False):
    """Numbers in equal steps from `start` to `end`, both of them among these; arange leaves the end out."""
    start, end = (0, start) if end is None else (start, end)
    if step == 0 or (end - start) / step < 0:
        raise ValueError(f"range: from {start} to {end} by {step} there is nothing; change the step's sign")
    count = math.floor((end - start) / step) + 1
    values = _rows["arange"](0, count, 1, dtype=_core.float64) * step + start
    return _leaf(values.to(device, dtype or _core.get_default_dtype()), requires_grad)


__all__ = """addbmm as_strided_scatter bartlett_window chain_matmul combinations cumulative_trapezoid diagflat diagonal_scatter
    empty_strided fill gcd gradient kaiser_window lcm narrow_copy poisson range renorm round unique_consecutive
    unravel_index unsafe_chunk unsafe_split
    unsafe_split_with_sizes vander vmap""".split()
_named.name_all(globals(), __all__)
_METHODS = """addbmm as_strided_scatter diagflat diagonal_scatter gcd lcm narrow_copy renorm round unique_consecutive
    unsafe_chunk unsafe_split unsafe_split_with_sizes""".split()
for _name in _METHODS:
    setattr(Tensor, _name, globals()[_name])
