"""How Sphinx makes HTML of docs/ (`./dev docs`). The source folder is in build/: docs/ as it is, and beside it the pages that
group its pages."""

import re
import sys
from pathlib import Path

SITE = Path(__file__).resolve().parent
DOCS, ROOT = SITE.parent, SITE.parents[1]
SOURCE = ROOT / "build/docs/source"  # `./dev docs` makes it and starts Sphinx on it
sys.path.insert(0, str(SITE))
import links
import pages

project, author = "Backplane", "the Backplane project"
extensions = ["myst_parser"]
html_theme, html_title = "furo", "Backplane"
html_static_path, html_css_files = [str(SITE / "static")], ["site.css"]
html_copy_source = False
myst_heading_anchors = 5
toc_object_entries = False  # thousands of functions in the side bar of every page
maximum_signature_line_length = 80
suppress_warnings = ["misc.highlighting_failure"]  # a block of code may be in no language at all
LINK = re.compile(r"\[([^\]\n]+)\]\(([^)#\s]+)(?:#[^)\s]*)?\)")

pages.write(SOURCE, DOCS, ROOT / "build/release/python", ROOT / "build/docs/doxygen")


def unlink_outside(app, name, text):
    """Links to files that are not pages of the site become their words; a folder's becomes the page of its group."""
    folder = (DOCS / name).parent

    def replaced(match):
        words, target = match[1], match[2]
        if "://" in target or not (folder / target).exists():
            return match[0]  # one that leads nowhere is Sphinx's to tell
        file = (folder / target).resolve()
        if file.is_dir() and file.parent == DOCS and file.name in pages.FOLDERS:
            return f"[{words}](/group_{file.name}.md)"
        return match[0] if file.suffix == ".md" and file.is_relative_to(DOCS) else words

    text[0] = LINK.sub(replaced, text[0])


def setup(app):
    app.connect("source-read", unlink_outside)
    app.add_post_transform(links.LinkTypes)
