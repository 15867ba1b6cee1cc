"""x.grad is one object; x.view(dtype) shows the bytes as other elements."""

import gc
import threading

import backplane as bp
import numpy as np
import pytest

DTYPES = [bp.uint8, bp.int8, bp.int16, bp.float16, bp.bfloat16, bp.int32, bp.float32, bp.int64, bp.float64, bp.complex64]


# --- x.grad -----------------------------------------------------------------------------------------------------------


def test_grad_is_one_object_and_what_was_assigned():
    x = bp.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    first = x.grad
    assert x.grad is first
    (x * 2).sum().backward()
    assert x.grad is first and first.tolist() == [4, 4, 4]
    mine = bp.zeros(3)
    x.grad = mine
    assert x.grad is mine
    x.grad = None
    assert x.grad is None


def test_gradients_of_many_tensors_are_told_apart():
    leaves = [bp.ones(2, requires_grad=True) for _ in range(1000)]
    for i, leaf in enumerate(leaves):
        leaf.grad = bp.full((2,), float(i))
    held = [leaf.grad for leaf in leaves]
    del leaves[::2]
    gc.collect()
    assert all(leaf.grad is held[2 * i + 1] for i, leaf in enumerate(leaves))
    for round in range(20):  # addresses of dead gradients are used again
        for leaf in leaves:
            leaf.grad = bp.full((2,), float(round))
        assert all(leaf.grad.tolist() == [round, round] for leaf in leaves)


def test_a_gradient_that_is_dropped_gives_its_memory_back():
    x = bp.ones(100_000, requires_grad=True)
    gc.collect()
    before = bp.memory_allocated("cpu")
    x.grad = bp.ones(100_000)
    assert x.grad is x.grad
    x.grad = None
    assert bp.memory_allocated("cpu") <= before


def test_gradients_may_form_cycles_that_are_collected():
    import weakref

    x = bp.ones(3, requires_grad=True)
    x.grad = bp.ones(3)
    held = x.grad
    held.of, x.held = x, held
    died = weakref.ref(held)
    del x, held
    gc.collect()
    assert died() is None


def test_a_gradient_keeps_what_a_program_writes_on_its_object():
    x = bp.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    x.grad.note = "mine"
    (x * 2).sum().backward()
    assert x.grad.note == "mine" and x.grad.tolist() == [4, 4, 4]


@pytest.mark.parametrize("of_class", [bp.Tensor, type("Named", (bp.Tensor,), {})])
def test_a_cycle_through_a_gradient_that_nobody_holds_is_collected(of_class):
    import weakref

    x = of_class(bp.ones(3))
    x.requires_grad_()
    (x * 2).sum().backward()
    x.grad.of = x
    died = weakref.ref(x)
    del x
    gc.collect()
    assert died() is None


@pytest.mark.parametrize("way", ["grad", "requires_grad", "requires_grad_", "optimizer", "module"])
def test_what_takes_a_gradient_away_frees_it_though_it_was_read(way):
    module = bp.nn.Module()
    module.x = x = bp.nn.Parameter(bp.ones(100_000))
    optimizer = bp.optim.SGD([x], lr=0.1)
    gc.collect()
    before = bp.memory_allocated("cpu")
    (x * 2).sum().backward()
    assert x.grad is x.grad
    if way == "grad":
        x.grad = None
    elif way == "requires_grad":
        x.requires_grad = False
    elif way == "requires_grad_":
        x.requires_grad_(False)
    else:
        (optimizer if way == "optimizer" else module).zero_grad()
    assert x.grad is None and bp.memory_allocated("cpu") <= before


