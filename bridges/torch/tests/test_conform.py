"""`backplane conform --through pytorch`, on the cpu and on a plugin that is built to be wrong."""

import html
import json
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path.cwd()  # tests/python/run.py starts pytest in the build's folder
PROGRAM = BUILD / "bin" / "backplane-conform"
EXAM = BUILD / "lib" / "test_plugins" / "libbackplane_exam.so"

pytestmark = pytest.mark.skipif(not PROGRAM.exists() or not EXAM.exists(), reason="the suite or its exam's plugin is not built")


def conform(*words, python=sys.executable):
    words = [str(word) for word in words]
    given = ["--python", python] if "--through" in words else []
    return subprocess.run([PROGRAM, *words, *given], capture_output=True, text=True, check=False)


def through(device, out, *words):
    return conform("--device", device, "--through", "pytorch", "--jobs", "2", "--out", out, *words)


def records(folder):
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    return {line["case"]: line for line in lines if "case" in line}


def test_a_report_of_the_cpu_has_all_parts(tmp_path):
    done = through("cpu:0", tmp_path, "--quick", "--filter", "softmax", "--filter", "nn.functional.gelu", "--filter", "sort", "--filter", "chalf")
    assert done.returncode == 0, done.stdout + done.stderr
    found = records(tmp_path)
    lacking = found.pop("pytorch:chalf[f32]")
    assert lacking["outcome"] == "unsupported" and "no tensors of dtype ComplexHalf" in lacking["why"]
    assert {name: each["rung"] for name, each in found.items()} == {
        "pytorch:nn.functional.gelu[f32]": "native", "pytorch:softmax[f32]": "native", "pytorch:sort[f32]": "native",
    }  # fmt: skip
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert certificate["through"]["suite"] == "pytorch" and certificate["through"]["versions"]["torch"]
    assert certificate["summary"]["total"]["correct"] == 3 and certificate["profile"] == "partial"
    assert 'name="cpu:0 pytorch" tests="4" failures="0"' in (tmp_path / "junit.xml").read_text()
    assert (tmp_path / "report.html").exists()
    assert "correct  3 of the 4 cases that were run" in done.stdout


def test_a_planted_fault_is_found(tmp_path):
    plant = ("--plugin", EXAM, "--env", "BACKPLANE_EXAM_FAULT=k_tail")
    done = through("exam:0", tmp_path, "--quick", "--filter", "mm", "--filter", "exp", *plant)
    assert done.returncode == 1, done.stdout + done.stderr
    assert {name: each["outcome"] for name, each in records(tmp_path).items()} == {"pytorch:mm[f32]": "fail", "pytorch:exp[f32]": "pass"}
    junit = html.unescape((tmp_path / "junit.xml").read_text())
    assert "backplane conform --through pytorch --profile quick --filter 'pytorch:mm[f32]' --device exam:0 --plugin" in junit


def test_float64_says_whose_error_a_difference_is():
    sys.path.append(str(Path(__file__).resolve().parents[3] / "conformance" / "through"))
    import torch
    from samples import without_own_errors

    def left(ours, theirs, exact):
        return without_own_errors(torch.tensor(ours), torch.tensor(theirs), torch.tensor(exact, dtype=torch.float64))[0].tolist()

    nan, inf = float("nan"), float("inf")
    assert left([1.0, 2.0], [1.0, 2.5], [1.0, 2.0]) == [1, 2]
    assert left([1.0, 3.0], [nan, 2.0], [1.0, 2.0]) == [1, 2]  # our second element stays wrong, whatever PyTorch's first one is
    assert left([nan, inf], [1.0, 2.0], [1.0, -inf]) == [1, 2]
    assert left([nan], [1.0], [nan]) != [1]
    shapes = without_own_errors(torch.ones(2), torch.zeros(3), torch.ones(3, dtype=torch.float64))
    assert shapes[0].tolist() == [0, 0, 0]
    assert without_own_errors(torch.ones(2), torch.zeros(2), []).tolist() == [0, 0]


