"""Pages link only to pages, and to headings that these have: other files that they name are not installed beside them."""

import re

import rule


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


pages = {rule.source / "README.md", *(rule.source / "docs").rglob("*.md")}
anchors = {page: {anchor(each) for each in re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)} for page in pages}
broken = []
for page in sorted(pages):
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        name, _, place = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        is_beside = target.parent == rule.source or rule.source / "docs" in target.parents
        if not target.exists() or not is_beside or (place and place not in anchors.get(target, {place})):
            broken.append(f"{page.relative_to(rule.source)}: the link to {link} leads nowhere, or to what is not installed with the pages")
rule.report(broken, f"{len(pages)} pages")
