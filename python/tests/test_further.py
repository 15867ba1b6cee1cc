"""PyTorch's further names: facts of dtypes and tensors, changes in place, derivatives of functions, files that are objects,
memory that processes share; and what they say to wrong arguments."""

import io
import itertools
import os
import random

import backplane as bp
import numpy as np
import pytest
from backplane.autograd import functional


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128"])
def test_finfo_is_numpys(name):
    found, known = bp.finfo(getattr(bp, name)), np.finfo(name)
    assert (found.eps, found.max, found.min, found.tiny) == (known.eps, known.max, known.min, known.tiny)
    assert found.bits == known.bits and found.resolution == pytest.approx(float(known.resolution), rel=1e-3)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_iinfo_is_numpys(name):
    found, known = bp.iinfo(getattr(bp, name)), np.iinfo(name)
    assert (found.bits, found.min, found.max) == (known.bits, known.min, known.max)
    with pytest.raises(TypeError, match="finfo: backplane.u?int"):
        bp.finfo(getattr(bp, name))


def test_facts_have_pytorchs_names():
    x = bp.ones(2, 3)
    assert x.type() == bp.typename(x) == "backplane.FloatTensor" and x.type(bp.int32).dtype == bp.int32
    assert x.type("backplane.FloatTensor") is x and x.to("reference:0").type() == "backplane.reference.FloatTensor"
    assert x.type("backplane.reference.DoubleTensor").device.type == "reference"
    assert x.is_cpu and not x.is_cuda and x.layout is bp.strided and x.get_device() == -1
    assert x.to("reference:0").get_device() == 0 and not x.to("reference:0").is_cpu
    assert x.resolve_conj() is x and not x.is_conj() and x.is_set_to(x.view(2, 3)) and not x.is_set_to(x.T)
    assert isinstance(x.shape, bp.Size) and bp.autocast is bp.amp.autocast


def test_shapes_change_in_place():
    x = bp.arange(6.0).reshape(2, 3)
    same = x.unsqueeze_(0)
    assert same is x and x.shape == (1, 2, 3)
    assert x.squeeze_(0).t_().shape == (3, 2) and x.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert x.transpose_(0, 1).swapaxes_(0, 1).shape == (3, 2)
    assert x.resize_(2).tolist() == [0, 1] and x.resize_(2, 2).tolist()[0] == [0, 1]
    other = bp.ones(4)
    assert x.set_(other, 1, (3,)).shares_storage(other) and x.storage_offset() == 1 and x.set_().shape == (0,)


def test_shapes_do_not_change_under_a_record():
    x = bp.ones(2, requires_grad=True)
    for each in (x, x * 2):
        with pytest.raises(ValueError, match=r"unsqueeze_: .* takes part in derivatives.* x = x.unsqueeze"):
            each.unsqueeze_(0)
    with bp.no_grad():
        assert x.unsqueeze_(0).shape == (1, 2) and x.requires_grad
    y = bp.ones(4)
    view = y.view(2, 2)
    with pytest.raises(ValueError, match="^t_|^unsqueeze_: 1 view"):
        y.unsqueeze_(0)
    assert view.shape == (2, 2)


def test_a_tensor_leaves_its_record():
    x = bp.ones(2, requires_grad=True)
    y = x * 2
    assert y.detach_() is y and not y.requires_grad and y.is_leaf and y.grad_fn is None
    assert not x.detach_().requires_grad
    z = bp.ones(4, requires_grad=True) * 1
    with pytest.raises(ValueError, match="detach_: .*view"):
        z[:2].detach_()


