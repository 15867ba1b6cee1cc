"""Linear algebra."""

from collections import namedtuple

from .. import _arranging, _core
from ._elementwise import _pair
from ._statistics import _over, _summed_dtype

_rows = _core.operators
EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = namedtuple("QRResult", "Q R")
SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = namedtuple("SVDResult", "U S Vh")


def matmul(x1, x2, /):
    """Matrix products."""
    x1, x2 = _pair("matmul", x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul: an array has no dimensions; multiply() takes such")
    return _rows["matmul"](x1, x2)


def matrix_transpose(x, /):
    """The last two dimensions swapped."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: an array of {x.ndim} dimensions has no matrices")
    return _rows["transpose"](x, -1, -2)


def tensordot(x1, x2, /, *, axes=2):
    """Products summed over axes of both."""
    return _arranging.tensordot(*_pair("tensordot", x1, x2), axes)


def vecdot(x1, x2, /, *, axis=-1):
    """Products summed along one axis; the first factor is conjugated."""
    x1, x2 = _pair("vecdot", x1, x2)
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"vecdot: axis {axis} is counted from the end, of arrays of {x1.ndim} and {x2.ndim} dimensions")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: axis {axis} has size {x1.shape[axis]} in one array, and {x2.shape[axis]} in the other")
    return _rows["vecdot"](x1, x2, axis)


def cholesky(x, /, *, upper=False):
    """The triangular factor of positive definite matrices."""
    return _rows["linalg_cholesky"](x, upper=upper)


def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of three numbers."""
    x1, x2 = _pair("cross", x1, x2)
    rank = max(x1.ndim, x2.ndim)
    x1, x2 = (each.reshape((1,) * (rank - each.ndim) + each.shape) for each in (x1, x2))
    return _rows["cross"](x1, x2, axis)


def det(x, /):
    """Determinants."""
    return _rows["linalg_det"](x)


def diagonal(x, /, *, offset=0):
    """A diagonal of the last two dimensions."""
    return _rows["diagonal"](x, offset, -2, -1)


def eigh(x, /):
    """Eigenvalues and eigenvectors of symmetric matrices."""
    return EighResult(*_rows["linalg_eigh"](x))


def eigvalsh(x, /):
    """Eigenvalues of symmetric matrices."""
    return _rows["linalg_eigvalsh"](x)


def inv(x, /):
    """Inverse matrices."""
    return _rows["linalg_inv"](x)


_NORMS = {float("inf"): "inf", float("-inf"): "-inf", 1: "1", -1: "-1", 2: "2", -2: "-2", "fro": "fro", "nuc": "nuc"}


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norms of the matrices in the last two dimensions."""
    if ord not in _NORMS:
        raise ValueError(f"matrix_norm: no norm {ord!r}")
    return _rows["linalg_matrix_norm"](x, _NORMS[ord], [-2, -1], keepdims)


def matrix_power(x, n, /):
    """Matrices to an integer power."""
    return _rows["linalg_matrix_power"](x, n)


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are above `rtol` of the largest."""
    if rtol is None:
        return _rows["linalg_matrix_rank"](x)
    values = svdvals(x)
    largest = _rows["max"](values, -1, True)
    limit = largest * (rtol.reshape((*rtol.shape, 1)) if isinstance(rtol, _core.Tensor) else rtol)
    return _rows["sum"]((values > limit).to(_core.int64), -1)


def outer(x1, x2, /):
    """All products of two vectors' elements."""
    return _rows["outer"](*_pair("outer", x1, x2))


def pinv(x, /, *, rtol=None):
    """Pseudo-inverse matrices."""
    if isinstance(rtol, _core.Tensor):
        u, s, vh = _rows["linalg_svd"](x, False)
        limit = _rows["max"](s, -1, True) * rtol.reshape((*rtol.shape, 1))
        inverse = _rows["where"](s > limit, 1 / s, _rows["zeros_like"](s)).to(x.dtype)
        return matmul(matrix_transpose(vh).conj() * inverse.unsqueeze(-2), matrix_transpose(u).conj())
    return _rows["linalg_pinv"](x, rtol=rtol)


def qr(x, /, *, mode="reduced"):
    """An orthogonal and a triangular factor."""
    return QRResult(*_rows["linalg_qr"](x, mode))


def slogdet(x, /):
    """Signs, and logarithms of the magnitudes of determinants."""
    return SlogdetResult(*_rows["linalg_slogdet"](x))


def solve(x1, x2, /):
    """The solutions y of x1 y = x2; `x2` is a vector where it has one dimension."""
    x1, x2 = _pair("solve", x1, x2)
    if x2.ndim == 1:
        return _rows["linalg_solve"](x1, x2.unsqueeze(-1)).squeeze(-1)
    shape = _rows["broadcast_tensors"]([_batch(x1), _batch(x2)])[0].shape
    return _rows["linalg_solve"](x1, x2.expand(*shape, *x2.shape[-2:]))


def _batch(x):
    """An array of the batch's shape."""
    return _rows["empty"](x.shape[:-2], device=x.device)


def svd(x, /, *, full_matrices=True):
    """Singular values and vectors."""
    return SVDResult(*_rows["linalg_svd"](x, full_matrices))


def svdvals(x, /):
    """Singular values."""
    return _rows["linalg_svdvals"](x)


def trace(x, /, *, offset=0, dtype=None):
    """The sum of a diagonal of the last two dimensions."""
    return _rows["sum"](diagonal(x, offset=offset), -1, dtype=_summed_dtype(x, dtype))


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norms of vectors along axes; with None, of all elements."""
    if ord == 0:
        real = {_core.complex64: _core.float32, _core.complex128: _core.float64}.get(x.dtype, x.dtype)
        return _over("sum", (x != 0).to(real), axis, keepdims)
    return _over("norm", x, axis, keepdims, p=ord)
