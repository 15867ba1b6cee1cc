"""docs/write_a_backend.md: from `backplane new-backend` to a training loop in PyTorch by the three commands that it prints."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

BUILD = Path.cwd()  # tests/python/run.py starts pytest in the build's folder
GUIDE = Path(__file__).parents[3] / "docs" / "write_a_backend.md"
MOST_SECONDS = 180  # on two busy cores


def commands_and_output():
    section = GUIDE.read_text().split("\n## Your device in PyTorch and ONNX Runtime\n")[1]
    return [block.splitlines() for block in re.findall(r"^```\w*\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[:2]]


def losses(text):
    return [float(each) for each in re.search(r"acme:0 in PyTorch: loss ([\d.]+) -> ([\d.]+) in 60 steps", text).groups()]


def test_three_commands_train_on_the_scaffold(tmp_path):
    installed, (lines, shown) = tmp_path / "installed", commands_and_output()
    assert len(lines) == 3
    done = subprocess.run(["cmake", "--install", BUILD, "--prefix", installed], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    setup = f". {installed}/share/backplane/environment.sh {installed}\nset -euo pipefail\n"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "CMAKE_GENERATOR": "Ninja", "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}
    started = time.monotonic()
    done = subprocess.run(["bash", "-c", setup + "\n".join(lines)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    print(f"{seconds:.0f} s from the scaffold to a trained net")
    assert done.returncode == 0, done.stdout + done.stderr
    first, last = losses(done.stdout)
    assert last < first / 3
    assert losses(shown[0]) == pytest.approx([first, last], abs=0.002)  # sums are rounded as the processor adds
    assert shown[1] == "by PyTorch's CPU: nothing" and shown[1] in done.stdout
    assert seconds < MOST_SECONDS
