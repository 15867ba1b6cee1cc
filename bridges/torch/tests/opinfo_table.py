#!/usr/bin/env python3
"""The table of docs/torch.md: how many of PyTorch's operators are right on which device, from kept runs of opinfo.py.

    opinfo_table.py --keep MACHINE FORWARD.json BACKWARD.json     keeps two of its reports in bench/results/torch-opinfo.json
    opinfo_table.py [--check]                                     writes the table, or compares it

MACHINE is a line: the device, PyTorch's version, the commit."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "torch.md"
KEPT = ROOT / "bench" / "results" / "torch-opinfo.json"
BEGIN, END = "<!-- opinfo: bench/results/torch-opinfo.json -->\n", "<!-- end -->"


def main():
    if sys.argv[1:2] == ["--keep"]:
        return keep(*sys.argv[2:])
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    written = before + BEGIN + table(json.loads(KEPT.read_text())) + END + rest.split(END, 1)[1]
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(written)
    elif written != page:
        sys.exit("docs/torch.md: its table is not that of bench/results; run python3 bridges/torch/tests/opinfo_table.py")


def keep(machine, forward, backward):
    runs = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    runs = {name: run for name, run in runs.items() if name.split(",")[0] != machine.split(",")[0]}
    runs[machine] = {"results": counts(forward), "derivatives": counts(backward)}
    KEPT.write_text(json.dumps(dict(sorted(runs.items())), indent=1) + "\n")


def counts(report):
    found = {}
    for key, answer in sorted(json.loads(Path(report).read_text()).items()):
        operator, dtype = key.split()
        row = found.setdefault(dtype, {"operators": 0, "right": 0, "alone": 0, "wrong": []})
        row["operators"] += 1
        row["right"] += not answer["wrong"]
        row["alone"] += not answer["wrong"] and not answer["cpu"]
        if answer["wrong"]:
            row["wrong"].append(operator)
    return found


def table(runs):
    lines = ["* **{}**: {}.".format(*name.split(", ", 1)) for name in runs]
    lines += ["", "| on | of | dtype | operators | right | right without PyTorch's CPU | wrong |", "|---|---|---|---|---|---|---|"]
    for name, run in runs.items():
        for what, dtypes in run.items():
            for dtype, row in dtypes.items():
                wrong = ", ".join(f"`{operator}`" for operator in row["wrong"])
                lines.append(f"| {name.split(',')[0]} | {what} | {dtype} | {row['operators']} | {row['right']} | {row['alone']} | {wrong} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
