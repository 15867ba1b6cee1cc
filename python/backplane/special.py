"""Special functions, by the names of PyTorch's torch.special: rows of the operator table."""

from ._core import operators as _rows

_OTHERS = {"expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma", "multigammaln": "multigammaln"}
_NAMES = """airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
    chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expm1 gammainc gammaincc
    hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l legendre_polynomial_p log1p
    log_ndtr log_softmax logit logsumexp modified_bessel_i0 modified_bessel_i1 modified_bessel_k0
    modified_bessel_k1 ndtr ndtri polygamma round scaled_modified_bessel_k0 scaled_modified_bessel_k1
    shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy zeta""".split()
for _name in _NAMES:
    if _name in _rows:
        globals()[_name] = _rows[_name]
for _name, _row in _OTHERS.items():
    globals()[_name] = _rows[_row]
