"""A plugin of pytest: all tests make their arrays on the device that BACKPLANE_TEST_DEVICE names, and leave out the draws that
a tensor cannot be asked for, each with its reason."""

import os
from unittest import mock

import backplane
import hypothesis
import pytest

device = os.environ.get("BACKPLANE_TEST_DEVICE", "cpu:0")
backplane.set_default_device(device)


# Of a device that is not a processor or card.
REASONS = {
    "test_dlpack_device": "DLPack's kind of the device is 12, which the test does not know",
    "test_dunder_dlpack": "the test asks for the host's memory without a copy, where there is none to show",
}


def yields(left, right):
    """In the operators a tensor without dimensions yields to one of the same kind that has some, as in PyTorch, so that a 0-d
    float64 does not make a float32 network wider. add(), equal() and the others of the namespace promote as the standard does."""
    is_tensor = all(isinstance(each, backplane.Tensor) for each in (left, right))
    return is_tensor and left.dtype != right.dtype and (left.ndim == 0) != (right.ndim == 0)


def without_yielding(operator):
    def call(left, right):
        hypothesis.assume(not yields(left, right))
        return operator(left, right)

    return call


def within_dimensions(reshape):
    """The standard's test draws shapes of up to 32 dimensions."""
    most = backplane.array_api.__array_namespace_info__().capabilities()["max dimensions"]

    def call(x, shape):
        hypothesis.assume(len(shape) <= most)
        return reshape(x, shape)

    return call


def pytest_collection_modifyitems(items):
    for item in items:
        reason = REASONS.get(item.name.partition("[")[0])
        if reason and not device.startswith("cpu"):
            item.add_marker(pytest.mark.skip(reason=reason))
        # The suite skips test_remainder for everybody, and ours shall not go untested.
        item.own_markers = [each for each in item.own_markers if each.kwargs.get("reason") != "flaky"]
        context = getattr(item, "callspec", None) and item.callspec.params.get("ctx")
        if "(x1, x2)" in item.name and getattr(context, "func_name", "").startswith("__"):
            item.callspec.params["ctx"] = context._replace(func=without_yielding(context.func))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if item.name != "test_reshape":
        return (yield)
    namespace = item.module.xp
    with mock.patch.object(namespace, "reshape", within_dimensions(namespace.reshape)):
        return (yield)
