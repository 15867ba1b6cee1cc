"""Parametrizations: weights of a given length, of spectral norm 1, or orthogonal."""

from ... import _core
from ..._core import Tensor
from ...autograd import no_grad
from ..convolution import _ConvTranspose
from ..module import Module
from .parametrize import register_parametrization

_rows = _core.operators

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """original0 * original1 / |original1|, with the 2-norm over all dimensions but one."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, length, direction):
        return _rows["weight_norm"](direction, length, self.dim)

    def right_inverse(self, value):
        if not -1 <= self.dim < value.ndim:
            raise ValueError(
                f"weight_norm: there is no dimension {self.dim} in shape {list(value.shape)}; pass one of its dimensions, or -1 for all"
            )
        if self.dim == -1:
            return _rows["norm"](value), value
        others = [i for i in range(value.ndim) if i != self.dim]
        return (_rows["norm"](value, 2, others, True) if others else value.abs()), value


def weight_norm(module, name="weight", dim=0):
    """The weight is a length, for each index of `dim`, times a direction (Salimans and Kingma, 2016). None or -1: one
    length.

    Returns the module, whose parameters are parametrizations.<name>.original0, the length, and original1.
    """
    return register_parametrization(module, name, _WeightNorm(-1 if dim is None else dim), unsafe=True)


class _SpectralNorm(Module):
    """The original divided by its largest singular value; each call in training betters the estimate of its vectors."""

    def __init__(self, weight, n_power_iterations, dim, eps):
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise ValueError(f"spectral_norm: no dimension {dim} of shape {list(weight.shape)}")
        if n_power_iterations <= 0:
            raise ValueError(f"spectral_norm: n_power_iterations is {n_power_iterations}; pass at least one")
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            with no_grad():
                matrix = self._matrix(weight.detach())
                for name, size in (("_u", matrix.shape[0]), ("_v", matrix.shape[1])):
                    drawn = _rows["randn"]([size], dtype=matrix.dtype, device=matrix.device)
                    self.register_buffer(name, _rows["normalize"](drawn, 2.0, 0, eps))
                self._iterate(matrix, 15)

    def _matrix(self, weight):
        return (weight if self.dim == 0 else weight.movedim([self.dim], [0])).flatten(1)

    def _iterate(self, matrix, times):
        for _ in range(times):
            self._u.copy_(_rows["normalize"](matrix.mv(self._v), 2.0, 0, self.eps))
            self._v.copy_(_rows["normalize"](matrix.transpose(0, 1).mv(self._u), 2.0, 0, self.eps))

    def forward(self, weight):
        if weight.ndim == 1:
            return _rows["normalize"](weight, 2.0, 0, self.eps)
        matrix = self._matrix(weight)
        if self.training:
            with no_grad():
                self._iterate(matrix.detach(), self.n_power_iterations)
        # Copies, since the next call writes the buffers before this one's backward may have read them.
        return weight / self._u.clone().dot(matrix.mv(self._v.clone()))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The weight is divided by its largest singular value, seen as a matrix of size(dim) rows (Miyato et al., 2018).

    Without `dim`, 1 for transposed convolutions and 0 else. Returns the module.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"spectral_norm: {type(module).__name__} has no parameter or buffer '{name}'")
    dim = (1 if isinstance(module, _ConvTranspose) else 0) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows if it has fewer of these."""

    def __init__(self, weight, orthogonal_map, use_trivialization):
        super().__init__()
        if weight.ndim < 2:
            raise ValueError(f"orthogonal: the member has shape {list(weight.shape)}; pass matrices")
        is_square = weight.shape[-1] == weight.shape[-2] or weight.is_complex()
        self.orthogonal_map = orthogonal_map or ("matrix_exp" if is_square else "householder")
        if self.orthogonal_map not in ("matrix_exp", "cayley", "householder"):
            raise ValueError(f"orthogonal: no map {orthogonal_map!r}; use 'matrix_exp', 'cayley' or 'householder'")
        if self.orthogonal_map == "householder" and weight.is_complex():
            raise ValueError("orthogonal: the map 'householder' is of real tensors; use 'matrix_exp' or 'cayley'")
        base = None
        if use_trivialization:
            longer = max(weight.shape[-2:])
            base = _rows["empty"]([*weight.shape[:-2], longer, longer], dtype=weight.dtype, device=weight.device)
        self.register_buffer("base", base)

    def forward(self, original):
        is_wide = original.shape[-2] < original.shape[-1]
        x = original.transpose(-2, -1) if is_wide else original
        rows, columns = x.shape[-2:]
        if self.orthogonal_map == "householder":
            below = x.tril(-1)
            tau = 2.0 / ((below * below).sum([-2]) + 1)
            q = _reflected(below, tau) * x.diagonal(0, -2, -1).trunc().unsqueeze(-2)
        else:
            q = self._of_skew(x.tril(), rows, columns)
        if self.base is not None:
            q = self.base.matmul(q)
        return q.transpose(-2, -1) if is_wide else q

    def _of_skew(self, lower, rows, columns):
        if rows != columns:
            lower = _rows["constant_pad_nd"](lower, [0, rows - columns])
        skew = lower - lower.transpose(-2, -1).conj()
        if self.orthogonal_map == "matrix_exp":
            q = _rows["linalg_matrix_exp"](skew)
        else:
            unit = _identity(rows, skew)
            q = _rows["linalg_solve"](unit - 0.5 * skew, unit + 0.5 * skew)
        return q if rows == columns else q.narrow(-1, 0, columns)

    def right_inverse(self, value):
        """With a base, that becomes the value, and the original what gives the identity."""
        is_wide = value.shape[-2] < value.shape[-1]
        x = value.transpose(-2, -1) if is_wide else value
        rows, columns = x.shape[-2:]
        if self.base is None:
            if self.orthogonal_map != "householder":
                return value
            reflectors = _reflectors(x)
            return reflectors.transpose(-2, -1) if is_wide else reflectors
        if rows != columns:
            drawn = _rows["randn"]([*x.shape[:-1], rows - columns], dtype=x.dtype, device=x.device)
            x = _rows["cat"]([x, drawn], -1)
        gram = x.transpose(-2, -1).conj().matmul(x)
        if rows != columns or not (gram - _identity(rows, x)).abs().max().item() < 1e-6:
            q, r = _rows["linalg_qr"](x)
            x = q * r.diagonal(0, -2, -1).sgn().unsqueeze(-2)
        self.base.copy_(x)
        return -_eye(value.shape[-2], value.shape[-1], value).expand(value.shape).clone()


