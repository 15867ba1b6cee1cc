"""Derivatives of functions of tensors: jacobian, hessian, and their products with vectors, as of torch.autograd.functional."""

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from .._types import Bool, Str

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

def vjp(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    v: Tensor | Sequence[Tensor] | None = None,
    create_graph: Bool = False,
    strict: Bool = False,
) -> Any:
    """What `func` makes of the inputs, and the product of a vector with its Jacobian.

    Args:
        func: a function of tensors, which returns one or several.
        inputs: a tensor, or a tuple of them.
        v: of the shapes of the outputs; may be left out for one number.
        create_graph: record the products, for further derivatives.
        strict: raise where an output does not depend on an input, whose derivative is 0 otherwise.
    """

def jvp(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    v: Tensor | Sequence[Tensor] | None = None,
    create_graph: Bool = False,
    strict: Bool = False,
) -> Any:
    """What `func` makes of the inputs, and the product of its Jacobian with a vector `v` of the inputs' shapes.

    Computed by the derivative of vjp by its vector, since that is linear in it.
    """

def jacobian(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    create_graph: Bool = False,
    strict: Bool = False,
    vectorize: Bool = False,
    strategy: Str = 'reverse-mode',
) -> Any:
    """The derivatives of all elements of the outputs by all of the inputs: for each output and input a tensor whose
    shape is the output's and then the input's.

    A pass backward for each element of the outputs; `vectorize` and `strategy` are PyTorch's, and change nothing.
    """

def hessian(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    create_graph: Bool = False,
    strict: Bool = False,
    vectorize: Bool = False,
    outer_jacobian_strategy: Str = 'reverse-mode',
) -> Any:
    """The second derivatives of a function that returns one number: for each two inputs a tensor whose shape is that of
    the first and then that of the second."""

def vhp(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    v: Tensor | Sequence[Tensor] | None = None,
    create_graph: Bool = False,
    strict: Bool = False,
) -> Any:
    """What `func`, which returns one number, makes of the inputs, and the product of a vector `v` of the inputs' shapes
    with its Hessian."""

def hvp(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    v: Tensor | Sequence[Tensor] | None = None,
    create_graph: Bool = False,
    strict: Bool = False,
) -> Any:
    """vhp, whose result is the same, since second derivatives that are continuous are symmetric."""
