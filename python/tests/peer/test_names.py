"""Each public name of PyTorch's is there or has its reason in docs/coverage/python.md, which is current."""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[3] / "tests/pytorch"))
import python_names  # noqa: E402


@pytest.fixture(scope="module")
def found():
    return python_names.compared()


def test_each_absent_name_has_a_reason(found):
    assert python_names.without_reason(found) == []


def test_each_reason_is_needed(found):
    assert python_names.unused_reasons(found) == []


def test_the_page_is_current(found):
    assert python_names.PAGE.read_text() == python_names.page(found), "run tests/pytorch/python_names.py --write"
