"""Without PyTorch, or without the built package, all tests here are skipped, with a sentence."""

import pytest

torch = pytest.importorskip("torch", reason="bridges/torch: this Python has no PyTorch")
backplane_torch = pytest.importorskip("backplane_torch", reason="bridges/torch: the package backplane-torch is not built")


@pytest.fixture(params=[pytest.param(index, id=name) for index, name in enumerate(backplane_torch.devices())])
def device(request):
    """Each device that can be used here, by turns."""
    return torch.device("backplane", request.param)


@pytest.fixture
def strict():
    """The CPU is forbidden while the test lasts."""
    backplane_torch.set_strict()
    yield
    backplane_torch.set_strict(False)
