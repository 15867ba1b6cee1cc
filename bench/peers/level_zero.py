"""level_zero:0 against opencl:0 of the same OpenCL driver, and its launch against the bare call: one program measures all."""

import json

import opencl
from measure import ROOT

PROGRAM = ROOT / "build" / "release" / "bin" / "backplane_bench_level_zero"

ROUNDS = {"memory": 15, "matmul": 15, "launch": 15}
QUICK_ROUNDS = {"memory": 3, "matmul": 3, "launch": 3}


def rows():
    return json.loads((ROOT / "bench" / "level_zero" / "rows.json").read_text())


def figures(quick):
    return opencl.figures_of(PROGRAM, QUICK_ROUNDS if quick else ROUNDS)
