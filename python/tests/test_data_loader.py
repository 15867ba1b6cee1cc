"""Loaders of batches, and their worker processes, whatever happens to these."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

import backplane as bp

data = bp.data


class Squares(data.Dataset):
    def __init__(self, count=20):
        self.count = count

    def __getitem__(self, index):
        return bp.tensor([float(index), index**2.0]), index

    def __len__(self):
        return self.count


class Act(data.Dataset):
    """Does something at a sample."""

    def __init__(self, act, at=13, count=40):
        self.act, self.at, self.count = act, at, count

    def __getitem__(self, index):
        if index == self.at:
            self.act()
        return index

    def __len__(self):
        return self.count


class Stream(data.IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = data.get_worker_info()
        yield from range(info.id if info else 0, self.count, info.num_workers if info else 1)


def lists(loader):
    return [batch.tolist() if isinstance(batch, bp.Tensor) else batch for batch in loader]


def children():
    return multiprocessing.active_children()


@pytest.fixture(autouse=True)
def nobody_is_left():
    yield
    import gc

    gc.collect()
    assert not children()


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 6},
        {"batch_size": 6, "drop_last": True},
        {"batch_size": None},
        {"batch_size": 4, "shuffle": True},
        {"batch_sampler": [[3, 4], [1], [19, 0, 5]]},
        {"sampler": [5, 3, 3], "batch_size": 2},
        {"batch_size": 100},
    ],
    ids=str,
)
def test_the_order_is_the_same_whatever_the_number_of_workers(workers, options):
    def numbers(count):
        bp.manual_seed(7)
        loader = data.DataLoader(Squares(), num_workers=count, **options)
        made = [each[1].tolist() if isinstance(each[1], bp.Tensor) else each[1] for each in loader]
        assert len(loader) == len(made)
        return made

    assert numbers(workers) == numbers(0)


def test_batches_have_the_values():
    for workers in (0, 2):
        loader = data.DataLoader(Squares(), batch_size=8, num_workers=workers)
        batches = list(loader)
        assert [tuple(each[0].shape) for each in batches] == [(8, 2), (8, 2), (4, 2)]
        assert batches[1][0].tolist()[1] == [9.0, 81.0] and batches[1][1].dtype == bp.int64


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_ways_to_start(method):
    loader = data.DataLoader(Squares(8), batch_size=4, num_workers=2, multiprocessing_context=method)
    assert [each[1].tolist() for each in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_streams():
    assert lists(data.DataLoader(Stream(7), batch_size=3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert lists(data.DataLoader(Stream(7), batch_size=3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert lists(data.DataLoader(Stream(3), batch_size=None)) == [0, 1, 2]
    for _ in range(5):
        assert lists(data.DataLoader(Stream(11), batch_size=2, num_workers=2)) == [
            [0, 2],
            [1, 3],
            [4, 6],
            [5, 7],
            [8, 10],
            [9],
        ]
    assert sorted(lists(data.DataLoader(Stream(50), batch_size=None, num_workers=4))) == list(range(50))
    assert lists(data.DataLoader(Stream(0), num_workers=2)) == []
    assert lists(data.DataLoader(Stream(1), num_workers=3)) == [[0]]


class Uneven(data.IterableDataset):
    def __iter__(self):
        me = data.get_worker_info().id
        for i in range(me * 5):
            time.sleep(random.random() / 500)
            yield 100 * me + i


def test_streams_of_other_lengths_keep_an_order():
    runs = [lists(data.DataLoader(Uneven(), batch_size=2, num_workers=4, prefetch_factor=3)) for _ in range(6)]
    assert all(each == runs[0] for each in runs) and sorted(sum(runs[0], [])) == [
        100 * w + i for w in range(4) for i in range(w * 5)
    ]


def seeds(index):
    numpy = sys.modules.get("numpy")
    return random.random(), float(bp.rand(1)), (numpy.random.rand() if numpy else 0), data.get_worker_info().seed


class Seeds(data.Dataset):
    __getitem__, __len__ = lambda self, index: seeds(index), lambda self: 4


def test_workers_have_seeds_of_their_own():
    def run():
        bp.manual_seed(3)
        return list(data.DataLoader(Seeds(), batch_size=None, num_workers=2))

    first = run()
    assert first == run() and len({each[0] for each in first}) == len({each[1] for each in first}) == 4
    assert len({each[3] for each in first}) == 2 and data.get_worker_info() is None


def test_persistent_workers():
    class Pids(data.Dataset):
        __getitem__, __len__ = lambda self, index: os.getpid(), lambda self: 8

    started = multiprocessing.get_context("fork").Value("i", 0)

    def init(number):
        with started.get_lock():
            started.value += 1

    loader = data.DataLoader(Pids(), num_workers=2, persistent_workers=True, worker_init_fn=init)
    first = lists(loader)
    for each in loader:  # broken off
        break
    assert lists(loader) == first and started.value == 2 and len(children()) == 2
    old = iter(loader)
    next(old)
    assert lists(loader) == first and list(old) == []
    del loader, old
    assert not children()


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_of_samples(workers):
    def act():
        raise KeyError("a key\nof two lines")

    loader = iter(data.DataLoader(Act(act), batch_size=5, num_workers=workers))
    assert [next(loader).tolist() for _ in range(2)] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    with pytest.raises(KeyError) as caught:
        next(loader)
    notes = "\n".join(caught.value.__notes__)
    assert caught.value.args == ("a key\nof two lines",) and "sample 13" in notes
    if workers:
        assert "worker 0, for batch 2" in notes and "in act" in str(caught.value.__cause__)
        assert next(loader).tolist() == [15, 16, 17, 18, 19] and len(list(loader)) == 4


class Picky(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


class Unpicklable(Exception):
    def __init__(self):
        super().__init__("held")
        self.held = threading.Lock()


def raises(error):
    def act():
        raise error()

    return act


@pytest.mark.parametrize(
    "error, kind, words",
    [
        (lambda: Picky(1, 2), RuntimeError, "Picky: 1 and 2"),
        (Unpicklable, RuntimeError, "Unpicklable: held"),
        (StopIteration, RuntimeError, "StopIteration"),
        (lambda: ValueError("v"), ValueError, "v"),
    ],
)
def test_errors_that_do_not_travel(error, kind, words):
    with pytest.raises(kind, match=words):
        list(data.DataLoader(Act(raises(error)), num_workers=2))


def test_other_errors():
    with pytest.raises(ZeroDivisionError) as caught:
        list(data.DataLoader(Squares(), num_workers=2, worker_init_fn=lambda number: 1 // 0))
    assert "before its first batch" in "".join(caught.value.__notes__)
    with pytest.raises(Exception, match="lock|pickle"):
        list(data.DataLoader(Squares(), num_workers=2, collate_fn=lambda batch: threading.Lock()))
    with pytest.raises(Exception, match="pickle|local|lambda"):
        list(data.DataLoader(Squares(), num_workers=2, collate_fn=lambda batch: batch, multiprocessing_context="spawn"))
    with pytest.raises(IndexError):
        list(data.DataLoader([1, 2], sampler=[5], num_workers=2))

    def numbers():
        yield [1]
        raise OSError("sampler")

    with pytest.raises(OSError, match="sampler"):
        list(data.DataLoader(Squares(), batch_sampler=numbers(), num_workers=2))


def test_a_worker_that_is_killed():
    with pytest.raises(RuntimeError, match=r"worker \d \(pid \d+\) was ended by SIGKILL"):
        list(data.DataLoader(Act(lambda: os.kill(os.getpid(), signal.SIGKILL)), num_workers=3))
    with pytest.raises(RuntimeError, match="SIGTERM"):
        list(data.DataLoader(Act(lambda: os.kill(os.getpid(), signal.SIGTERM)), num_workers=3))
    with pytest.raises(RuntimeError, match="exited with code 3"):
        list(data.DataLoader(Act(lambda: os._exit(3)), num_workers=3))
    with pytest.raises(RuntimeError, match="exited with code 5"):
        list(data.DataLoader(Act(lambda: sys.exit(5)), num_workers=3))


def test_a_worker_that_is_killed_from_outside_in_the_midst_of_large_batches():
    class Large(data.Dataset):
        __getitem__, __len__ = lambda self, index: bp.ones(300_000), lambda self: 60

    for persistent in (False, True):
        loader = data.DataLoader(Large(), batch_size=2, num_workers=3, persistent_workers=persistent)
        batches = iter(loader)
        next(batches)
        os.kill(batches._pool.processes[1].pid, signal.SIGKILL)
        with pytest.raises(RuntimeError, match="worker 1 .*SIGKILL"):
            for _ in batches:
                pass
        assert list(batches) == [] and not children()
        if persistent:
            assert len(list(loader)) == 30  # with new ones


def test_a_slow_worker():
    loader = data.DataLoader(Act(lambda: time.sleep(30)), num_workers=2, timeout=0.5)
    start = time.monotonic()
    with pytest.raises(TimeoutError, match="0.5 seconds"):
        list(loader)
    assert not children() and time.monotonic() - start < 8


def test_breaking_off():
    for _ in range(5):
        for batch in data.DataLoader(Squares(1000), num_workers=2, prefetch_factor=4):
            break
        assert not children()
    with pytest.raises(KeyError):
        for batch in data.DataLoader(Squares(1000), num_workers=2):
            raise KeyError


def test_many_numbers_and_large_batches_do_not_block():
    class Wide(data.Dataset):
        def __getitems__(self, numbers):
            return [bp.ones(1000)] * 300

        __len__ = lambda self: 600_000  # noqa: E731

    loader = data.DataLoader(Wide(), batch_size=100_000, num_workers=2, prefetch_factor=3)
    assert [tuple(each.shape) for each in loader] == [(300, 1000)] * 6


SCRIPT = """
import sys, time, os, threading
import backplane as bp
class D(bp.data.Dataset):
    def __getitem__(self, i):
        return bp.ones(1000) * i
    def __len__(self):
        return 1000
