"""What the array API standard asks of Tensor beyond PyTorch's names."""

from ._core import Tensor, _size_attribute

_shape_of = Tensor.size  # PyTorch's method

class _Size(int):
    """The number of elements, as the standard has it; called, PyTorch's method: x.size() is the shape."""

    def __call__(self, dim=None):
        return self._tensor.shape if dim is None else _shape_of(self._tensor, dim)

def _size(self):
    size = _Size(self.numel())
    size._tensor = self
    return size

def _namespace(self, *, api_version=None):
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"__array_namespace__: no version {api_version!r}; 2024.12 is the newest here")
    from . import array_api

    return array_api

def _to_device(self, device, /, *, stream=None):
    return self.to(device)

Tensor.size = _size_attribute(_size)  # x.size() calls PyTorch's method without a detour
Tensor.__array_namespace__ = _namespace
Tensor.to_device = _to_device
