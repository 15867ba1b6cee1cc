#!/usr/bin/env python3
"""Measures Backplane and PyTorch in turns on the same card and prints one table. python3 must have PyTorch.

Our program is build/release/bin/backplane_bench_cuda, or what BACKPLANE_BENCH_PROGRAM names, with the library path in
BACKPLANE_BENCH_LIBRARIES. The table and its JSON are those of `./dev bench --peer` (see bench/README.md).
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

import cuda
import picture
import run
from measure import BenchError


def main():
    options = parse()
    try:
        groups = options.only.split(",") if options.only else [*cuda.ROUNDS, "start"]
        figures = cuda.figures(options.quick, groups)
        results = [run.judge(row, figures) for row in cuda.rows() if row["group"] in groups]
    except BenchError as error:
        sys.exit(f"bench: {error}")
    run.print_table(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
        title = "Backplane against PyTorch on a card: our time over the peer's, against its budget"
        Path(options.json).with_suffix(".svg").write_text(picture.svg(results, title))
    sys.exit(any(row["met"] is False for row in results))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the table there as well, and beside it a picture, .svg")
    parser.add_argument("--quick", action="store_true", help="one round: a look, not a measurement")
    parser.add_argument("--only", metavar="GROUP,...", help="memory, norm, matmul, attention, convolution, order, calls, chain, start")
    return parser.parse_args()


if __name__ == "__main__":
    main()
