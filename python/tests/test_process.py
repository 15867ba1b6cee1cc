"""The process: fork and spawn, Ctrl-C, and interpreters that end with everything alive."""

import signal
import subprocess
import sys
import textwrap
import time

import pytest


def run(program, **options):
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def assert_ends_silently(program):
    ended = run(program)
    assert (ended.returncode, ended.stderr) == (0, ""), (ended.returncode, ended.stdout, ended.stderr)
    return ended.stdout


ENDINGS = {
    "tensors": """
        import backplane as bp
        x = bp.ones(100, 100, requires_grad=True)
        y = (x @ x).sum()
        loop = [bp.ones(3)]; loop.append(loop)
        z = bp.ones(2); z.itself = z
        views = [x[0], x.T]
        print("done")
    """,
    "hooks and functions": """
        import backplane as bp
        class Double(bp.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                ctx.other = [ctx]
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g * 2
        x = bp.ones(3, requires_grad=True)
        x.register_hook(lambda g: g * x)
        x.register_post_accumulate_grad_hook(lambda p: None)
        y = Double.apply(x)
        y.register_hook(lambda g: print(y.shape))
        z = y.sum(); z.backward(retain_graph=True)
        bp.keep = [x, y, z, Double]
        import builtins; builtins.kept = (y, Double.apply(y))
        print("done")
    """,
    "streams, events, generators, recordings": """
        import backplane as bp
        stream, event, generator = bp.Stream("cpu"), bp.Event("cpu"), bp.Generator()
        event.record(stream)
        a = bp.ones(4)
        recording = bp.capture(lambda: bp.add(a, a, out=a))
        guard = bp.stream(stream); guard.__enter__()
        device = bp.device("cpu"); device.__enter__()
        mode = bp.no_grad(); mode.__enter__()
        print("done")
    """,
    "arrays of NumPy and capsules": """
        import numpy, backplane as bp
        array = numpy.ones(5, dtype="float32")
        x = bp.from_dlpack(array); y = x.numpy(); z = bp.from_numpy(y)
        capsule = z.__dlpack__(max_version=(1, 0)); old = x.__dlpack__()
        import builtins; builtins.kept = (x, y, z, capsule, old)
        print("done")
    """,
    "atexit": """
        import atexit, backplane as bp
        x = bp.ones(5, requires_grad=True)
        atexit.register(lambda: ((x * 2).sum().backward(), print(x.grad.tolist())))
        class Late:
            def __del__(self):
                (x * 2).sum().backward()
        late = Late()
        print("done")
    """,
    "threads of all kinds": """
        import threading, time, backplane as bp
        x = bp.ones(200, 200, requires_grad=True)
        def work():
            while True:
                (x.detach() @ x.detach()).sum().item()
        def going_back():
            y = bp.ones(50, requires_grad=True)
            y.register_hook(lambda g: g * 1)
            while True:
                (y * 2).sum().backward()
        def short():
            bp.ones(3) + 1
        threads = [threading.Thread(target=t, daemon=True) for t in (work, going_back, work, going_back)]
        threads.append(threading.Thread(target=short))
        for thread in threads: thread.start()
        time.sleep(0.3)
        print("done")
    """,
    "a thread that is not daemon, within no_grad": """
        import threading, backplane as bp
        def work():
            with bp.no_grad(), bp.device("cpu"):
                for _ in range(100): bp.ones(64, 64) @ bp.ones(64, 64)
        threading.Thread(target=work).start()
        print("done")
    """,
    "sys.exit in a hook": """
        import sys, backplane as bp
        x = bp.ones(3, requires_grad=True)
        x.register_hook(lambda g: sys.exit(0))
        print("done")
        (x * 2).sum().backward()
    """,
    "the package imported twice": """
        import sys, backplane
        x = backplane.ones(2)
        for name in list(sys.modules):
            if name.startswith("backplane") and name != "backplane._core": del sys.modules[name]
        import backplane as again
        assert (again.ones(2) + x).tolist() == [2, 2]
        print("done")
    """,
}


@pytest.mark.parametrize("name", ENDINGS)
def test_interpreters_end_silently(name):
    assert "done" in assert_ends_silently(ENDINGS[name])


