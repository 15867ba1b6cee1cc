#!/usr/bin/env python3
"""Writes docs/accuracy.md from tests/accuracy/measured.jsonl, or measures again and compares.

    page.py                  writes the page
    page.py --check          says whether the page is that of the figures
    page.py --measure FILE   measures in full with the program FILE (tests/run_accuracy of a build)
    page.py --holds FILE     measures a small part (seconds): no figure may be worse than the page's
"""

import json
import subprocess
import sys
from math import inf
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURES = Path(__file__).with_name("measured.jsonl")
PAGE = ROOT / "docs/accuracy.md"
DTYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}
DEVICES = {"cpu:0": "full", "reference_primitives:0": "small"}  # and how much of it is measured
# What another instruction set or other inputs of the same classes may add to a figure, in ULP.
SLACK = 0.3
# Sums: |result - exact| <= units * 2^-24 * sum of |terms|. Each is at least what was measured, on all hard inputs.
BOUNDS = {"sum": 2, "mean": 2, "sum of columns": 2, "norm": 2, "cumsum": 2, "softmax": 8}


def main():
    words = sys.argv[1:]
    if words[:1] == ["--measure"]:
        FIGURES.write_text("".join(json.dumps(line) + "\n" for line in measured(words[1], DEVICES)))
    elif words[:1] == ["--holds"]:
        return holds(words[1])
    written = page(read())
    if words == ["--check"]:
        if PAGE.read_text() != written:
            sys.exit("docs/accuracy.md is not that of its figures; run tests/accuracy/page.py")
        return None
    PAGE.write_text(written)
    return None


def read():
    return [json.loads(line) for line in FIGURES.read_text().splitlines()]


def measured(program, extents):
    lines = []
    for device, extent in extents.items():
        printed = subprocess.run([program, extent, device], check=True, capture_output=True, text=True).stdout
        lines += [{"device": device, **json.loads(line)} for line in printed.splitlines()]
    return lines


def number(value):
    """JSON has no infinity."""
    return inf if value is None else value


def holds(program):
    """Fails where a small measurement is worse than the page, or beyond what the suite allows."""
    known = {key(line): line for line in read()}
    worse = []
    for line in measured(program, dict.fromkeys(DEVICES, "small")):
        if "sum" in line and line["device"] != "cpu:0":
            continue
        if "sum" in line:
            limit = bound(line["sum"], line["size"])
            if number(line["units"]) > limit:
                worse.append(f"{line['device']} {line['sum']} of {line['size']} {line['values']} numbers: "
                             f"{line['units']} units, at most {limit} are promised")
            continue
        if line["wrong"]:
            worse.append(f"{line['device']} {line['row']} {line['dtype']}: {line['wrong']}")
        at_most = known.get(key(line))
        if at_most is None:
            worse.append(f"{line['device']} {line['row']} {line['dtype']}: not on the page; run page.py --measure")
        elif not cancels(at_most) and number(line["ulp"]) > at_most["ulp"] + SLACK:
            worse.append(f"{line['device']} {line['row']} {line['dtype']}: {line['ulp']} ULP at {line['at']}, "
                         f"and the page says {at_most['ulp']:.2f}")
    if worse:
        sys.exit("\n".join(worse))


def key(line):
    return line["device"], line.get("row"), line.get("dtype")


def tolerance(line):
    """In ULP. 16-bit results are computed in f32 and rounded once: the suite gives them 1."""
    if line["dtype"] in ("float16", "bfloat16"):
        return 1
    return float(line["tolerance"].split()[0]) if line["tolerance"].endswith(" ulp") else 0


def cancels(line):
    """Whether steps that cancel or amplify lose more ULP than the tolerance: then the share of the bound is the measure."""
    return number(line["ulp"]) > tolerance(line)


def bound(what, size):
    """In units, for so many numbers."""
    return BOUNDS[what] if what in BOUNDS else max(16, 4 * size**0.5)


HEAD = """# How exact results are

<!-- Written by tests/accuracy/page.py from tests/accuracy/measured.jsonl; do not edit. -->

The largest error of each pointwise row of the operator table that rounds, and of long sums, as measured. A test,
`accuracy.holds`, repeats a small part and fails where an error is larger than this page says.

```
tests/accuracy/page.py --measure build/release/tests/run_accuracy   # all of it
tests/accuracy/page.py --holds build/release/tests/run_accuracy     # the part that the test repeats: seconds
```

## Functions

Errors are in ULP, the distance of neighbouring numbers of the dtype where the exact result lies; 0.50 is a result that is rounded
correctly. The exact result is the row's expression in 113 bits (`__float128`), with the constants of the table as doubles.
Denormals count as others do.

What is tried: of rows of one tensor all inputs of f16 and bf16, {f32} of f32 (all bit patterns in steps of equal size, with a
random part), {f64} of f64; of rows of several tensors {several} random ones, every second with exponents from -6 to 6. On
`reference_primitives`, whose kernels are C++'s functions, it is {f32_reference}, {f64_reference} and {several_reference}
(`reference` itself has none: its calls run on cpu). f32 is searched with float64, whose own error is 2^-29 ULP, and the worst
input of each binade is verified in 113 bits.

*Tolerance* is the row's in the table, which is that of f32 and f64; results of 16 bits have 1 ULP. Where the steps of an
expression amplify roundings or cancel, as `x - tanh(x)` does at 0, the conformance suite bounds an error by what rounding each
step makes of it. For those the second table has the largest error as a share of that bound: 1 would be all of it.

"""

