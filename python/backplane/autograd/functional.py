"""Derivatives of functions of tensors: jacobian, hessian, and their products with vectors, as of torch.autograd.functional."""

from .. import _core, _named
from .._core import Tensor, grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _tuple(given, what):
    """The tensors, and whether they came as a tuple."""
    is_tuple = isinstance(given, (tuple, list))
    tensors = tuple(given) if is_tuple else (given,)
    for each in tensors:
        if not isinstance(each, Tensor):
            raise TypeError(f"{what} must be a Tensor or a tuple of Tensors, not {type(each).__name__}")
    return tensors, is_tuple


def _called(name, func, inputs, create_graph):
    """Leaves for the inputs, and what the function makes of them."""
    tensors, is_tuple = _tuple(inputs, f"{name}: inputs")
    with _recording():
        leaves = tuple(
            each.view_as(each) if create_graph and each.requires_grad else each.detach().requires_grad_()
            for each in tensors
        )
        outputs, is_output_tuple = _tuple(func(*leaves), f"{name}: what the function returns")
    return leaves, is_tuple, outputs, is_output_tuple


def _recording():
    from . import enable_grad

    return enable_grad()


def _vectors(name, v, like, argument="v"):
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise ValueError(f"{name}: {argument} may only be left out where there is one number; give a tensor of its shape")
        return tuple(_core.operators["ones_like"](each.detach()) for each in like)
    vectors, _ = _tuple(v, f"{name}: {argument}")
    if [tuple(each.shape) for each in vectors] != [tuple(each.shape) for each in like]:
        shapes = ([list(each.shape) for each in given] for given in (vectors, like))
        raise ValueError("{}: {} has the shapes {}, and {} are needed".format(name, argument, *shapes))
    return vectors


def _derivatives(name, outputs, inputs, weights, strict, create_graph, retain_graph=None):
    """By each input; zeros where none comes back."""
    # What does not depend on an input has no record to go back through.
    recorded = [(each, weight) for each, weight in zip(outputs, weights) if each.requires_grad]
    found = [None] * len(inputs)
    if recorded:
        found = grad(
            [each for each, _ in recorded],
            inputs,
            [weight for _, weight in recorded],
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
    if strict and any(each is None for each in found):
        place = next(i for i, each in enumerate(found) if each is None)
        raise ValueError(f"{name}: the function does not depend on input {place}; with strict=False its derivative is 0")
    return tuple(_core.operators["zeros_like"](x) if each is None else each for each, x in zip(found, inputs))


def _shown(tensors, is_tuple, create_graph=True):
    if not create_graph:
        tensors = tuple(each.detach() for each in tensors)
    return tuple(tensors) if is_tuple else tensors[0]



def _scalar(name, outputs, is_tuple):
    if is_tuple or outputs[0].numel() != 1:
        raise ValueError(f"{name}: the function must return one Tensor of one number")


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """What `func` makes of the inputs, and the product of a vector with its Jacobian.

    Args:
        func: a function of tensors, which returns one or several.
        inputs: a tensor, or a tuple of them.
        v: of the shapes of the outputs; may be left out for one number.
        create_graph: record the products, for further derivatives.
        strict: raise where an output does not depend on an input, whose derivative is 0 otherwise.
    """
    leaves, is_tuple, outputs, is_output_tuple = _called("vjp", func, inputs, create_graph)
    vectors = _vectors("vjp", v, outputs)
    with _recording():
        products = _derivatives("vjp", outputs, leaves, vectors, strict, create_graph)
    return _shown(outputs, is_output_tuple, create_graph), _shown(products, is_tuple, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """What `func` makes of the inputs, and the product of its Jacobian with a vector `v` of the inputs' shapes.

    Computed by the derivative of vjp by its vector, since that is linear in it.
    """
    leaves, _, outputs, is_output_tuple = _called("jvp", func, inputs, create_graph)
    vectors = _vectors("jvp", v, leaves)
    with _recording():
        weights = tuple(_core.operators["zeros_like"](each).requires_grad_() for each in outputs)
        products = _derivatives("jvp", outputs, leaves, weights, strict, True)
        found = _derivatives("jvp", products, weights, vectors, False, create_graph)
    return _shown(outputs, is_output_tuple, create_graph), _shown(found, is_output_tuple, create_graph)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The derivatives of all elements of the outputs by all of the inputs: for each output and input a tensor whose
    shape is the output's and then the input's.

    A pass backward for each element of the outputs; `vectorize` and `strategy` are PyTorch's, and change nothing.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"jacobian: strategy is {strategy!r}; it may be 'reverse-mode' or 'forward-mode'")
    leaves, is_tuple, outputs, is_output_tuple = _called("jacobian", func, inputs, create_graph)
    parts = []
    with _recording():
        for output in outputs:
            rows = []
            for place in range(output.numel()):
                weight = _core.operators["zeros_like"](output.detach()).reshape(-1)
                weight[place] = 1
                weight = weight.reshape(output.shape)
                rows.append(_derivatives("jacobian", [output], leaves, [weight], strict, create_graph, True))
            parts.append([
                _core.operators["stack"]([row[i] for row in rows]).reshape((*output.shape, *leaf.shape))
                if rows else leaf.new_zeros((*output.shape, *leaf.shape))
                for i, leaf in enumerate(leaves)
            ])  # fmt: skip
    return _shown([_shown(each, is_tuple, create_graph) for each in parts], is_output_tuple)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function that returns one number: for each two inputs a tensor whose shape is that of
    the first and then that of the second."""
    tensors, is_tuple = _tuple(inputs, "hessian: inputs")

    def gradients(*given):
        leaves, _, outputs, is_output_tuple = _called("hessian", func, given, True)
        _scalar("hessian", outputs, is_output_tuple)
        return _derivatives(
            "hessian", outputs, leaves, (_core.operators["ones_like"](outputs[0].detach()),), strict, True
        )

    found = jacobian(gradients, tensors, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if is_tuple else found[0][0]


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """What `func`, which returns one number, makes of the inputs, and the product of a vector `v` of the inputs' shapes
    with its Hessian."""
    leaves, is_tuple, outputs, is_output_tuple = _called("vhp", func, inputs, create_graph)
    _scalar("vhp", outputs, is_output_tuple)
    vectors = _vectors("vhp", v, leaves)
    with _recording():
        ones = (_core.operators["ones_like"](outputs[0].detach()),)
        gradients = _derivatives("vhp", outputs, leaves, ones, strict, True)
        products = _derivatives("vhp", gradients, leaves, vectors, strict, create_graph)
    return _shown(outputs, False, create_graph), _shown(products, is_tuple, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """vhp, whose result is the same, since second derivatives that are continuous are symmetric."""
    return vhp(func, inputs, v, create_graph, strict)


_named.name_all(globals(), __all__)
