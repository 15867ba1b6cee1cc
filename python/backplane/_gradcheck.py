"""Compares derivatives with differences of values."""

from . import _core
from ._core import Tensor, grad

_rows = _core.operators


def _floating(values):
    return [
        each for each in values if isinstance(each, Tensor) and (each.dtype.is_floating_point or each.dtype.is_complex)
    ]


def _outputs(function, inputs):
    found = function(*inputs)
    return [each for each in _floating(found if isinstance(found, (tuple, list)) else [found])]


def _parts(tensor):
    """Its numbers in one dimension, those of complex ones as pairs."""
    flat = tensor.detach().reshape(-1)
    return (_rows["view_as_real"](flat).reshape(-1) if flat.dtype.is_complex else flat).tolist()


def _numerical(function, inputs, place, eps):
    """For each real number of an input, the derivatives of all numbers of all outputs by it."""
    original = inputs[place].detach()
    columns = []
    for i in range(original.numel()):
        for step in (eps, eps * 1j) if original.dtype.is_complex else (eps,):
            found = []
            for sign in (1, -1):
                moved = original.clone().contiguous()
                flat = moved.view(-1)
                flat[i] = flat[i].item() + sign * step
                given = list(inputs)
                given[place] = moved.requires_grad_()
                found.append([number for each in _outputs(function, given) for number in _parts(each)])
            columns.append([(up - down) / (2 * eps) for up, down in zip(*found)])
    return columns


def _analytical(outputs, input):
    """The same by going back: for each number of the outputs a row."""
    rows = []
    for output in outputs:
        is_complex = output.dtype.is_complex
        for i in range(output.numel()):
            for weight in (1, 1j) if is_complex else (1,):
                weights = _rows["zeros_like"](output).contiguous()
                weights.view(-1)[i] = weight
                found = (
                    grad([output], [input], [weights], retain_graph=True, allow_unused=True)[0]
                    if output.requires_grad
                    else None
                )
                rows.append(_parts(_rows["zeros_like"](input) if found is None else found))
    return rows


def _check(function, inputs, eps, atol, rtol):
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    places = [i for i, each in enumerate(inputs) if isinstance(each, Tensor) and each.requires_grad]
    if not places:
        raise ValueError("gradcheck: no input requires grad")
    for i in places:
        if inputs[i].dtype not in (_core.float64, _core.complex128):
            raise ValueError(f"gradcheck: input {i} is {inputs[i].dtype.name}; differences need float64 or complex128")
    outputs = _outputs(function, inputs)
    if not any(each.requires_grad for each in outputs):
        raise ValueError("gradcheck: no output requires grad")
    for i in places:
        numerical, analytical = _numerical(function, inputs, i, eps), _analytical(outputs, inputs[i])
        for j, row in enumerate(analytical):
            for k, found in enumerate(row):
                expected = numerical[k][j]
                if not abs(found - expected) <= atol + rtol * abs(expected):
                    return (
                        f"gradcheck: the derivative of output number {j} by number {k} of input {i} is {found}, and by "
                        f"differences {expected}"
                    )
    return None


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True):
    """Compares the derivatives of `func` by all inputs that require grad with differences of its values.

    Args:
        func: takes the inputs and returns a tensor, or a tuple of them.
        inputs: float64 or complex128 where they require grad; others are passed on.

    Returns True, or False if they differ and `raise_exception` is False.

    Raises:
        ValueError: a derivative differs, or nothing could be compared.
    """
    fault = _check(func, inputs, eps, atol, rtol)
    if fault and raise_exception:
        raise ValueError(fault)
    return not fault


def gradgradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True):
    """gradcheck of the derivatives of `func`, weighted by the numbers 1, 1/2, 1/3 ..."""
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)

    def derivatives(*given):
        wanted = [each for each in given if isinstance(each, Tensor) and each.requires_grad]
        outputs = [each for each in _outputs(func, given) if each.requires_grad]
        weights = [
            (1 / _rows["arange"](1, each.numel() + 1, dtype=_core.float64)).reshape(each.shape).to(each.dtype)
            for each in outputs
        ]
        found = grad(outputs, wanted, weights, create_graph=True, allow_unused=True)
        return tuple(each for each in found if each is not None and each.requires_grad)

    return gradcheck(derivatives, inputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
