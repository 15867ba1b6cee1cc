#!/usr/bin/env python3
"""What one call costs, function by function, in instructions: repeatable where nanoseconds are not.

    cmake --build build/release --target backplane_bench_pairs
    python3 bench/instructions.py add_1_element

Runs `backplane_bench_pairs repeat NAME` under callgrind with two counts; the difference is the calls alone.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "build/release/bin/backplane_bench_pairs"
FEW, MANY = 1_000, 11_000
LINE = re.compile(r"\s*([\d,]+) \([ \d.]+%\)\s+\S*?:(\S.*?)(?: \[.*)?$")


def instructions(name, count, folder):
    """Instructions by function."""
    out = f"{folder}/{count}"
    subprocess.run(
        ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", PROGRAM, "repeat", name, str(count)],
        check=True, stderr=subprocess.DEVNULL)
    text = subprocess.run(["callgrind_annotate", "--auto=no", "--threshold=100", out], check=True, capture_output=True, text=True)
    found = {}
    for line in text.stdout.splitlines():
        match = LINE.match(line)
        if match:
            found[match[2]] = found.get(match[2], 0) + int(match[1].replace(",", ""))
    return found


def main():
    if len(sys.argv) != 2 or not PROGRAM.exists():
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        few, many = (instructions(sys.argv[1], count, folder) for count in (FEW, MANY))
    rows = sorted(((many[f] - few.get(f, 0)) / (MANY - FEW), f) for f in many)[::-1]
    rows = [(count, function) for count, function in rows if count >= 1]
    for count, function in rows:
        print(f"{count:6.0f}  {function}")
    print(f"{sum(count for count, _ in rows):6.0f}  instructions for one {sys.argv[1]}")


if __name__ == "__main__":
    main()
