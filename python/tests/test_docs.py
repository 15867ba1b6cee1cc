"""What docs/python.md shows is what happens: its blocks of Python are one session, executed in order."""

import doctest
import importlib.util
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import backplane

PAGE = Path(__file__).parents[2] / "docs/python.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]


def test_the_page_has_blocks_and_no_unknown_ones():
    assert len(PYTHON) >= 8 and {language for language, _ in BLOCKS} == {"python", "sh", "toml"}


def test_every_block_of_python_does_what_it_shows():
    pytest.importorskip("numpy")
    has_torch = importlib.util.find_spec("torch") is not None
    names, failures, parser = {}, [], doctest.DocTestParser()
    for text in PYTHON:
        if "import torch" in text and not has_torch:
            continue
        test = parser.get_doctest(text, names, "docs/python.md", str(PAGE), 0)
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            runner.run(test, out=failures.append, clear_globs=False)
        names = test.globs
    assert not failures, "".join(failures)


def test_every_command_of_the_page_is_one():
    """pip cannot be tried here; `backplane devices` can."""
    shown = [line.split("#")[0].split() for language, text in BLOCKS if language == "sh" for line in text.splitlines()]
    assert all(words[:2] in (["pip", "install"], ["backplane", "devices"]) for words in shown), shown
    done = subprocess.run([sys.executable, "-m", "backplane", "devices"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "cpu:0" in done.stdout
    assert backplane.__version__ in done.stdout
