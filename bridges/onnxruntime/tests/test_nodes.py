"""A quarter of ONNX's node tests on cpu, and a sixteenth on opencl; all of them: node_tests.py."""

import re
import subprocess
import sys
from pathlib import Path

import backplane_onnxruntime
import pytest

RUNNER = Path(__file__).parent / "node_tests.py"


@pytest.mark.parametrize(("device", "parts", "least"), [("cpu:0", 4, 330), ("opencl:0", 16, 80)])
def test_none_fails_that_is_claimed(device, parts, least):
    if device not in backplane_onnxruntime.devices():
        pytest.skip(f"no device {device}")
    done = subprocess.run([sys.executable, RUNNER, "--device", device, "--of", str(parts)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= least, done.stdout


def test_operators_are_those_of_the_wheel():
    done = subprocess.run([sys.executable, RUNNER.parents[1] / "read_operators.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