def _eye(rows, columns, like):
    eye = _rows["arange"](0, rows, device=like.device).unsqueeze(1) == _rows["arange"](0, columns, device=like.device)
    return eye.to(like.dtype)


def _identity(size, like):
    return _eye(size, size, like)


def _reflected(reflectors, tau):
    """The first columns of the product of reflections I - tau v v', where v is a column with 1 at its own place."""
    rows, columns = reflectors.shape[-2:]
    unit = _eye(rows, columns, reflectors)
    vectors, product = reflectors.tril(-1) + unit, unit.expand(reflectors.shape)
    for i in reversed(range(columns)):
        v = vectors.narrow(-1, i, 1)
        product = product - tau.narrow(-1, i, 1).unsqueeze(-1) * v.matmul(v.transpose(-2, -1).matmul(product))
    return product


def _reflectors(matrix):
    """The reflections of a QR decomposition, and on the diagonal the signs by which their product gives columns that
    were orthonormal.
    """
    rows, columns = matrix.shape[-2:]
    rest, reflectors = matrix.clone(), []
    where, zero = _rows["where"], _rows["zeros_like"]
    for i in range(columns):
        below = rest.narrow(-2, i, rows - i)
        column = below.narrow(-1, i, 1)
        first, tail = column.narrow(-2, 0, 1).clone(), column.narrow(-2, 1, rows - i - 1).clone()
        squares = (tail * tail).sum([-2], True)
        is_done = squares == 0
        image = where(is_done, first, -(first * first + squares).sqrt().copysign(first))
        tau = where(is_done, zero(first), (image - first) / image)
        direction = where(is_done, zero(tail), tail / (first - image))
        v = _rows["cat"]([_rows["ones_like"](first), direction], -2)
        diagonal = where(is_done, -image.sign(), image.sign())
        above = zero(rest.narrow(-1, i, 1)).narrow(-2, 0, i)
        reflectors.append(_rows["cat"]([above, diagonal, direction], -2))
        below.copy_(below - tau * v.matmul(v.transpose(-2, -1).matmul(below)))
    return _rows["cat"](reflectors, -1)


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """The weight is a matrix with orthonormal columns, or rows if it has fewer of these; so is each of a batch.

    Args:
        orthogonal_map: "matrix_exp" (Lezcano-Casado and Martinez-Rubio, 2019), "cayley", or "householder", a product of
            reflections. By default the first of square matrices, and the last of others.
        use_trivialization: begins at the present value, kept in the buffer `base`. Without it only "householder" begins
            there; of the other two the present value is the original.

    Returns the module.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"orthogonal: {type(module).__name__} has no parameter or buffer '{name}'")
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