if __name__ == "__main__":
    loader = bp.data.DataLoader(D(), batch_size=4, num_workers=2, persistent_workers=%s, multiprocessing_context=%r)
    it = iter(loader)
    next(it)
    print(*[p.pid for p in it._pool.processes], flush=True)
    %s
"""


def ended(pids):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        alive = [
            pid for pid in pids if os.path.exists(f"/proc/{pid}") and open(f"/proc/{pid}/stat").read().split()[2] != "Z"
        ]
        if not alive:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    "last, code",
    [
        ("pass", 0),
        ("sys.exit(3)", 3),
        ("raise KeyError(1)", 1),
        ("os._exit(4)", 4),
        ("os.kill(os.getpid(), 9)", -9),
        ("threading.Thread(target=lambda: list(it)).start()", 0),
        ("del it", 0),
        ("del loader", 0),
        ("os.kill(os.getpid(), 2); time.sleep(9)", -2),
    ],
)
@pytest.mark.parametrize("persistent, method", [(False, "fork"), (True, "spawn")])
def test_no_worker_outlives_the_program(last, code, persistent, method, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT % (persistent, method, last))
    start = time.monotonic()
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=50)
    assert done.returncode == code or code == -2 and done.returncode in (-2, 130, 1), done.stderr
    pids = [int(each) for each in done.stdout.split()]
    assert len(pids) == 2 and ended(pids), done.stderr
    assert "Exception ignored" not in done.stderr and time.monotonic() - start < 30
    if code in (0, 3):
        assert done.stderr == ""


def test_a_loader_in_a_thread_and_two_at_once():
    seen = []

    def run():
        seen.append([each[1].tolist() for each in data.DataLoader(Squares(), batch_size=7, num_workers=2)])

    threads = [threading.Thread(target=run) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(seen) == 3 and all(each == seen[0] for each in seen)
    pairs = zip(data.DataLoader(Squares(), num_workers=2), data.DataLoader(Squares(), num_workers=1))
    assert all(a[1].tolist() == b[1].tolist() for a, b in pairs)


@pytest.mark.parametrize(
    "options, error",
    [
        ({"num_workers": -1}, ValueError),
        ({"num_workers": 1.5}, TypeError),
        ({"batch_size": 0}, ValueError),
        ({"timeout": -1}, ValueError),
        ({"shuffle": True, "sampler": [1]}, ValueError),
        ({"batch_sampler": [[1]], "batch_size": 2}, ValueError),
        ({"batch_size": None, "drop_last": True}, ValueError),
        ({"prefetch_factor": 2}, ValueError),
        ({"persistent_workers": True}, ValueError),
        ({"prefetch_factor": 0, "num_workers": 1}, ValueError),
        ({"collate_fn": 3}, TypeError),
        ({"worker_init_fn": 3}, TypeError),
    ],
    ids=str,
)
def test_what_a_loader_refuses(options, error):
    with pytest.raises(error, match="DataLoader|BatchSampler"):
        data.DataLoader(Squares(), **options)
    with pytest.raises(ValueError, match="IterableDataset"):
        data.DataLoader(Stream(3), shuffle=True)
