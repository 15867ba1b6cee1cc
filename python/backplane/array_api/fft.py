"""Discrete Fourier transforms."""

from .. import _core, fft as _fft

_rows = _core.operators


def _one(name):
    function = _rows["fft_" + name]

    def call(x, /, *, n=None, axis=-1, norm="backward"):
        return function(x, n, axis, norm)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


def _many(name):
    function = _rows["fft_" + name]

    def call(x, /, *, s=None, axes=None, norm="backward"):
        return function(x, s, axes, norm)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


fft, ifft, rfft, irfft, hfft, ihfft = map(_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fftn, ifftn, rfftn, irfftn = map(_many, ("fftn", "ifftn", "rfftn", "irfftn"))


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of a transform of `n` samples that lie `d` apart."""
    return _fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of a transform of `n` real samples that lie `d` apart."""
    return _fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x, /, *, axes=None):
    """The frequency 0 in the middle of `axes`."""
    return _fft.fftshift(x, axes)


def ifftshift(x, /, *, axes=None):
    """The opposite of fftshift."""
    return _fft.ifftshift(x, axes)
