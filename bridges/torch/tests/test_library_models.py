"""Models of torchvision and transformers train and generate as on PyTorch's CPU, which is forbidden meanwhile."""

import importlib.util

import backplane_torch
import pytest
import torch

MISSING = [name for name in ("torchvision", "transformers") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"this Python has no {' and no '.join(MISSING)}, which ./dev test --full installs"
)
if not MISSING:
    import library_models

MODELS = ["resnet18", "resnet50", "vit_b_16", "lstm", "bert", "gpt2", "llama", "t5", "whisper"]


@pytest.fixture(params=[name for name in backplane_torch.devices() if name.endswith(":0")])
def device(request):
    """One device of each plugin."""
    return torch.device("backplane", backplane_torch.devices().index(request.param))


@pytest.fixture(autouse=True)
def no_hub(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize("name", MODELS)
def test_three_steps_are_those_of_the_cpu(name, device, strict):
    expected, _ = library_models.train(name, "cpu")
    losses, _ = library_models.train(name, device)
    assert losses == pytest.approx(expected, abs=1e-5, rel=0)


@pytest.mark.parametrize("name", ["resnet18", "resnet50"])
def test_steps_that_amplify_rounding_are_those_of_the_cpu_in_float64(name, strict):
    options = {"dtype": torch.float64, "zero_init_residual": False}
    expected, _ = library_models.train(name, "cpu", **options)
    losses, _ = library_models.train(name, "backplane", **options)
    assert losses == pytest.approx(expected, abs=1e-7, rel=0)


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5", "whisper"])
def test_generation_gives_the_words_of_the_cpu(name, device, strict):
    expected = library_models.generate(name, "cpu")
    assert len({word for words in expected for word in words[-8:]}) > 1
    assert library_models.generate(name, device) == expected


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_dropout_trains(name, strict):
    losses, _ = library_models.train(name, "backplane", steps=8, rate=0.1, dropout=True)
    assert losses[-1] < losses[0]
