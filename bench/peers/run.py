#!/usr/bin/env python3
"""Measures Backplane and a peer in turn and prints one table: `./dev bench --peer pytorch`, `opencl` or `level_zero`.

For PyTorch, rows.json says what is compared; backplane.py and pytorch.py measure one side each, under
the same names. For OpenCL, ../opencl/rows.json does, and opencl.py measures both; so for Level Zero. The machine may be
shared and noisy, so that the two sides take turns for several rounds and the median of each figure counts.
"""

import argparse
import json
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from statistics import median

import backplane
import level_zero
import opencl
import ops
import picture
import pytorch
import threads
from measure import PEERS, BenchError, say

# How often each group is measured: a compilation against PyTorch takes half a minute.
ROUNDS = {"calls": 7, "large": 5, "attention": 5, "memory": 3, "convolutions": 3, "libraries": 3, "training": 3, "inference": 3, "python": 5, "optimizers": 5, "files": 3, "compile": 3, "start": 7}
QUICK_ROUNDS = {"calls": 2, "large": 1, "attention": 1, "memory": 1, "convolutions": 1, "libraries": 1, "training": 1, "inference": 1, "python": 1, "optimizers": 1, "files": 1, "compile": 1, "start": 2}
RATES = {"GB/s", "GFLOP/s", "TFLOP/s", "Gelem/s"}


def main():
    options = parse()
    try:
        if options.install_only:
            return pytorch.install()
        if options.suite == "ops":
            return run_ops(options)
        one_program = threads if options.suite == "threads" else {"opencl": opencl, "level_zero": level_zero}.get(options.peer)
        results = by_one_program(one_program, options) if one_program else against_pytorch(options)
    except BenchError as error:
        sys.exit(f"bench: {error}")
    print_table(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
        peer = "other threads" if options.suite == "threads" else options.peer
        title = f"Backplane against {peer}: our time over the peer's, against its budget"
        Path(options.json).with_suffix(".svg").write_text(picture.svg(results, title))


def run_ops(options):
    rows = ops.measure(options)
    ops.print_summary(rows)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
        Path(options.json).with_suffix(".svg").write_text(ops.svg(rows))


def against_pytorch(options):
    sides = {"peer": pytorch} if options.peer_only else {"ours": backplane, "peer": pytorch}
    for side in sides.values():
        side.prepare()
    figures = measure_in_turn(sides, QUICK_ROUNDS if options.quick else ROUNDS)
    return [judge(row, figures) for row in json.loads((PEERS / "rows.json").read_text())]


def by_one_program(peer, options):
    """The peer's module starts a program that measures both sides in turns."""
    figures = peer.figures(options.quick)
    if options.peer_only:
        del figures["ours"]
    return [judge(row, figures) for row in peer.rows()]


def parse():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("--peer", choices=["pytorch", "opencl", "level_zero"], default="pytorch", help="whom to compare with")
    parser.add_argument("--suite", choices=["rows", "ops", "threads"], default="rows",
                        help="what rows.json lists, all operators of ops_cases.hpp, or steps by two threads and one, alone and beside a busy core")
    parser.add_argument("--only", metavar="PART", action="append", default=[], help="ops: cases with this in their names")
    parser.add_argument("--seconds", type=float, help="ops: stop after that; with the same --json FILE, the next run goes on")
    parser.add_argument("--json", metavar="FILE", help="write the table there as well, and beside it a picture, .svg")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a look, not a measurement")
    parser.add_argument("--peer-only", action="store_true", help="measure the peer alone")
    parser.add_argument("--install-only", action="store_true", help="install PyTorch's wheel, and no more")
    return parser.parse_args()


def measure_in_turn(sides, rounds):
    """The median of each figure over its rounds, as {side: {name: (value, unit)}}."""
    figures = {side: defaultdict(list) for side in sides}
    for group, count in rounds.items():
        for index in range(count):
            for side, module in sides.items():
                say(f"{group} {index + 1}/{count} {side}")
                for name, figure in getattr(module, group)().items():
                    figures[side][name].append(figure)
    return {side: {name: middle(values) for name, values in named.items()} for side, named in figures.items()}


def middle(figures):
    return median(value for value, _ in figures), figures[0][1]


def judge(row, figures):
    """One line of the table: both figures, our time over the peer's, and whether that is within the budget."""
    ours = figure_of(row, figures.get("ours", {}), row["ours"])
    limit = isinstance(row["peer"], (int, float))
    peer = row["peer"] if limit else figure_of(row, figures["peer"], row["peer"])
    ratio = None
    if ours is not None and peer is not None:
        ratio = peer / ours if row["unit"] in RATES else ours / peer
    budget = None if row["budget"] is None else float(Fraction(row["budget"]))
    judged = budget is not None and "ours" in figures
    met = (ratio is not None and ratio <= budget) if judged else None
    return {"name": row["name"], "ours": ours, "peer": peer, "unit": row["unit"],
            "ratio": ratio, "budget": budget, "met": met}


def figure_of(row, figures, name):
    """The value measured under `name`, or None if that side has not reported it."""
    if name not in figures:
        return None
    value, unit = figures[name]
    if unit != row["unit"]:
        raise BenchError(f"{name} was reported in {unit}, and rows.json says {row['unit']}")
    return value


def print_table(results):
    line = "{:<33} {:>9} {:>9} {:<8} {:>7} {:>7}  {}".format
    print(line("name", "ours", "peer", "unit", "ratio", "budget", "met"))
    for row in results:
        numbers = {key: "-" if row[key] is None else f"{row[key]:.{digits}f}"
                   for key, digits in (("ours", 1), ("peer", 1), ("ratio", 3), ("budget", 3))}
        met = {True: "yes", False: "NO", None: ""}[row["met"]]
        print(line(row["name"], numbers["ours"], numbers["peer"], row["unit"],
                   numbers["ratio"], numbers["budget"], met))
    verdicts = [row["met"] for row in results if row["met"] is not None]
    if verdicts:
        print(f"{sum(verdicts)} of {len(verdicts)} budgets met; ratio = our time over the peer's")


if __name__ == "__main__":
    main()
