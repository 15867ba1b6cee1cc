"""Discrete Fourier transforms."""

from .. import _core

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
    places = _rows["arange"](0, n, dtype=_core.float64, device=device)
    places = places - n * (places >= (n + 1) // 2).to(_core.float64)
    return (places / (n * d)).to(dtype or _core.get_default_dtype())


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of a transform of `n` real samples that lie `d` apart."""
    places = _rows["arange"](0, n // 2 + 1, dtype=_core.float64, device=device)
    return (places / (n * d)).to(dtype or _core.get_default_dtype())


def _shifted(x, axes, back):
    axes = list(range(x.ndim)) if axes is None else ([axes] if isinstance(axes, int) else list(axes))
    shifts = [-(x.shape[each] // 2) if back else x.shape[each] // 2 for each in axes]
    return _rows["roll"](x, shifts, axes) if axes else x.clone()


def fftshift(x, /, *, axes=None):
    """The frequency 0 in the middle of `axes`."""
    return _shifted(x, axes, back=False)


def ifftshift(x, /, *, axes=None):
    """The opposite of fftshift."""
    return _shifted(x, axes, back=True)
