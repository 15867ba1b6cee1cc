"""New tensors by PyTorch's names, made of several rows or of other forms of one; and numbers drawn into tensors."""

import math

from . import _core, _named
from ._core import Tensor, forms as _forms

_rows = _core.operators


def _leaf(made, requires_grad):
    return made.requires_grad_() if requires_grad else made


def eye(n, m=None, *, dtype=None, device=None, requires_grad=False):
    """[n, m], by default [n, n]: zeros with ones where both indices are equal."""
    return _leaf(_forms.eye(n, m, dtype, device), requires_grad)


def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    """`steps` numbers in equal steps from `start` to `end`, both of them among these."""
    return _leaf(_forms.linspace(start, end, steps, dtype, device), requires_grad)


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    """`base` to the powers of linspace(start, end, steps)."""
    powers = _forms.linspace(start, end, steps, _core.float64, device)
    return _leaf(_rows["pow"](float(base), powers).to(dtype or _core.get_default_dtype()), requires_grad)


def hann_window(window_length, periodic=True, *, dtype=None, device=None, requires_grad=False):
    """[window_length]: a raised cosine; a periodic one ends one step before it would start again."""
    return _leaf(_forms.window("hann", window_length, periodic, 0, 0, dtype, device), requires_grad)


def hamming_window(
    window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, device=None, requires_grad=False
):
    """[window_length]: alpha - beta cos(2 pi i / n)."""
    return _leaf(_forms.window("hamming", window_length, periodic, alpha, beta, dtype, device), requires_grad)


def blackman_window(window_length, periodic=True, *, dtype=None, device=None, requires_grad=False):
    """[window_length]: 0.42 - 0.5 cos(2 pi i / n) + 0.08 cos(4 pi i / n)."""
    return _leaf(_forms.window("blackman", window_length, periodic, 0, 0, dtype, device), requires_grad)


def mel_weight_matrix(
    num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz, *, dtype=None, device=None
):
    """[dft_length / 2 + 1, num_mel_bins]: triangular windows in equal steps of the mel scale, as ONNX's
    MelWeightMatrix."""
    return _forms.mel_weight_matrix(
        num_mel_bins, dft_length, sample_rate, float(lower_edge_hertz), float(upper_edge_hertz), dtype, device
    )


def normal(mean, std=1.0, size=None, *, generator=None, dtype=None, device=None, requires_grad=False):
    """Normal numbers: of two numbers and a size, or for each element of tensors `mean` and `std`."""
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        like = mean if isinstance(mean, Tensor) else std
        mean, std = (each if isinstance(each, Tensor) else _rows["full_like"](like, each) for each in (mean, std))
        return _rows["normal"](mean, std, generator=generator)
    if size is None:
        raise TypeError("normal: give a size, or a tensor of means or deviations")
    return _leaf(_forms.normal(float(mean), float(std), list(size), dtype, device, generator), requires_grad)


def _like(row):
    def make(input, *, dtype=None, device=None, requires_grad=False, **options):
        return _rows[row](
            input.shape,
            dtype=dtype or input.dtype,
            device=device or input.device,
            requires_grad=requires_grad,
            **options,
        )

    make.__name__ = make.__qualname__ = f"{row}_like"
    make.__doc__ = f"{row} of `input`'s shape, and by default of its dtype and device."
    return make


rand_like, randn_like = _like("rand"), _like("randn")


