"""Parameters as one vector, and back."""

from ... import _core
from ..._core import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters):
    """All elements one behind the other, [count]. Derivatives go through."""
    parameters = list(parameters)
    if not parameters:
        raise ValueError("parameters_to_vector: no parameter; pass at least one")
    return _core.operators["cat"]([each.reshape(-1) for each in parameters])


def vector_to_parameters(vec, parameters):
    """Makes the parameters views of parts of the vector, whose memory they share from then on.

    Raises:
        TypeError: vec is not a tensor. ValueError: the vector has too few or too many elements.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: vec must be a Tensor, not {type(vec).__name__}")
    parameters = list(parameters)
    count = sum(each.numel() for each in parameters)
    if vec.ndim != 1 or vec.shape[0] != count:
        raise ValueError(
            f"vector_to_parameters: the vector has shape {list(vec.shape)}, and the parameters {count} elements"
        )
    place = 0
    for each in parameters:
        each.data = vec.detach()[place : place + each.numel()].view(each.shape)
        place += each.numel()
