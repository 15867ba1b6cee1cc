"""Writes docs/opinfo.md of what compare_opinfo.py found."""

import collections
import re

import torch

from compare_rows import ROOT

PAGE = ROOT / "docs/opinfo.md"
HEAD = """# PyTorch's own samples

PyTorch tests itself with `op_db`, a list of its functions with samples of their arguments. This page is written by
`tests/pytorch/compare_opinfo.py --full --write`: each sample whose function Backplane has is called here too, on the device `{device}`,
in float32, float64, int64, bool and complex64, also from memory with gaps, and with the reference inputs. In float64 the gradient
of the results, weighted by random numbers, is compared too. PyTorch is {version}; up to {samples} samples, {strided} of them
with gaps, and {references} reference inputs of each entry and dtype are taken, spread over its lists; the seeds are fixed.{date}

```sh
tests/pytorch/compare_opinfo.py --name cumsum --verbose    # one entry, every call that differs
```

Results agree if they have the same shape and dtype, and are within the tolerance of the row (the operator's entry in
[the table](operators.md)): the same bits for `exact`; for N ulp, up to N + {ulps} ulp, since PyTorch rounds too; otherwise {loose32:g} in float32 and {loose64:g} in float64, as for gradients. If the
row is not exact, a float32 or complex64 result also passes if its distance from PyTorch's float64 result is at most twice PyTorch's own
plus the row's bound; a float64 result whose terms cancelled is measured by the largest element.

**{num_entries} of {num_all} entries are compared: {passed} of {compared} calls and {derived_passed} of {derived} gradients agree.**
The others are listed with their reasons in [differences.md](differences.md); the test also fails if a listed difference no longer exists.
"""


def compared():
    """The entries that the page lists as compared."""
    listed = PAGE.read_text().partition("## What is compared")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^`]+)`", listed, re.MULTILINE)


def write(tallies, date, limits, ulps, loose):
    total = sum((tally.counts for tally in tallies), collections.Counter())
    compared = [tally for tally in tallies if tally.counts["compared"]]
    words = {name: total[name] for name in ("compared", "derived")}
    head = HEAD.format(
        device="cpu", version=torch.__version__.split("+")[0], samples=limits[0], strided=limits[1], references=limits[2],
        date=f" {date}." if date else "", ulps=ulps, loose32=loose[torch.float32][0], loose64=loose[torch.float64][0],
        num_entries=len(compared), num_all=len(tallies), passed=total["compared_passed"], derived_passed=total["derived_passed"], **words)  # fmt: skip
    lines = [head, "## What is compared\n", "| op_db | row | calls | agree | gradients | agree | what else |", "|---|---|--:|--:|--:|--:|---|"]
    for tally in sorted(compared, key=lambda tally: tally.name):
        counts = [str(tally.counts[what] or "") for what in ("compared", "compared_passed", "derived", "derived_passed")]
        lines.append(f"| `{tally.name}` | {' '.join(f'`{row}`' for row in sorted(tally.rows))} | {' | '.join(counts)} | {remarks(tally)} |")
    lines += ["\n## What is not compared\n", "| why | entries of op_db |", "|---|---|"]
    reasons = collections.defaultdict(list)
    for tally in sorted((tally for tally in tallies if not tally.counts["compared"]), key=lambda tally: tally.name):
        why = sorted(tally.left_out, key=lambda reason: "complex64" in reason)[:1]
        reasons[why[0] if why else "it has no samples for the CPU"].append(f"`{tally.name}`")
    lines += [f"| {reason} | {' '.join(names)} |" for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1]))]
    PAGE.write_text("\n".join(lines) + "\n")


def remarks(tally):
    known = [f"differs ({count}): {known.reason}" for known, count in tally.known.items()]
    wrong = [f"differs ({len(tally.wrong)})"] if tally.wrong else []
    return "; ".join(wrong + known + [f"{reason} ({count})" for reason, count in sorted(tally.left_out.items())]).replace("|", "\\|")
