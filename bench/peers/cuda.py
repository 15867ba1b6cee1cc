"""Both sides of the pairs on a card: our program, a process for each group and round, and one of PyTorch's that stays.
For products and attention one of ours stays too, and the sides take turns at each: what the card may spend drifts by more
than they differ."""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from fractions import Fraction
from itertools import takewhile
from statistics import median

import measure
from measure import PEERS, ROOT, BenchError

FOLDER = ROOT / "bench" / "cuda"
PROGRAM = os.environ.get("BACKPLANE_BENCH_PROGRAM") or str(ROOT / "build" / "release" / "bin" / "backplane_bench_cuda")

ROUNDS = {"memory": 3, "norm": 2, "matmul": 7, "attention": 7, "convolution": 2, "order": 2, "calls": 5, "chain": 3}
TAKING_TURNS = ("matmul", "attention")
QUICK_ROUNDS = {group: 1 for group in ROUNDS}
GROUP_SECONDS = 90  # a process that takes longer hangs

# What an operator's rate is held against: the best of these in the whole run, by either side.
COPIES = ("memcpy_1gib", "copy_1gib")
COPY_BUDGET = Fraction(100, 92)


def rows():
    return json.loads((FOLDER / "rows.json").read_text())


def figures(quick, groups):
    """{side: {name: (value, unit)}}, medians over the rounds. A group that fails leaves its rows out, and says why."""
    all_figures = {side: defaultdict(list) for side in ("ours", "peer")}
    with tempfile.TemporaryDirectory() as cache, PyTorch() as pytorch:
        measure.say(pytorch.ask("hello")["name"][0])
        for group, rounds in (QUICK_ROUNDS if quick else ROUNDS).items():
            if group not in groups:
                continue
            if group in TAKING_TURNS:
                take_turns(all_figures, pytorch, cache, group, rounds)
                continue
            for index in range(rounds):
                measure.say(f"{group} {index + 1}/{rounds}")
                add(all_figures["ours"], lambda: ours([group], cache))
                add(all_figures["peer"], lambda: pytorch.ask(group))
    if "start" in groups:
        add(all_figures["ours"], starts)
    found = {side: {name: (median(v for v, _ in values), values[0][1]) for name, values in named.items()}
             for side, named in all_figures.items()}
    add_best_copy(found, all_figures)
    for name in ("bare_launch", "compiled_cold"):  # measured by our program, and what another figure is held against
        if name in found["ours"]:
            found["peer"][name] = found["ours"][name]
    return found


def take_turns(all_figures, pytorch, cache, group, rounds):
    names = list(dict.fromkeys(row["ours"] for row in rows() if row["group"] == group))
    with Ours(cache) as ours_that_stays:
        for name in names:
            measure.say(name)
            for _ in range(rounds):
                add(all_figures["ours"], lambda: ours_that_stays.ask(name))
                add(all_figures["peer"], lambda: pytorch.ask(name))


def add(figures_of_side, measure_group):
    try:
        for name, figure in measure_group().items():
            figures_of_side[name].append(tuple(figure))
    except BenchError as error:
        measure.say(f"bench: {error}")


def add_best_copy(found, all_figures):
    rates = [value for named in all_figures.values() for name in COPIES for value, _ in named[name]]
    if rates:
        found["peer"]["copy_bandwidth"] = (max(rates), "GB/s")


def environment_of_ours(cache):
    environment = {**os.environ, "BACKPLANE_CACHE_DIR": cache}
    if "BACKPLANE_BENCH_LIBRARIES" in os.environ:
        environment["LD_LIBRARY_PATH"] = os.environ["BACKPLANE_BENCH_LIBRARIES"]
    return environment


def ours(arguments, cache):
    try:
        done = subprocess.run([PROGRAM, *arguments], env=environment_of_ours(cache), capture_output=True, text=True,
                              timeout=GROUP_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"{arguments[0]}: {error}") from None
    if done.returncode:
        # What it measured before it failed counts.
        measure.say(f"bench: {arguments[0]}: code {done.returncode}: {measure.reason(done.stderr or done.stdout)}")
    return figures_in(done.stdout.splitlines())


def figures_in(lines):
    measured = [json.loads(line) for line in lines if line.startswith("{")]
    return {figure["name"]: (figure["value"], figure["unit"]) for figure in measured}


def starts():
    """What two processes wait for that start one after the other, the first with an empty cache of compiled kernels."""
    with tempfile.TemporaryDirectory() as cache:
        first, second = ours(["start"], cache), ours(["start"], cache)
    named = {f"{name}_cold": figure for name, figure in first.items()}
    return {**named, **{f"{name}_cached": figure for name, figure in second.items()}}


class Side:
    """A process that keeps its card, its handles and its caches from one question to the next, as a program of its user
    would."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.close()
            self.process.wait(timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()

    def say(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError:
            raise BenchError(f"{line}: {self.process.args[0]} ended") from None


class Ours(Side):
    def __init__(self, cache):
        super().__init__([PROGRAM, "serve"], environment_of_ours(cache))

    def ask(self, name):
        self.say(name)
        answer = iter(self.process.stdout.readline, "")
        return figures_in(list(takewhile(lambda line: line != "end\n", answer)))


class PyTorch(Side):
    def __init__(self):
        # PyTorch finds its own libraries; ours are not in its way.
        environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        super().__init__([sys.executable, str(PEERS / "cuda_pytorch.py")], environment)

    def ask(self, name):
        self.say(name)
        line = self.process.stdout.readline()
        answer = json.loads(line) if line.startswith("{") else {"error": f"{name}: PyTorch's process ended"}
        if "error" in answer:
            raise BenchError(f"PyTorch: {answer['error']}")
        return answer
