"""OpInfo's operators that test_samples.py leaves out, and its other dtypes."""

import opinfo
import pytest


@pytest.mark.parametrize("derivatives", [False, True], ids=["results", "derivatives"])
@pytest.mark.parametrize("part", [0, 2, 3])
def test_samples_in_float32_are_right(part, derivatives):
    assert opinfo.faults("float32", derivatives, part, parts=4) == {}


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "int64", "bool"])
def test_samples_in_other_dtypes_are_right(dtype):
    assert opinfo.faults(dtype, derivatives=False, part=0, parts=1) == {}
