"""The programs of examples/python, each run as a user runs it."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"


def output_of(program, *arguments):
    run = subprocess.run([sys.executable, EXAMPLES / program, *arguments], capture_output=True, text=True, timeout=250)
    assert run.returncode == 0, run.stderr
    assert not run.stderr, run.stderr
    return run.stdout


def test_digits_are_read():
    found = re.search(r"([\d.]+)% of (\d+) held-out digits", output_of("digits.py"))
    assert float(found[1]) >= 98.5 and int(found[2]) == 360


def test_writer_learns_and_writes():
    text = output_of("writer.py", "/usr/share/common-licenses/GPL-3", "120")
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", text)]
    assert losses[0] > 4 and losses[-1] < 2.8
    assert len(text.rpartition(f"loss {losses[-1]:.3f}\n")[2]) >= 264


def test_own_function_has_the_right_derivative():
    assert float(output_of("own_function.py").rpartition(":")[2]) < 1e-12


def test_devices_agree():
    *lines, last = output_of("devices.py").splitlines()
    assert any(line.startswith("cpu:0") for line in lines) and any(line.startswith("reference:0") for line in lines)
    assert float(last.rpartition(" ")[2]) < 1e-2
