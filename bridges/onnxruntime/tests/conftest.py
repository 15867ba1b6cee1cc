"""Without ONNX Runtime, or without the built package, all tests here are skipped, with a sentence."""

import pytest

pytest.importorskip("onnxruntime", reason="bridges/onnxruntime: this Python has no ONNX Runtime")
pytest.importorskip("onnx", reason="bridges/onnxruntime: this Python has no onnx")
backplane_onnxruntime = pytest.importorskip("backplane_onnxruntime", reason="bridges/onnxruntime: the package is not built")


@pytest.fixture(params=list(backplane_onnxruntime.devices()))
def device(request):
    """Each device that can be used here, by turns."""
    return request.param
