"""Nothing grows over BACKPLANE_LOOPS loops, 1500 by default: neither the process nor what is passed in."""

import gc
import os
import pickle
import sys

import backplane as bp
import numpy as np
import pytest

LOOPS = int(os.environ.get("BACKPLANE_LOOPS", "1500"))


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Double(bp.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, x * 1)
        ctx.factor = factor
        return x * factor, x + 1

    @staticmethod
    def backward(ctx, gradient, other):
        x, y = ctx.saved_tensors
        return gradient * ctx.factor + other * 0, None


X, Y = bp.ones(64, 16), bp.ones(64, 16)
ARRAY = np.ones((64, 16), dtype=np.float32)
LEAF = bp.ones(64, 16, requires_grad=True)
PLACES = [0, 2, 5]


def operators():
    X + Y, X * 2.0, 1 - X, -X, X @ Y.T, X == Y, X**2, bp.sum(X, dim=0), X.max(1), bp.sort(X).values, X.to(bp.float16)
    bp.add(X, Y, out=bp.empty(64, 16))
    z = X.clone()
    z += 1
    z.add_(Y)
    X.shape, X.dtype, X.device, X.T, X.item if X.numel() == 1 else None, repr(X[0]), X.tolist()
    bp.cat([X, Y]), bp.split(X, 10), bp.einsum("ij,kj->ik", X, Y), bp.zeros(3, dtype="float32", device="cpu")


def refused():
    for call in (
        lambda: X + bp.ones(7),
        lambda: X["a"],
        lambda: bp.sum(X, "a"),
        lambda: bp.reshape(X, [7]),
        lambda: X[100],
        lambda: bp.add(X),
        lambda: bp.tensor([[1], [2, 3]]),
        lambda: X.no_such,
        lambda: bp.ones(2, device="acme"),
    ):
        with pytest.raises((TypeError, ValueError, IndexError, AttributeError)):
            call()


def indexing():
    (
        X[0],
        X[1:3],
        X[..., None],
        X[PLACES],
        X[X > 0],
        X[:, ::-1],
        X[0, 1],
        list(X[:3]),
        X[np.array(PLACES)],
        X[0:2, PLACES],
    )
    z = X.clone()
    z[0], z[1:3], z[PLACES], z[z > 0], z[::-2] = 1.0, X[0], 2.0, 3.0, X[:32]


def going_back():
    y = LEAF * 2
    with y.register_hook(lambda gradient: gradient * 1):
        a, b = Double.apply(y, 3.0)
        (a + b).sum().backward(retain_graph=True)
        (first,) = bp.grad((LEAF**2).sum(), LEAF, create_graph=True)
        first.sum().backward()
    LEAF.grad = None


def raising_on_the_way_back():
    y = LEAF * 2

    def hook(gradient):
        raise KeyError("x")

    y.register_hook(hook)
    with pytest.raises(KeyError):
        y.sum().backward()


def exchange():
    bp.from_dlpack(ARRAY), bp.tensor(ARRAY), bp.from_numpy(ARRAY), X.numpy(), np.asarray(X), np.from_dlpack(X)
    X.__dlpack__(), X.__dlpack__(max_version=(1, 0))  # that nobody takes
    (
        bp.from_dlpack(bp.from_dlpack(X.__dlpack__(max_version=(1, 0)))),
        bp.tensor([[1.0, 2.0], [3.0, 4.0]]),
        bp.tensor(range(5)),
    )
    with pytest.raises((ValueError, BufferError)):
        bp.from_dlpack(np.ones(5)[::-1])


def copies():
    import copy

    copy.deepcopy(LEAF), copy.copy(X), pickle.loads(pickle.dumps(X))


class Parameter(bp.Tensor):
    pass


def subclasses():
    made = Parameter(X)
    made.own, made.itself = [1, 2], made
    made + 1


WORK = [operators, refused, indexing, going_back, raising_on_the_way_back, exchange, copies, subclasses]


def collect():
    gc.collect()
    gc.collect()  # without the GIL some of the cycles are left to the second time


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_no_growth(work):
    watched = [X, Y, ARRAY, LEAF, PLACES, bp.float32, bp.Tensor, Double, X.device, None, bp.add, np.dtype("float32")]
    for _ in range(LOOPS // 5 + 20):
        work()
    collect()
    counts, memory, blocks = [sys.getrefcount(each) for each in watched], resident_bytes(), sys.getallocatedblocks()
    for _ in range(LOOPS):
        work()
    collect()
    grown = resident_bytes() - memory
    assert sys.getallocatedblocks() - blocks < LOOPS // 4, "objects of Python's stay"
    assert grown < max(2 << 20, LOOPS * 200), f"{grown} bytes more"
    for each, before in zip(watched, counts):
        after = sys.getrefcount(each)
        assert abs(after - before) < LOOPS // 4, f"{str(each)[:40]}: {before} references before, {after} after"


def test_memory_of_tensors_comes_back():
    gc.collect()
    before = bp.memory_allocated("cpu")
    tensors = [bp.ones(1000) for _ in range(100)]
    assert bp.memory_allocated("cpu") - before >= 400_000
    del tensors
    gc.collect()
    assert bp.memory_allocated("cpu") - before < 10_000


def test_a_cycle_through_attributes_is_collected():
    import weakref

    x = bp.ones(3)
    x.itself = [x]
    died = weakref.ref(x)
    del x
    gc.collect()
    assert died() is None
