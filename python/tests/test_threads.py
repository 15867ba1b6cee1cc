"""Eight threads at once: calls, derivatives, hooks, indexing and exchange give what one thread gives."""

import threading

import backplane as bp
import numpy as np
import pytest

THREADS = 8


def together(work):
    """Runs work(number) on all threads, and raises what any of them raised."""
    errors, barrier = [], threading.Barrier(THREADS)

    def run(number):
        try:
            barrier.wait()
            work(number)
        except BaseException as error:  # noqa: B036: told by the main thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_calls():
    shared = bp.arange(10000, dtype=bp.float64).reshape(100, 100)
    expected = (shared @ shared.T).sum().item()

    def work(number):
        for i in range(60):
            assert (shared @ shared.T).sum().item() == expected
            x = bp.ones(number + 1, 3) * i
            x[0] = number
            assert x[0].tolist() == [number] * 3 and x.sum().item() == number * (i * 3) + 3 * number
            with pytest.raises(ValueError):
                x + bp.ones(7)

    together(work)


def test_derivatives_and_hooks():
    weight = bp.ones(50, dtype=bp.float64, requires_grad=True)
    seen = []
    weight.register_hook(lambda gradient: seen.append(1))

    def work(number):
        for i in range(40):
            x = bp.full((50,), float(number), dtype=bp.float64, requires_grad=True)
            x.register_hook(lambda gradient: gradient * 2)
            (x * weight * x).sum().backward()
            assert x.grad[0].item() == 4 * number
            with bp.no_grad():
                assert not (x * 2).requires_grad
            assert (x * 2).requires_grad

    together(work)
    assert len(seen) == THREADS * 40
    assert weight.grad[0].item() == 40 * sum(n * n for n in range(THREADS))


class Square(bp.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient * ctx.saved_tensors[0]


def test_one_record_that_all_go_back_through():
    x = bp.tensor([3.0], dtype=bp.float64, requires_grad=True)
    y = Square.apply(Square.apply(x)).sum()

    def work(number):
        for _ in range(50):
            assert bp.grad(y, x, retain_graph=True)[0].item() == 108

    together(work)


def test_exchange_with_numpy():
    array = np.arange(1000, dtype=np.float32)

    def work(number):
        for i in range(200):
            x = bp.from_dlpack(array)
            y = (x + number).numpy()
            assert y[5] == 5 + number
            del x
            z = bp.tensor(array[number:])
            assert z[0].item() == number

    together(work)


def test_devices_and_seeds_of_threads():
    def work(number):
        generator = bp.Generator().manual_seed(number)
        first = bp.rand(5, generator=generator).tolist()
        for _ in range(50):
            assert bp.rand(5, generator=bp.Generator().manual_seed(number)).tolist() == first
            with bp.device("meta"):
                assert bp.ones(2).device.type == "meta"
            assert bp.ones(2).device.type == "cpu"

    together(work)


def test_other_threads_go_on_while_one_computes():
    """A long product gives the lock away."""
    x = bp.ones(1500, 1500)
    x @ x
    ticks, done = [0], threading.Event()

    def count():
        while not done.is_set():
            ticks[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    x @ x
    done.set()
    thread.join()
    assert ticks[0] > 1000