def test_a_gradient_that_backward_replaced_is_another_object():
    x = bp.ones(3, requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not first and (first.tolist(), x.grad.tolist()) == ([2] * 3, [4] * 3)


def test_threads_see_the_same_object():
    x = bp.ones(3, requires_grad=True)
    x.grad = bp.ones(3)
    kept, seen = x.grad, []

    def look():
        seen.append(all(x.grad is kept for _ in range(2000)))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 4



def test_a_gradient_read_while_its_object_dies_is_whole():
    class Named(bp.Tensor):
        def __del__(self):
            seen.append(x.grad)

    x, seen = bp.ones(3, requires_grad=True), []
    for _ in range(100):
        x.grad = Named(bp.zeros(3))
        held = x.grad
        del held
        gc.collect()
    assert all(each.tolist() == [0, 0, 0] for each in seen) and x.grad.tolist() == [0, 0, 0]


@pytest.mark.filterwarnings("ignore:nanobind")
def test_an_object_cannot_be_made_the_object_of_another_tensor():
    x = bp.ones(3, requires_grad=True)
    x.grad = bp.zeros(3)
    held = x.grad
    with pytest.raises(TypeError):
        held.__init__(bp.ones(2))
    assert x.grad is held and held.tolist() == [0, 0, 0]


def test_small_fills_are_writes_like_others():
    for size in (3, 10_000):
        x = bp.ones(2, size)
        version = x._version
        x.zero_()
        assert x.sum().item() == 0 and x._version == version + 1
        x[:, 1:].fill_(2)  # not contiguous
        assert x.sum().item() == 4 * (size - 1)
        leaf = bp.ones(size, requires_grad=True)
        with pytest.raises(ValueError, match="leaf"):
            leaf.zero_()
        with bp.no_grad():
            leaf.zero_()
        made = leaf * 2
        made.fill_(3)
        made.sum().backward()
        assert leaf.grad is None or not leaf.grad.any()
    with pytest.raises(ValueError, match="fill_"):
        bp.zeros(2, dtype=bp.uint8).fill_(300)


def test_facts_take_one_argument_by_position_or_name():
    x = bp.ones(2, 3, 4)
    assert x.size() == (2, 3, 4) and x.size(-1) == x.size(dim=2) == 4
    assert x.size == 24 and x.size + 1 == 25 and [bp.Tensor.size(x), bp.Tensor.size(x, 1)] == [(2, 3, 4), 3]
    later = x.size
    assert later() == (2, 3, 4) and later(0) == 2
    assert x.stride() == (12, 4, 1) and x.stride(dim=0) == 12 and x.stride(None) == (12, 4, 1)
    assert x.contiguous() is x and not x.mT.is_contiguous() and x.mT.contiguous().is_contiguous()
    assert x[None].contiguous(memory_format="channels_last").is_contiguous("channels_last")
    for wrong, error in [(lambda: x.stride(3), IndexError), (lambda: x.size("0"), TypeError), (lambda: x.stride(0, 1), TypeError),
                         (lambda: x.stride(dmi=0), TypeError), (lambda: x.contiguous(memory_format="rows"), ValueError),
                         (lambda: x.is_contiguous(3), TypeError), (lambda: bp.Tensor.size(), TypeError),
                         (lambda: bp.Tensor.size(3), TypeError)]:  # fmt: skip
        with pytest.raises(error):
            wrong()


# --- x.view(dtype) ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu:0", "reference:0"])
@pytest.mark.parametrize("to", DTYPES, ids=str)
@pytest.mark.parametrize("of", DTYPES, ids=str)
def test_bits_are_those_of_numpy(of, to, device):
    raw = np.arange(96, dtype=np.uint8).reshape(3, 32)
    x = bp.tensor(raw).view(of)
    y = x.to(device).view(to)
    assert y.dtype is to and y.shape == (3, 32 // to.itemsize) and y.shares_storage(y.view(of))
    assert y.cpu().view(bp.uint8).tolist() == raw.tolist()
    if hasattr(to, "__numpy_dtype__"):
        assert np.array_equal(y.cpu().numpy(), raw.view(np.dtype(to)), equal_nan=True)


def test_a_view_of_bits_is_the_same_memory_and_not_recorded():
    x = bp.zeros(2, 3)
    x.view(dtype=bp.int32).fill_(0x3F800000)
    assert x.tolist() == [[1, 1, 1], [1, 1, 1]]
    x.requires_grad_()
    assert not x.view(bp.int32).requires_grad and x.view(bp.float32).requires_grad
    assert x.view(bp.int32)[:, 1:].view(bp.int16).shape == (2, 4)
    assert x.view(bp.uint8).storage_offset() == 0


def test_shapes_are_viewed_as_before():
    x = bp.arange(6)
    assert x.view(2, 3).shape == x.view([2, 3]).shape == x.view((-1, 3)).shape == x.view(size=[2, 3]).shape == (2, 3)
    with pytest.raises(ValueError):
        x.view(4)
    with pytest.raises(TypeError):
        x.view(2, bp.float32)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: bp.ones(3, dtype=bp.uint8).view(bp.float32), "4 does not divide"),
        (lambda: bp.ones(()).view(bp.uint8), "no dimension"),
        (lambda: bp.ones(2, 4).T.view(bp.uint8), "contiguous()"),
        (lambda: bp.ones(8, dtype=bp.uint8)[1:5].view(bp.float32), "clone()"),
        (lambda: bp.ones(2, 6, dtype=bp.uint8)[:, :4].view(bp.float32), "contiguous()"),
    ],
)
def test_what_does_not_fit_is_refused(call, says):
    with pytest.raises(ValueError, match="^view: ") as error:
        call()
    assert says in str(error.value)
