"""Discrete Fourier transforms, by PyTorch's names: rows that begin with fft_, frequencies and shifts."""

from ._core import forms as _forms, operators as _rows

for _name, _row in _rows.items():
    if _name.startswith("fft_") and _name not in ("fft_c2c", "fft_r2c", "fft_c2r"):
        globals()[_name[4:]] = _row


def fftfreq(n, d=1.0, *, dtype=None, device=None):
    """[n]: the frequencies of a transform of n samples that lie `d` apart."""
    return _forms.frequencies(False, n, float(d), dtype, device)


def rfftfreq(n, d=1.0, *, dtype=None, device=None):
    """[n / 2 + 1]: the frequencies of a transform of n real samples that lie `d` apart."""
    return _forms.frequencies(True, n, float(d), dtype, device)


def fftshift(input, dim=None):
    """The frequency 0 to the middle of `dim`, one or several, by default all."""
    return _forms.fftshift(input, dim)


def ifftshift(input, dim=None):
    """Back from fftshift."""
    return _forms.ifftshift(input, dim)


_BACK = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}  # whose scale the inverse has


def _inverse_norm(name, norm):
    if norm not in _BACK:
        raise ValueError(f"{name}: norm is {norm!r}; it may be 'forward', 'backward' or 'ortho'")
    return _BACK[norm]


def hfftn(input, s=None, dim=None, norm=None):
    """The real transform of a half of a Hermitian signal over `dim`, by default all; the last one is half as long."""
    return _rows["fft_irfftn"](_rows["conj"](input), s, dim, _inverse_norm("hfftn", norm))


def ihfftn(input, s=None, dim=None, norm=None):
    """Back from hfftn."""
    return _rows["conj"](_rows["fft_rfftn"](input, s, dim, _inverse_norm("ihfftn", norm)))


def hfft2(input, s=None, dim=(-2, -1), norm=None):
    """hfftn over two dimensions."""
    return hfftn(input, s, dim, norm)


def ihfft2(input, s=None, dim=(-2, -1), norm=None):
    """Back from hfft2."""
    return ihfftn(input, s, dim, norm)