def test_what_pytorch_itself_computes_coarsely_is_no_fault_of_a_device(tmp_path):
    names = "logcumsumexp[f32]/backward", "special.bessel_j0[f64]", "special.bessel_y1[f64]"
    done = through("cpu:0", tmp_path, *(word for name in names for word in ("--filter", f"pytorch:{name}")))
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.append(str(Path(__file__).resolve().parents[3] / "conformance" / "through"))
    import torch
    from samples import PYTORCH_IS_OFF, close, greatest_error

    exact = torch.tensor([1.0, 2.0, float("inf")], dtype=torch.float64)
    own = greatest_error(torch.tensor([1.25, 2.0, 3.0]), exact)
    assert own == 0.25  # an infinity that it lacks is not a measure of anything
    close(torch.tensor([1.0, 2.9]), torch.tensor([1.0, 2.0]), torch.float32, allowance=4 * own)
    wrong = torch.tensor([-0.033781313 + 1e-5], dtype=torch.float64)  # beyond what PyTorch's own is off
    with pytest.raises(AssertionError):
        close(wrong, torch.tensor([-0.033781502], dtype=torch.float64), torch.float64, allowance=PYTORCH_IS_OFF["special.bessel_j0"])
    for allowance in (0.0, 3 * own):
        with pytest.raises(AssertionError):
            close(torch.tensor([1.0, 2.9]), torch.tensor([1.0, 2.0]), torch.float32, allowance=allowance)


def test_what_ends_its_process_is_named_and_the_run_goes_on(tmp_path):
    plant = ("--plugin", EXAM, "--env", "BACKPLANE_EXAM_FAULT=aborts_on_dtype")
    done = through("exam:0", tmp_path, "--full", "--filter", "neg", "--filter", "exp", *plant)
    assert done.returncode == 1, done.stdout + done.stderr
    found = records(tmp_path)
    assert {name for name, each in found.items() if each["outcome"] == "crash"} == {"pytorch:neg[i16]"}
    assert "signal 6 (Aborted)" in found["pytorch:neg[i16]"]["why"]
    assert found["pytorch:neg[i32]"]["outcome"] == found["pytorch:exp[i16]"]["outcome"] == "pass"


def test_what_never_returns_is_named_and_the_run_goes_on(tmp_path):
    plant = ("--plugin", EXAM, "--env", "BACKPLANE_EXAM_FAULT=hangs_on_dtype")
    done = through("exam:0", tmp_path, "--full", "--filter", "neg", "--filter", "exp", "--patience", "5", *plant)
    assert done.returncode == 1, done.stdout + done.stderr
    found = records(tmp_path)
    assert {name for name, each in found.items() if each["outcome"] == "timeout"} == {"pytorch:neg[i8]"}
    assert found["pytorch:neg[i8]"]["why"].startswith("no answer within 5 s")
    assert found["pytorch:neg[i16]"]["outcome"] == found["pytorch:exp[i8]"]["outcome"] == "pass"


def test_patience_belongs_to_the_suites_of_others(tmp_path):
    done = conform("--device", "cpu:0", "--patience", "5", "--out", tmp_path)
    assert done.returncode == 2 and "--patience requires --through" in done.stderr, done.stderr
    assert through("cpu:0", tmp_path, "--patience", "0").returncode == 2


def test_a_certificate_has_a_section_that_verify_counts_again(tmp_path):
    assert conform("--device", "cpu:0", "--quick", "--level", "0", "--quiet", "--out", tmp_path).returncode == 0
    assert through("cpu:0", tmp_path / "pytorch", "--quick", "--filter", "mv").returncode == 0
    done = conform("certify", tmp_path)
    assert "through pytorch: 1 cases, 1 correct, 1 native, 0 failed, 0 unsupported" in done.stdout, done.stdout + done.stderr
    assert json.loads((tmp_path / "certificate.json").read_text())["sections"]["pytorch"]["figures"]["correct"] == 1
    assert 'holds: the section "pytorch"' in conform("verify", tmp_path).stdout
    journal = tmp_path / "pytorch" / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"pass"', '"unsupported"'))
    done = conform("verify", tmp_path)
    assert done.returncode == 1 and 'DOES NOT HOLD: the section "pytorch"' in done.stdout
    refused = conform("certify", tmp_path / "pytorch")
    assert refused.returncode == 2 and "give no level" in refused.stderr


def test_what_is_missing_is_said(tmp_path):
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    words = ("--device", "cpu:0", "--through", "pytorch", "--out", tmp_path)
    done = conform(*words, python=bare / "bin" / "python")
    assert done.returncode == 2
    assert "(No module named 'torch'); install what they need:" in done.stderr and "-m pip install torch backplane-torch" in done.stderr
    assert "cannot start /nowhere/python" in conform(*words, python="/nowhere/python").stderr
    done = through("cpu:0", tmp_path, "--filter", "nothing_like_it")
    assert done.returncode == 2 and "no case of --through pytorch matches nothing_like_it" in done.stderr