def test_elements_are_replaced_one_by_one():
    x = bp.arange(3, dtype=bp.int64)
    assert x.apply_(lambda v: v + 1).tolist() == [1, 2, 3]
    assert x.map_(bp.tensor(2), lambda a, b: a * b).tolist() == [2, 4, 6]
    assert x.map2_(x, x, lambda a, b, c: a + b + c).tolist() == [6, 12, 18]
    with pytest.raises(ZeroDivisionError):
        x.apply_(lambda v: v // 0)
    assert x.tolist() == [6, 12, 18]


class Doubled(bp.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def test_a_function_may_write_what_it_marks():
    x = bp.ones(3, requires_grad=True)
    y = x * 3
    assert Doubled.apply(y) is y and y.tolist() == [6, 6, 6]
    y.sum().backward()
    assert x.grad.tolist() == [6, 6, 6]
    with pytest.raises(ValueError, match="Doubled: a leaf that requires grad"):
        Doubled.apply(bp.ones(3, requires_grad=True))


def test_derivatives_of_functions_are_those_of_formulas():
    x = bp.tensor([1.0, 2.0, 3.0], dtype=bp.float64)
    assert functional.jacobian(bp.square, x).tolist() == np.diag([2.0, 4.0, 6.0]).tolist()
    assert functional.hessian(lambda x: (x**3).sum(), x).tolist() == np.diag([6.0, 12.0, 18.0]).tolist()
    value, product = functional.vjp(lambda x: x * x, x, bp.ones_like(x))
    assert value.tolist() == [1, 4, 9] and product.tolist() == [2, 4, 6]
    assert functional.jvp(lambda x: x * x, x, bp.tensor([1.0, 0, 0], dtype=bp.float64))[1].tolist() == [2, 0, 0]
    for product in (functional.hvp, functional.vhp):
        assert product(lambda x: (x**3).sum(), x, bp.ones_like(x))[1].tolist() == [6, 12, 18]
    by = functional.jacobian(lambda a, b: a * 2, (x, x))
    assert by[0].tolist() == np.diag([2.0] * 3).tolist() and by[1].tolist() == np.zeros((3, 3)).tolist()
    with pytest.raises(ValueError, match="does not depend on input 1"):
        functional.jacobian(lambda a, b: a * 2, (x, x), strict=True)
    with pytest.raises(ValueError, match="v has the shapes"):
        functional.vjp(lambda x: x * x, x, bp.ones(2))
    recorded = x.clone().requires_grad_()
    functional.jacobian(lambda x: x**3, recorded, create_graph=True).sum().backward()
    assert recorded.grad.tolist() == [6, 12, 18]


def test_states_go_through_objects_with_read_and_write():
    tree = {"weights": bp.arange(4.0), "epoch": 3, "shape": (1, 2)}
    file = io.BytesIO()
    bp.save(tree, file)
    file.seek(0)
    found = bp.load(file)
    assert found["weights"].equal(tree["weights"]) and found["epoch"] == 3 and found["shape"] == (1, 2)
    with pytest.raises(ValueError):
        bp.load(io.BytesIO(b"not a state"))
    with pytest.raises(TypeError, match="the value at"):
        bp.save({"a": object()}, io.BytesIO())


def test_generators_go_back_to_a_state():
    bp.manual_seed(7)
    state, first = bp.get_rng_state(), bp.rand(4)
    bp.set_rng_state(state)
    assert bp.rand(4).equal(first) and bp.initial_seed() == 7
    assert bp.seed() == bp.initial_seed() != 7
    with pytest.raises(ValueError, match="set_rng_state: the state is float32"):
        bp.set_rng_state(bp.ones(2))


def test_forked_processes_share_memory():
    x = bp.zeros(3).share_memory_()
    assert x.is_shared() and x[1:].is_shared() and not bp.zeros(3).is_shared()
    child = os.fork()
    if child == 0:
        x.add_(5)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0 and x.tolist() == [5, 5, 5]
    with pytest.raises(ValueError, match="share_memory_: the tensor is not on the host"):
        bp.ones(2, device="reference:0").share_memory_()


def test_vmap_calls_once_for_a_batch():
    x, w = bp.rand(5, 3, 4), bp.rand(4, 2)
    calls = []

    def one(x, w):
        calls.append(x.shape)
        return x @ w, x.sum()

    products, sums = bp.vmap(one, in_dims=(0, None), out_dims=(1, 0))(x, w)
    assert calls == [(3, 4)] and bp.allclose(products.movedim(1, 0), x @ w) and bp.allclose(sums, x.sum((1, 2)))
    with pytest.raises(ValueError, match="vmap: 1 in_dims for 2 arguments"):
        bp.vmap(one, in_dims=(0,))(x, w)


def test_pinned_memory_is_where_a_device_has_it():
    x = bp.ones(3)
    assert not x.is_pinned() and x.pin_memory() is x  # the processor has none of its own


# --- Wrong arguments --------------------------------------------------------------------------------------------------

NEW = """addbmm as_strided_ as_strided_scatter bartlett_window chain_matmul combinations cumulative_trapezoid detach_ diagflat
    diagonal_scatter empty_strided fill fill_ finfo gcd get_device gradient iinfo is_conj kaiser_window lcm narrow_copy poisson
    range renorm resize_as_ resolve_conj round set_float32_matmul_precision set_rng_state typename unique_consecutive
    unravel_index unsafe_chunk unsafe_split unsafe_split_with_sizes vander vmap zero_""".split()
METHODS = """apply_ cauchy_ geometric_ is_pinned is_set_to log_normal_ map2_ map_ new_empty_strided pin_memory record_stream
    resize_ round set_ squeeze_ swapaxes_ t_ to_dense transpose_ type unsqueeze_""".split()
ALLOWED = (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, bp.Error, MemoryError)


def odd(draw):
    choices = [
        None, True, -1, 0, 2, 10**30, 1.5, float("nan"), "x", b"y", (), (1, 2), [3, -1], {}, object(), print, bp.float32, bp.Size,
        1j, bp.device("cpu:0"), bp.ones(2, 2), bp.tensor([3, 0, 5]), bp.tensor(2.0), bp.zeros(0), bp.ones(2, requires_grad=True),
        bp.ones(2, device="reference:0"), bp.ones(2, dtype=bp.complex64), np.float64(2), np.arange(3), slice(1),
    ]  # fmt: skip
    return draw.choice(choices)


@pytest.mark.parametrize("seed", range(8))
def test_wrong_arguments_raise_what_they_should(seed):
    draw = random.Random(seed)
    functions = [getattr(bp, name) for name in NEW] + [getattr(functional, name) for name in functional.__all__]
    refused = 0
    for turn, function in zip(range(500), itertools.cycle(functions + METHODS)):
        if isinstance(function, str):
            function = getattr(draw.choice([bp.ones(2, 3), bp.tensor([1, 2]), bp.ones(2, requires_grad=True) * 2]), function)
        try:
            function(*(odd(draw) for _ in range(draw.randrange(4))))
        except ALLOWED as error:
            refused += 1
            assert str(error), (function, error)
    bp.set_float32_matmul_precision("highest")
    assert refused > 300