def test_daemon_threads_never_end_the_process_otherwise():
    for _ in range(8):  # a race, so more than once
        assert_ends_silently(ENDINGS["threads of all kinds"].replace("0.3", "0.02"))


def test_a_child_does_not_wait_at_its_end_for_threads_that_it_has_not():
    printed = assert_ends_silently("""
        import os, sys, threading, time, backplane as bp
        x = bp.ones(600, 600)
        def work():
            while True: x @ x
        for _ in range(2): threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
        longest = 0
        for _ in range(4):
            begin = time.monotonic()
            child = os.fork()
            if child == 0: sys.exit(3)
            assert os.waitpid(child, 0)[1] == 3 << 8
            longest = max(longest, time.monotonic() - begin)
        print(longest)
    """)
    assert float(printed) < 4, printed


def interrupted(program):
    """Runs it, sends SIGINT once it printed, and returns what it ended with."""
    child = subprocess.Popen(
        [sys.executable, "-u", "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline().strip() == "started"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    begin = time.monotonic()
    out, error = child.communicate(timeout=30)
    return child.returncode, out, error, time.monotonic() - begin


def test_ctrl_c_in_a_loop_of_long_calls():
    code, out, error, seconds = interrupted("""
        import backplane as bp
        x = bp.ones(1000, 1000)
        print("started")
        try:
            while True:
                x @ x
        except KeyboardInterrupt:
            print("interrupted", (x + 1).sum().item())
    """)
    assert (code, error) == (0, "") and "interrupted 2000000" in out and seconds < 15


def test_ctrl_c_in_backward_with_hooks():
    code, out, error, seconds = interrupted("""
        import backplane as bp
        x = bp.ones(10, requires_grad=True)
        y = x
        for _ in range(300):
            y = y * 1.01
            y.register_hook(lambda g: g * 1)
        print("started")
        try:
            while True:
                y.sum().backward(retain_graph=True)
        except KeyboardInterrupt:
            print("interrupted")
        x.grad = None
        (x * 2).sum().backward()
        print(x.grad.sum().item())
    """)
    assert (code, error) == (0, "") and out.split() == ["interrupted", "20.0"] and seconds < 15


def test_ctrl_c_ends_a_program_as_always():
    code, out, error, seconds = interrupted("""
        import backplane as bp
        x = bp.ones(500, 500)
        print("started")
        while True:
            x @ x
    """)
    assert code == -signal.SIGINT and "KeyboardInterrupt" in error


# A signal's frame is written below the stack of whoever runs: kernels must keep nothing there.
def test_signals_in_the_middle_of_kernels():
    program = """
        import signal, time, backplane as bp
        x, picture = bp.randn(1000, 1000), bp.randn(2, 16, 40, 40, requires_grad=True)
        weight = bp.randn(16, 16, 3, 3, requires_grad=True)
        words, cell = bp.randn(20, 4, 64), bp.nn.LSTM(64, 64)
        def compute():
            y = bp.nn.functional.conv2d(picture, weight, padding=1)
            gradients = bp.autograd.grad(y.sum(), [picture, weight])
            return [x @ x, x @ x, y, *gradients, cell(words)[0]]
        expected = compute()
        count = 0
        def handle(*_):
            global count
            count += 1
        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            for got, wanted in zip(compute(), expected):
                assert bp.equal(got, wanted)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert count > 20, count
    """
    # Not with faulthandler, which gives handlers a stack of their own.
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")


WORK = """
    import backplane as bp
    def work(x):
        y = bp.tensor(x, requires_grad=True)
        ((bp.ones(64, 64) * y.sum()) @ bp.ones(64, 64)).sum().backward()
        return y.grad.tolist()[0]
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_children_compute(how, tmp_path):
    (tmp_path / "work.py").write_text(textwrap.dedent(WORK))
    program = f"""
        import sys; sys.path.insert(0, {str(tmp_path)!r})
        import multiprocessing, work
        if __name__ == "__main__":
            expected = work.work([1.0, 2.0])  # threads of the pool are there before the fork
            context = multiprocessing.get_context({how!r})
            with context.Pool(3) as pool:
                assert pool.map(work.work, [[float(i), 1.0] for i in range(12)]) == [expected] * 12
            print("done")
    """
    script = tmp_path / "main.py"
    script.write_text(textwrap.dedent(program))
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0 and "done" in ended.stdout, ended.stderr[-3000:]


def test_a_fork_while_threads_compute():
    assert_ends_silently("""
        import os, threading, backplane as bp
        stop = False
        def work():
            while not stop:
                bp.ones(128, 128) @ bp.ones(128, 128)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads: thread.start()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                ok = (bp.ones(100, 100) @ bp.ones(100, 100)).sum().item() == 1e6
                os._exit(0 if ok else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        for thread in threads: thread.join()
    """)


# Products of new sizes are prepared first, under locks of the library that multiplies: none may stay locked in a child.
def test_a_fork_while_products_are_prepared():
    assert_ends_silently("""
        import os, random, threading, backplane as bp
        stop = False
        def work(seed):
            sizes = random.Random(seed)
            while not stop:
                rows, inner, columns = (sizes.randrange(40, 300) for _ in range(3))
                bp.ones(rows, inner) @ bp.ones(inner, columns)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads: thread.start()
        for i in range(30):
            child = os.fork()
            if child == 0:
                rows = 50 + i
                ok = (bp.ones(rows, 100) @ bp.ones(100, 97)).sum().item() == rows * 100 * 97
                os._exit(0 if ok else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        for thread in threads: thread.join()
    """)


# Every lock that a kernel's thread may hold at a fork must be free in the child, whatever the kernel.
def test_a_fork_while_threads_compute_all_kinds_of_things():
    assert_ends_silently("""
        import os, random, signal, threading, backplane as bp
        def product(size):
            bp.ones(size(1, 700), 80) @ bp.ones(80, size(1, 700))
        def large_blocks(size):
            kept = [bp.zeros(size(1, 4_000_000)) for _ in range(3)]
            bp.empty_cache()
        def convolution(size):
            x = bp.ones(size(1, 4), size(1, 17), size(8, 40), size(8, 40))
            bp.conv2d(x, bp.ones(size(1, 20), x.shape[1], 3, 3, requires_grad=True)).sum().backward()
        def system(size):
            n = size(2, 60)
            bp.linalg_inv(bp.randn(n, n) + bp.eye(n) * n)
        def order(size):
            x = bp.randn(size(2, 100_000))
            x.sort(); x.cumsum(0); bp.softmax(x, 0)
        def norm(size):
            x = bp.randn(size(1, 64), size(2, 512), requires_grad=True)
            bp.layer_norm(x, [x.shape[1]]).sum().backward()
        def spectrum(size):
            bp.fft.fft(bp.randn(size(2, 5000)))
        def chain(size):
            ((bp.ones(size(1, 3_000_000)) + 1) * 3 - 0.5).tanh().relu().sum().item()
        kinds = [product, large_blocks, convolution, system, order, norm, spectrum, chain]
        stop = False
        def work(seed):
            numbers = random.Random(seed)
            while not stop:
                numbers.choice(kinds)(numbers.randrange)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads: thread.start()
        def works_in_a_child(seed):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                numbers = random.Random(seed)
                for kind in numbers.sample(kinds, len(kinds)): kind(numbers.randrange)
                os._exit(0)
            return os.waitpid(child, 0)[1] == 0
        works = all(works_in_a_child(seed) for seed in range(20))
        stop = True
        for thread in threads: thread.join()
        assert works
    """)


def test_tensors_go_through_pipes(tmp_path):
    (tmp_path / "work.py").write_text("def double(x):\n    return x * 2\n")
    program = f"""
        import sys; sys.path.insert(0, {str(tmp_path)!r})
        import multiprocessing, backplane as bp, work
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                found = pool.apply(work.double, (bp.tensor([1.0, 2.0], dtype=bp.bfloat16),))
            assert found.tolist() == [2, 4] and found.dtype == bp.bfloat16
    """
    script = tmp_path / "main.py"
    script.write_text(textwrap.dedent(program))
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr[-2000:]
