"""Both sides of the pairs with OpenCL: one program measures them in turns, this module starts it."""

import json
import os
import tempfile

import measure
from measure import ROOT, BenchError

FOLDER = ROOT / "bench" / "opencl"
PROGRAM = ROOT / "build" / "release" / "bin" / "backplane_bench_opencl"

ROUNDS = {"memory": 11, "matmul": 11, "calls": 11, "chain": 11}
QUICK_ROUNDS = {"memory": 3, "matmul": 3, "calls": 3, "chain": 3}


def rows():
    return json.loads((FOLDER / "rows.json").read_text())


def figures(quick):
    found = figures_of(PROGRAM, QUICK_ROUNDS if quick else ROUNDS)
    add(found, starts())
    return found


def figures_of(program, rounds_of):
    """{side: {name: (value, unit)}}. A group that fails leaves its rows out, and says why."""
    if not program.exists():
        raise BenchError(f"{program.relative_to(ROOT)} is missing; it is built where what it measures is")
    found = {"ours": {}, "peer": {}}
    for group, rounds in rounds_of.items():
        measure.say(f"{group}, {rounds} rounds")
        try:
            add(found, run(program, [group, str(rounds)]))
        except BenchError as error:
            measure.say(f"bench: {error}")
    return found


def starts():
    """What two processes compile that start one after the other with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (run(PROGRAM, ["start"], {"BACKPLANE_CACHE_DIR": folder})[0] for _ in range(2))
    return [{**first, "side": "peer", "name": "compiled_at_first_start"},
            {**second, "side": "ours", "name": "compiled_at_second_start"}]


def run(program, arguments, environment=None):
    command = [str(program), *arguments]
    printed = measure.must_run(" ".join([program.name, *arguments]), command, {**os.environ, **(environment or {})})
    return [json.loads(line) for line in printed.splitlines()]


def add(found, measured):
    for figure in measured:
        found[figure["side"]][figure["name"]] = (figure["value"], figure["unit"])
