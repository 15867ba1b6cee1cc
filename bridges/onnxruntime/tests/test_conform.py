"""`backplane conform --through onnx`, on the cpu and on a plugin that is built to be wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path.cwd()  # tests/python/run.py starts pytest in the build's folder
PROGRAM = BUILD / "bin" / "backplane-conform"
EXAM = BUILD / "lib" / "test_plugins" / "libbackplane_exam.so"

pytestmark = pytest.mark.skipif(not PROGRAM.exists() or not EXAM.exists(), reason="the suite or its exam's plugin is not built")


def through(device, out, *words):
    words = ["--device", device, "--through", "onnx", "--jobs", "2", "--out", out, "--python", sys.executable, *words]
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
    return done, {line["case"]: line["outcome"] for line in lines if "case" in line}


def test_a_report_of_the_cpu_tells_unclaimed_from_wrong(tmp_path):
    done, found = through("cpu:0", tmp_path, "--quick", "--filter", "Add", "--filter", "Softmax", "--filter", "StringConcat")
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["onnx:Add/add"] == found["onnx:Softmax/softmax_axis_0"] == "pass"
    assert found["onnx:StringConcat/string_concat"] == "unsupported"
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert certificate["through"]["suite"] == "onnx" and set(certificate["through"]["versions"]) == {"onnx", "onnxruntime"}


def test_a_planted_fault_is_found(tmp_path):
    plant = ("--plugin", EXAM, "--env", "BACKPLANE_EXAM_FAULT=vector_tail")
    done, found = through("exam:0", tmp_path, "--filter", "Exp", "--filter", "MatMul", *plant)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "fail" in {outcome for name, outcome in found.items() if "Exp" in name}
    assert {outcome for name, outcome in found.items() if "MatMul" in name} == {"pass"}
