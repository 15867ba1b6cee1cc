"""A plugin of pytest: all tests make their arrays on the device that BACKPLANE_TEST_DEVICE names."""

import os

import backplane
import pytest

device = os.environ.get("BACKPLANE_TEST_DEVICE", "cpu:0")
backplane.set_default_device(device)


# Of a device that is not a processor or card.
REASONS = {
    "test_dlpack_device": "DLPack's kind of the device is 12, which the test does not know",
    "test_dunder_dlpack": "the test asks for the host's memory without a copy, where there is none to show",
}


def pytest_collection_modifyitems(items):
    for item in items:
        reason = REASONS.get(item.name.partition("[")[0])
        if reason and not device.startswith("cpu"):
            item.add_marker(pytest.mark.skip(reason=reason))
