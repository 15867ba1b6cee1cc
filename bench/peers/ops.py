"""The width of the library: each case of ops_cases.hpp, both sides in turn. `./dev bench --peer pytorch --suite ops`.

Two programs stay open, hold one case's inputs at a time, and answer with that case's time.
"""

import json
import os
import subprocess
import time
from collections import defaultdict
from math import exp, log
from statistics import median

import backplane
import pytorch
from cores import Cores
from measure import BUILD, BenchError, say

ROUNDS = 3
# Of a case whose verdict a neighbour's noise could turn, or made: its ratio is near to the limit, or past it.
CLOSE_ROUNDS, CLOSE = 7, 0.15
# Seconds in which the other side's threads end their wait for work: they spin for some milliseconds, on cores that are then missing.
SETTLED = 0.01
# Of a case during which the cores were not whole.
CORE_TRIES, CORE_PAUSE_S = 3, 0.2
# How often PyTorch's speed, as a geometric mean over all cases of so many elements.
DUE = {"1": 8, "1000": 3, "1000000": 1.5, "16000000": 1.5}
LEAST = 0.9  # of PyTorch's speed, of each case
# PyTorch's threads each on a core of their own: left to the system, both shared one for minutes at a time, and each of its
# parallel regions took the 8 ms of a turn.
PEER_ENVIRONMENT = {**os.environ, "OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}


def measure(options):
    """The rows of the table; cases that `options.json` has are taken from there, so that a run can go on."""
    sides = start(options)
    names = sides["ours"].names
    if sides["peer"].names != names:
        raise BenchError("the two sides have other cases")
    known = kept(options.json)
    cores = Cores()
    begin = time.monotonic()
    for index, name in enumerate(names):
        late = options.seconds and time.monotonic() - begin > options.seconds
        if name in known or late or not all(part in name for part in options.only):
            continue
        known[name] = cores.measure(lambda: in_turn(sides, index), CORE_TRIES, CORE_PAUSE_S)
        say(f"{index + 1}/{len(names)} {name}: {known[name]['peer'] / known[name]['ours']:.2f}")
    cores.print_summary()
    return [known[name] for name in names if name in known]


def kept(path):
    try:
        with open(path) as file:
            return {row["name"]: row for row in json.load(file)}
    except (TypeError, FileNotFoundError):
        return {}


class Side:
    """A program that measures the case whose number it reads."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.names = list(iter(lambda: self.line(), ""))

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise BenchError(f"{self.process.args[0]} ended early")
        return line.strip()

    def time(self, index):
        print(index, file=self.process.stdin, flush=True)
        return float(self.line())


def start(options):
    backplane.prepare()
    pytorch.install()
    pytorch.build("pytorch_ops", pytorch.PYTORCH_FLAGS)
    return {"ours": Side([str(backplane.PAIRS), "ops"], backplane.ENVIRONMENT), "peer": Side([str(BUILD / "pytorch_ops")], PEER_ENVIRONMENT)}


def in_turn(sides, index):
    times = {side: [] for side in sides}
    for taken in range(CLOSE_ROUNDS):
        if taken >= ROUNDS and ratio * LEAST < 1 - CLOSE:
            break
        for side, program in sides.items():
            time.sleep(SETTLED)
            times[side].append(program.time(index))
        ours, peer = median(times["ours"]), median(times["peer"])
        ratio = ours / peer
    time.sleep(SETTLED)
    return {"name": sides["ours"].names[index], "ours": ours, "peer": peer, "unit": "ns", "ratio": round(ratio, 4),
            "budget": round(1 / LEAST, 4), "met": ratio <= 1 / LEAST}


def size_of(row):
    return row["name"].split("/")[1]


def speeds(rows):
    """PyTorch's time over ours, by size."""
    found = defaultdict(list)
    for row in rows:
        found[size_of(row)].append(row["peer"] / row["ours"])
    return found


def geometric_mean(values):
    return exp(sum(map(log, values)) / len(values))


def print_summary(rows):
    print("elements    cases  speed  due   below 0.9")
    for size, values in speeds(rows).items():
        below = sum(value < LEAST for value in values)
        print(f"{size:<11} {len(values):>5} {geometric_mean(values):>6.2f} {DUE.get(size, ''):>4} {below:>6}")
    slow = sorted((row for row in rows if not row["met"]), key=lambda row: -row["ratio"])
    for row in slow:
        print(f"  {row['name']:<48} {1 / row['ratio']:.2f} of PyTorch's speed: {row['ours']:.0f} against {row['peer']:.0f} ns")
    print(f"{len(slow)} of {len(rows)} cases are below {LEAST} of PyTorch's speed")


def svg(rows):
    """For each size all cases as dots, by how often PyTorch's speed we have, on a logarithmic axis."""
    left, width, band, low, high = 110, 760, 70, 0.125, 64
    place = lambda speed: left + width * (log(min(max(speed, low), high)) - log(low)) / (log(high) - log(low))
    sizes = speeds(rows)
    height = 60 + band * len(sizes)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}" height="{height}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>',
             '<text x="12" y="20" font-size="15">How often PyTorch\'s speed: each operator, layout and dtype a dot, by elements; bars are geometric means</text>']
    for tick in (0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64):
        x = place(tick)
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="36" y2="{height - 20}" stroke="{"#4a5568" if tick == 1 else "#e2e8f0"}"/>'
                     f'<text x="{x:.0f}" y="{height - 5}" text-anchor="middle">{tick:g}</text>')
    for index, (size, values) in enumerate(sizes.items()):
        top, mean = 40 + band * index, geometric_mean(values)
        parts.append(f'<text x="{left - 8}" y="{top + 32}" text-anchor="end">{size}</text>')
        for number, value in enumerate(values):
            color = "#2f855a" if value >= LEAST else "#c53030"
            parts.append(f'<circle cx="{place(value):.1f}" cy="{top + 8 + number * 29 % 47:.0f}" r="2" fill="{color}" fill-opacity="0.5"/>')
        parts.append(f'<rect x="{place(mean) - 1.5:.1f}" y="{top + 2}" width="3" height="{band - 14}" fill="#1a202c"/>'
                     f'<text x="{place(mean) + 5:.1f}" y="{top + 12}">{mean:.2f}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
