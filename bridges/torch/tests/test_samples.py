"""A quarter of OpInfo's operators in float32, results and derivatives. test_all_samples.py tries the rest, `opinfo.py` any part."""

import opinfo
import pytest


@pytest.mark.parametrize("derivatives", [False, True], ids=["results", "derivatives"])
def test_samples_are_right(derivatives):
    assert opinfo.faults("float32", derivatives, part=1, parts=4) == {}
