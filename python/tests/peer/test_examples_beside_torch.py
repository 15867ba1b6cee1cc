"""The examples that meet PyTorch: its layers beside a plugin's, and the vectors of sentences against its own."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
import backplane as bp  # noqa: E402

ROOT = Path(__file__).parents[3]
TOLERANCE = 1e-5  # of vectors of length one


def module_at(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def ours():
    return module_at(ROOT / "examples/python/sentences.py")


@pytest.fixture(scope="module")
def theirs():
    return module_at(ROOT / "tests/pytorch/compare_sentences.py")


@pytest.fixture(scope="module")
def model():
    fetched = subprocess.run([ROOT / "examples/sentences/fetch_model"], capture_output=True, text=True)
    if fetched.returncode != 0:
        pytest.skip(f"the model can't be fetched: {fetched.stderr.strip()[-300:]}")
    return Path(fetched.stdout.strip())


@pytest.mark.parametrize("device", ["cpu:0", "reference:0"])
def test_a_device_serves_layers_between_pytorch_s(device):
    command = [sys.executable, ROOT / "examples/python/beside_torch.py", device]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]" in run.stdout
    assert float(re.search(r"differ by (\S+)", run.stdout)[1]) < 1e-4
    losses = [float(loss) for loss in re.findall(r"loss (\S+)", run.stdout)]
    assert losses[-1] < losses[0] / 4, run.stdout


def test_sentences_have_the_tokens_and_vectors_that_pytorch_gives_them(model, ours, theirs):
    lines = [line for line in (ROOT / "examples/sentences/sentences.txt").read_text().splitlines() if line]
    tokenizer = ours.Tokenizer(model / "vocab.txt")
    tokens = [tokenizer(line) for line in lines]
    assert len(lines) >= 100 and tokens == theirs.tokens_of(lines, model)
    with bp.inference_mode():
        vectors = torch.from_dlpack(ours.load_encoder(model)(*ours.batch_of(lines, tokenizer)))
    weights = theirs.read_safetensors(model / "model.safetensors")
    expected = torch.cat([theirs.encode(weights, torch.tensor([each])) for each in tokens])
    assert (vectors - expected).abs().max().item() <= TOLERANCE


def test_sentences_reads_any_text_as_tokenizers_does(model, ours, theirs):
    odd = ["a" * 101, "a" * 100, "don't stop--now!?", "\u00c5ngstr\u00f6m \u0130stanbul", "tab\there\u00a0too",
           "\U0001f600 smile", "zero\u200bwidth \x07bell", "\ufffd", "$5+3=8 <b>", "\u4eca\u65e5 news", ""]  # fmt: skip
    tokenizer = ours.Tokenizer(model / "vocab.txt")
    assert [tokenizer(line) for line in odd] == theirs.tokens_of(odd, model)
    cut = tokenizer("word " * 300)
    assert len(cut) == 256 and (cut[0], cut[-1]) == (101, 102)


def test_sentences_finds_the_nearest_line(model):
    command = [sys.executable, ROOT / "examples/python/sentences.py", model]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr, run.stderr
    lines = run.stdout.splitlines()
    at = lines.index("Old trees store a lot of carbon.")
    assert lines[at + 1].endswith("Forests take up CO2 & keep it for centuries!") and len(lines) >= 200
