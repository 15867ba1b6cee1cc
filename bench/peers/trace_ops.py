#!/usr/bin/env python3
"""Writes core_ops/required.txt: the operators that models and array programs call, each with its sources.

    python3 bench/peers/trace_ops.py

It goes on in the virtual environment of `./dev bench --peer pytorch`, to which it adds what dependencies/pip-trace.txt
names, and takes a minute. How much of the list the table has, tests/rules/required_rule.py says.
"""

import importlib.metadata
import os
import sys
import textwrap

import measure
import pytorch
from measure import ROOT, BenchError

REQUIREMENTS = ROOT / "dependencies" / "pip-trace.txt"
MODELS = ROOT / "dependencies" / "pip-torch-models.txt"  # which that one names
STAMP = pytorch.VENV / "installed_for_traces.txt"
LIST = ROOT / "core_ops" / "required.txt"
FUNCTIONS_OF_PYTORCH = 250
HEAD = """\
Written by bench/peers/trace_ops.py; do not edit. {count} operators that models and array programs call, with their sources:
`array_api`: all functions of the array API standard 2024.12 with `linalg` and `fft`, as array-api-strict {array_api_strict}
has them. `torch`: the {functions} most used functions of PyTorch {torch}, by the share of files that call them in {libraries},
each library weighing the same (bench/peers/counted_calls.py says what this misses). `onnx`: all operators of ONNX opset
21, as onnx {onnx} has them, without control flow, sequences and those deprecated. `aten`, `torchvision`: what these
models call when they are built with random weights and run forward and backward (bench/peers/traced_models.py): {models}.
"""


def main():
    if os.path.realpath(sys.prefix) != os.path.realpath(pytorch.VENV):
        try:
            install()
        except BenchError as error:
            sys.exit(f"trace_ops: {error}")
        os.execv(pytorch.PYTHON, [pytorch.PYTHON, "-W", "ignore", *sys.argv])
    import operator_sources  # which needs what was installed

    sources = operator_sources.collect(FUNCTIONS_OF_PYTORCH)
    lines = [f"{name}  {', '.join(found)}" for name, found in sorted(sources.items())]
    LIST.write_text(head(len(lines)) + "\n".join(lines) + "\n")
    measure.say(f"{LIST.relative_to(ROOT)}: {len(lines)} names")


def install():
    """Adds what REQUIREMENTS names to PyTorch's virtual environment, unless it is there."""
    pytorch.install()
    wanted = REQUIREMENTS.read_text() + MODELS.read_text()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    measure.say(f"installing into {pytorch.VENV.relative_to(ROOT)} what {REQUIREMENTS.name} names")
    measure.must_run(f"installing what {REQUIREMENTS.name} names",
                     [str(pytorch.PYTHON), "-m", "pip", "install", "--no-cache-dir", "-r", str(REQUIREMENTS),
                      "-c", str(pytorch.REQUIREMENTS)])  # fmt: skip
    STAMP.write_text(wanted)


def head(count):
    import counted_calls
    import traced_models

    versions = {name.replace("-", "_"): importlib.metadata.version(name) for name in ("torch", "onnx", "array-api-strict")}
    text = HEAD.format(count=count, functions=FUNCTIONS_OF_PYTORCH, libraries=", ".join(counted_calls.LIBRARIES),
                       models=", ".join(traced_models.MODELS), **versions)  # fmt: skip
    return textwrap.indent(textwrap.fill(text, 118), "# ") + "\n"


if __name__ == "__main__":
    main()