SUMS = """## Sums

Of f32 numbers, up to 2^24 of them. A unit is 2^-24 (half an ULP of 1) times the sum of the absolute terms, so that `units` say how
far a result is off however much the terms cancel; of `norm` and `softmax`, 2^-24 of the result. The exact sum is
formed in 113 bits. *uniform*: from 0 to 1; *ascending*: from 0 to 1 in order; *equal*: 0.1 each, where roundings lean one
way; *cancelling*: both signs in turn, from 1 to 2^20.

"""

ENDING = """
What is promised, and checked: at most {small} units for `sum`, `mean`, `norm` and `cumsum`, whatever the size, since partial sums
are kept in more than 24 bits; {softmax} for `softmax`. A product of matrices adds as oneDNN and BLAS libraries do, in f32: at most
4 * sqrt(k) units for k terms on these inputs, and 16 below k = 16.
"""


def page(lines):
    rows = [line for line in lines if "row" in line]
    text = HEAD.format(**inputs(rows))
    for device in DEVICES:
        of_device = [line for line in rows if line["device"] == device]
        text += f"### On {device.split(':')[0]}\n\n" + table_of_ulps(of_device) + "\n" + fewer(of_device) + table_of_shares(of_device) + "\n"
    sums = [line for line in lines if "sum" in line and line["device"] == "cpu:0"]
    return text + SUMS + table_of_sums(sums) + ENDING.format(small=BOUNDS["sum"], softmax=BOUNDS["softmax"])


def inputs(rows):
    """How many inputs were tried, as powers of two, for the page's text."""

    def most(row, dtype, device="cpu:0"):
        count = next(line["inputs"] for line in rows if (line["row"], line["dtype"], line["device"]) == (row, dtype, device))
        return f"2^{count.bit_length() - 1}"

    reference = "reference_primitives:0"
    return {"f32": most("exp", "float32"), "f32_reference": most("exp", "float32", reference),
            "f64": most("exp", "float64"), "f64_reference": most("exp", "float64", reference),
            "several": most("add", "float32"), "several_reference": most("add", "float32", reference)}


def fewer(lines):
    """A sentence for each number of f32 inputs that is not the usual one."""
    f32 = {line["row"]: line["inputs"] for line in lines if line["dtype"] == "float32"}
    others = sorted(set(f32.values()) - {f32["exp"], f32["add"]})
    text = ""
    for count in others:
        named = ", ".join(f"`{row}`" for row in sorted(f32) if f32[row] == count)
        text += f"With 2^{count.bit_length() - 1} inputs of f32: {named}.\n\n"
    return text


def by_row(lines):
    found = {}
    for line in lines:
        found.setdefault(line["row"], {})[line["dtype"]] = line
    return dict(sorted(found.items()))


def table_of_ulps(lines):
    text = "| row | tolerance | " + " | ".join(DTYPES.values()) + " |\n|---|---|---|---|---|---|\n"
    for row, dtypes in by_row(lines).items():
        cells = [cell(dtypes[dtype]) if dtype in dtypes else "" for dtype in DTYPES]
        text += f"| `{row}` | {next(iter(dtypes.values()))['tolerance']} | " + " | ".join(cells) + " |\n"
    return text


def cell(line):
    return "see below" if cancels(line) else f"{line['ulp']:.2f}"


def table_of_shares(lines):
    text = "| row | dtype | largest share of the bound | largest error in ULP | at |\n|---|---|---|---|---|\n"
    for row, dtypes in by_row(lines).items():
        for dtype, short in DTYPES.items():
            line = dtypes.get(dtype)
            if line and cancels(line):
                text += f"| `{row}` | {short} | {line['share']:.2f} | {number(line['ulp']):.3g} | {line['at']} |\n"
    return text


def table_of_sums(lines):
    sizes = sorted({line["size"] for line in lines})
    text = "| | numbers | " + " | ".join(f"2^{size.bit_length() - 1}" for size in sizes) + " |\n|---|---|" + "---|" * len(sizes) + "\n"
    cells = {}
    for line in lines:
        cells.setdefault((line["sum"], line["values"]), {})[line["size"]] = f"{line['units']:.2f}"
    for (what, values), found in cells.items():
        text += f"| {what} | {values} | " + " | ".join(found.get(size, "") for size in sizes) + " |\n"
    return text


if __name__ == "__main__":
    sys.exit(main())
