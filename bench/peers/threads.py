"""Threads that pay, and that yield: training steps by two threads and by one, alone and beside a program that never rests.

`./dev bench --peer pytorch --suite threads`. The peer of a row is the same step by other means; PyTorch's stand beside ours, without a budget.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from contextlib import contextmanager
from statistics import median

import backplane
import measure
import pytorch
from cores import Cores
from measure import BUILD, PEERS, say

NETWORKS = ("mlp", "digits", "small_transformer")
SAMPLE_MS = 100  # long enough that what the system moves between the cores is in each sample
ROUNDS = 5


def rows():
    return json.loads((PEERS.parent / "threads" / "rows.json").read_text())


def figures(quick):
    """The medians of all figures, each under its name, for whichever side a row asks."""
    backplane.prepare()
    pytorch.install()
    pytorch.build("pytorch_training", pytorch.PYTORCH_FLAGS)
    cores = Cores()
    found = defaultdict(list)
    for index in range(1 if quick else ROUNDS):
        say(f"threads {index + 1}/{1 if quick else ROUNDS}")
        for name, value in measure_once(cores):
            found[name].append(value)
    cores.print_summary()
    middle = {name: (median(value for value, _ in values), values[0][1]) for name, values in found.items()}
    return {"ours": middle, "peer": middle}


def measure_once(cores):
    for word, threads in (("two", 2), ("one", 1)):
        yield f"matmul_2048_f32_{word}", cores.measure(lambda: product(threads))
    for network in NETWORKS:
        ours, peer = [str(backplane.PAIRS), "training", network], [str(BUILD / "pytorch_training"), network]
        for word, threads in (("two", 2), ("one", 1)):
            yield f"{network}_{word}", cores.measure(lambda: step(network, ours, threads))
        for name, command in ((f"{network}_busy", ours), (f"pytorch_{network}_busy", peer)):
            yield name, cores.measure(lambda: step_beside_a_busy_core(network, command))


def product(threads):
    return measure.program([str(backplane.PAIRS), "large"], environment(threads))["matmul_2048_f32"]


def step(network, command, threads):
    return measure.program(command, environment(threads))[f"{network}_step"]


def step_beside_a_busy_core(network, command):
    with a_busy_core():
        return step(network, command, 2)


def environment(threads):
    count = str(threads)
    return {**backplane.ENVIRONMENT, "BACKPLANE_NUM_THREADS": count, "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count,
            "BENCH_SAMPLE_MS": str(SAMPLE_MS)}


@contextmanager
def a_busy_core():
    """Another program that always has work for the first of our cores."""
    core = min(os.sched_getaffinity(0))
    other = subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()
