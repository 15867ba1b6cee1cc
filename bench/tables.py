#!/usr/bin/env python3
"""Writes the tables of docs/performance.md from the files in bench/results that they name; --check only compares.

A table stands between `<!-- table: FILE -->` and `<!-- end -->`, FILE a name in bench/results without its ending.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/performance.md"
TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main():
    page = PAGE.read_text()
    written = TABLE.sub(lambda match: match[1] + table(match[2]) + match[3], page)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(written)
    elif written != page:
        sys.exit("docs/performance.md: its tables are not those of bench/results; run python3 bench/tables.py")


def table(name):
    rows = json.loads((ROOT / "bench/results" / f"{name}.json").read_text())
    lines = ["| row | ours | peer | unit | ratio | budget | met |", "|---|---|---|---|---|---|---|"]
    lines += [line(row) for row in rows]
    return "\n".join(lines) + "\n"


def line(row):
    budget = "" if row["budget"] is None else f"{row['budget']:.3f}"
    met = {None: "", True: "yes", False: "**no**"}[row["met"]]
    if row["ours"] is None:
        return f"| `{row['name']}` | | | {row['unit']} | | {budget} | {met} |"
    return (f"| `{row['name']}` | {row['ours']:.1f} | {row['peer']:.1f} | {row['unit']} | {row['ratio']:.3f} "
            f"| {budget} | {met} |")


if __name__ == "__main__":
    main()
