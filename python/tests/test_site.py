"""The documentation builds as HTML, with warnings as errors; where Sphinx is not installed the test is skipped."""

import filecmp
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VENV, WANTED = ROOT / "build/docs-venv", ROOT / "dependencies/pip-docs.txt"


def test_every_page_is_in_the_site():
    mark = VENV / "installed.txt"
    if not mark.exists() or not filecmp.cmp(mark, WANTED, shallow=False):
        pytest.skip("what makes the site is not installed; ./dev docs does it")
    made = subprocess.run([ROOT / "dev", "docs"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    html = ROOT / "build/docs/html"
    missing = [page for page in (ROOT / "docs").rglob("*.md")
               if not (html / page.relative_to(ROOT / "docs").with_suffix(".html")).exists()]  # fmt: skip
    assert not missing and (html / "searchindex.js").exists()
    reference = (html / "reference_python.html").read_text()
    for name in ("linear", "_foreach_add_", "Tensor.backward", "nn.Linear.forward", "optim.AdamW", "fft.rfft"):
        assert f'id="backplane.{name}"' in reference, name