def randint_like(input, low, high=None, *, dtype=None, device=None, requires_grad=False):
    """Integers from `low`, by default 0, up to `high`, without it, of `input`'s shape."""
    low, high = (0, low) if high is None else (low, high)
    return _rows["randint"](
        low, high, input.shape, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad
    )


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """A tensor of the values, over the same memory if possible, unless `copy`.

    Raises:
        ValueError: a copy is needed, and `copy` is False.
    """
    if copy:
        return _core.tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    made = _core.as_tensor(obj, dtype, device)
    if copy is False and not hasattr(obj, "__dlpack__"):
        raise ValueError(f"asarray: {type(obj).__name__} has no memory that a tensor could share")
    if copy is False and isinstance(obj, Tensor) and not made.shares_storage(obj):
        raise ValueError("asarray: another dtype or device takes a copy")
    return _leaf(made, requires_grad)


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A tensor without dimensions, by default of the default dtype."""
    return _core.tensor(s, dtype=dtype or _core.get_default_dtype(), device=device, requires_grad=requires_grad)


def complex(real, imag):
    """real + i imag of two tensors of one shape, float32 or float64."""
    if real.dtype != imag.dtype:
        raise ValueError(f"complex: real is {real.dtype.name} and imag is {imag.dtype.name}; cast one of them")
    return _rows["view_as_complex"](_rows["stack"](_rows["broadcast_tensors"]([real, imag]), -1))


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A tensor of the bytes of an object that has a buffer; a copy of them, from `offset` on.

    Raises:
        ValueError: there are not so many.
    """
    raw = bytes(memoryview(buffer).cast("B")[offset:])
    count = len(raw) // dtype.itemsize if count < 0 else count
    if count * dtype.itemsize > len(raw):
        raise ValueError(
            f"frombuffer: {count} of {dtype.name} need {count * dtype.itemsize} bytes, and there are {len(raw)}"
        )
    return _leaf(_core.tensor_of_bytes(raw[: count * dtype.itemsize], dtype, (count,)), requires_grad)


def tril_indices(row, col, offset=0, *, dtype=None, device=None):
    """[2, n]: rows and columns of the lower triangle of a matrix [row, col]."""
    return _triangle("tril", row, col, offset, dtype, device)


def triu_indices(row, col, offset=0, *, dtype=None, device=None):
    """[2, n]: rows and columns of the upper triangle of a matrix [row, col]."""
    return _triangle("triu", row, col, offset, dtype, device)


def _triangle(part, row, col, offset, dtype, device):
    places = _rows["nonzero"](
        _rows[part](_rows["ones"]([row, col], dtype=_core.bool, device=device), offset)
    ).T.contiguous()
    return places.to(dtype or _core.int64)


# --- Drawing into a tensor --------------------------------------------------------------------------------------------


def uniform_(self, from_=0.0, to=1.0, *, generator=None, **keywords):
    """Draws numbers from `from` up to `to` into the tensor."""
    return _forms.uniform_(self, float(keywords.pop("from", from_)), float(to), generator, **keywords)


def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Draws normal numbers into the tensor."""
    return _forms.normal_(self, float(mean), float(std), generator)


def bernoulli_(self, p=0.5, *, generator=None):
    """Draws 1 with probability `p`, else 0, into the tensor; a tensor `p` has one for each element."""
    if isinstance(p, Tensor):
        return self.copy_(_rows["bernoulli"](p.expand(self.shape), generator=generator))
    return _forms.bernoulli_(self, float(p), generator)


def exponential_(self, lambd=1.0, *, generator=None):
    """Draws from the exponential distribution with rate `lambd` into the tensor."""
    return _forms.exponential_(self, float(lambd), generator)


# Up to which power of two all integers are numbers of the dtype.
_EXACT_BITS = {_core.float16: 11, _core.bfloat16: 8, _core.float32: 24, _core.float64: 53, _core.bool: 1}


def random_(self, from_=0, to=None, *, generator=None):
    """Draws integers from `from_` up to `to`, without it, into the tensor; by default all that the dtype counts
    exactly."""
    if to is None:
        bits = _EXACT_BITS.get(self.dtype, min(63, self.itemsize * 8 - self.dtype.is_signed))
        from_, to = (0, from_) if from_ else (0, min(2**bits, 2**63 - 1))
    return self.copy_(
        _rows["randint"](from_, to, self.shape, dtype=_core.int64, device=self.device, generator=generator)
    )


pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None

__all__ = [name for name in dir() if not name.startswith("_") and name not in ("math", "Tensor")]
_named.name_all(globals(), __all__)
for _name in ("bernoulli_", "exponential_", "normal_", "random_", "uniform_"):
    setattr(Tensor, _name, globals()[_name])
