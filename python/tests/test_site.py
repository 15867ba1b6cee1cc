"""The documentation builds as HTML, with warnings as errors; where Sphinx or Doxygen is not installed the tests are skipped."""

import filecmp
import html
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VENV, WANTED = ROOT / "build/docs-venv", ROOT / "dependencies/pip-docs.txt"
LISTS_OF_ROWS = ("generated/ops.hpp", "generated/rows.hpp")  # for programs; people have the operators' pages


@pytest.fixture(scope="module")
def site():
    mark = VENV / "installed.txt"
    if not mark.exists() or not filecmp.cmp(mark, WANTED, shallow=False) or not shutil.which("doxygen"):
        pytest.skip("what makes the site is not installed; ./dev docs does it")
    made = subprocess.run([ROOT / "dev", "docs"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return ROOT / "build/docs/html"


def test_every_page_is_in_the_site(site):
    missing = [page for page in (ROOT / "docs").rglob("*.md")
               if not (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists()]  # fmt: skip
    assert not missing and (site / "searchindex.js").exists()
    reference = (site / "reference_python.html").read_text()
    for name in ("linear", "_foreach_add_", "Tensor.backward", "nn.Linear.forward", "optim.AdamW", "fft.rfft"):
        assert f'id="backplane.{name}"' in reference, name


def exported_functions(header):
    """How often a header declares each name with BP_API, what is private left out."""
    text = re.sub(r"//.*|^#(?:.*\\\n)*.*", "", header.read_text(), flags=re.M)
    text = re.sub(r"^namespace detail \{.*?^\}|^ private:.*?^\};", "", text, flags=re.M | re.S)
    found = re.finditer(r"\bBP_API\s+(?!class|struct)[^;{}()=]*?\b(operator\s*\S+?|\w+)\(", text)
    return Counter(match[1] for match in found)


def sections(page):
    """The text of each header's part of a page, by the header's name."""
    text = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</?(?:span|a|em)[^>]*>", "", page.read_text())))
    parts = re.split(r"\b(backplane/[\w/]+\.h(?:pp)?)¶", text)
    return dict(zip(parts[1::2], parts[2::2]))


def test_every_exported_function_of_the_headers_has_an_entry(site):
    shown = {}
    for page in (site / "cpp").glob("*.html"):
        shown |= sections(page)
    headers = [header for header in ROOT.glob("*/include/backplane/**/*.h*") if not str(header).endswith(LISTS_OF_ROWS)]
    expected = {str(header).partition("/include/")[2]: exported_functions(header) for header in headers}
    assert sum(map(Counter.total, expected.values())) > 1200
    missing = [(header, name) for header, names in expected.items() for name, times in names.items()
               if len(re.findall(rf"(?<![\w:]){re.escape(name)}\(", shown.get(header, ""))) < times]  # fmt: skip
    assert not missing


def test_an_entry_of_the_headers_says_what_its_comment_says(site):
    page = sections(site / "cpp/autograd.html")["backplane/autograd/autograd.hpp"]
    assert re.search(r"bool requires_grad\(const Tensor &tensor\)¶\s+Does the tensor take part in derivatives", page)
    reference = (site / "cpp/nn.html").read_text()
    assert 'href="tensor.html#_CPPv4N2bp6TensorE"' in reference  # a type of another page is a link


# What its own box lets one scroll to is not cut; the page itself hides what is too wide, so that its width says nothing.
CUT = """[...document.querySelectorAll('article *')].filter(one => {
  if (one.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let box = one.parentElement; box && box.tagName != 'ARTICLE'; box = box.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(box).overflowX)) return false;
  return true; }).slice(0, 3).map(one => one.tagName + ' ' + one.textContent.trim().slice(0, 60))"""


def test_no_page_is_too_wide_for_a_telephone(site, tmp_path):
    if not shutil.which("chromium"):
        pytest.skip("chromium is not installed; ./dev test --full does it")
    sys.path.insert(0, str(ROOT / "tests/conformance/browser"))
    from browser import Browser

    alike = ("decisions", "notes", "operators")  # of each folder of pages that are alike, some
    pages = [page for page in site.rglob("*.html") if page.parent.name not in alike]
    for folder in alike:
        pages += sorted((site / folder).glob("*.html"))[::6]
    with Browser(tmp_path) as browser:
        cut = {}
        for page in pages:
            browser.open(page, 390, 844)
            assert browser.evaluate("document.scrollingElement.scrollWidth") <= 390, page
            cut[page.name] = browser.evaluate(CUT)
        browser.evaluate("document.querySelector('article').insertAdjacentHTML('beforeend', '<p style=\"width: 700px\">wide</p>')")
        assert browser.evaluate(CUT) == ["P wide"]  # so it would be seen
    assert not {name: elements for name, elements in cut.items() if elements}
