"""What this namespace can do, as the standard asks."""

from .. import _core
from . import _dtypes


class Info:
    """What __array_namespace_info__ gives."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": _core.max_rank}

    def default_device(self):
        device = _core.get_default_device()
        return _core.device("cpu:0") if device is None else device

    def default_dtypes(self, *, device=None):
        real = _core.get_default_dtype()
        complexes = {_core.float64: _core.complex128}
        return {"real floating": real, "complex floating": complexes.get(real, _core.complex64), "integral": _core.int64,
                "indexing": _core.int64}

    def dtypes(self, *, device=None, kind=None):
        names = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
                 "complex64", "complex128")
        all_of_them = {name: getattr(_core, name) for name in names}
        if kind is None:
            return all_of_them
        return {name: dtype for name, dtype in all_of_them.items() if _dtypes.isdtype(dtype, kind)}

    def devices(self):
        return _core.devices()


def __array_namespace_info__():
    """Capabilities, dtypes and devices of this namespace."""
    return Info()
