"""Decisions are numbered and titled alike: docs/decisions/NNNN-words.md begins with "# N. Title", and README.md there lists it by
that title."""

import re

import rule

folder = rule.source / "docs/decisions"
listed = re.findall(r"^\| (\d+) \| \[(.+)\]\(([\w-]+\.md)\) \|$", (folder / "README.md").read_text(), re.MULTILINE)
broken, found = [], []
for file in sorted(folder.glob("0*.md")):
    heading = re.match(r"# (\d+)\. (.+)", file.read_text())
    if not heading or int(heading[1]) != int(file.name[:4]):
        broken.append(f'{file.name}: must begin with "# {int(file.name[:4])}. Title"')
        continue
    found.append((heading[1], heading[2], file.name))
broken += [f"README.md does not list {name} as {number}. [{title}]" for number, title, name in found if (number, title, name) not in listed]
broken += [f"README.md lists {name}, which is not there or has another title" for number, title, name in listed if (number, title, name) not in found]
rule.report(broken, f"{len(found)} decisions")
