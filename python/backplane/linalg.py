"""Linear algebra, by PyTorch's names: rows that begin with linalg_, and norms."""

from ._core import operators as _rows
from ._creation import eye as _eye

for _name, _row in _rows.items():
    if _name.startswith("linalg_"):
        globals()[_name[7:]] = _row
cross, diagonal, matmul, vecdot = _rows["cross"], _rows["diagonal"], _rows["matmul"], _rows["vecdot"]


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of all elements, or of those along `dim`, as of a vector."""
    return _rows["norm"](x if dtype is None else x.to(dtype), ord, dim, keepdim)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """vector_norm; of matrices where `ord` is a name, or is given with two dimensions, matrix_norm."""
    if dtype is not None:
        A = A.to(dtype)
    is_matrix = (len(dim) == 2 if isinstance(dim, (tuple, list)) else dim is None and A.ndim == 2) and ord is not None
    if isinstance(ord, str) or is_matrix:
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim)
    return _rows["norm"](A, 2 if ord is None else ord, dim, keepdim)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of matrices in two dimensions: "fro", "nuc", or one of 1, -1, 2, -2, inf and -inf."""
    names = {float("inf"): "inf", float("-inf"): "-inf"}
    name = (
        ord if isinstance(ord, str) else names.get(ord, str(int(ord)) if ord == ord and ord not in names else str(ord))
    )
    return _rows["linalg_matrix_norm"](A if dtype is None else A.to(dtype), name, dim, keepdim)


def cond(A, p=None):
    """The condition number of matrices: of their 2-norm, or of another one of matrix_norm()."""
    if p in (None, 2, -2):
        values = _rows["linalg_svdvals"](A)
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else first / last
    is_singular = _rows["linalg_slogdet"](A)[0] == 0
    unit = _eye(A.shape[-1], dtype=A.dtype, device=A.device)
    invertible = _rows["where"](is_singular[..., None, None], unit, A)
    product = matrix_norm(A, p) * matrix_norm(_rows["linalg_inv"](invertible), p)
    return _rows["where"](is_singular, float("inf"), product)


def inv_ex(A):
    """The inverse, and zeros: where there is none, inv raises."""
    return inv(A), _rows["zeros"](A.shape[:-2], dtype="int32", device=A.device)  # noqa: F821: a row's name
