#!/usr/bin/env python3
"""Holds our rows against PyTorch on PyTorch's own samples: those of op_db, by which PyTorch tests itself.

    tests/pytorch/compare_opinfo.py [--build build/release] [--device cpu] [--full] [--name NAME] [--verbose] [--write]

Each entry of op_db whose name is a row here is called with its samples, contiguous and not, in float32, float64, int64,
bool and complex64, and in float64 derived as well, weighted by random numbers; --full takes the reference inputs too.
Prints a line for each entry that differs and a verdict; --write makes docs/opinfo.md of a full run. Exits 0, 1 if
something differs that opinfo_known.py does not list, or if something listed there does not differ any more in a full run,
77 without PyTorch or what its samples need.
"""

import argparse
import collections
import json
import logging
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

logging.disable(logging.WARNING)  # PyTorch looks for a CUDA runtime

from compare_rows import ROOT, SKIPPED, torch  # noqa: E402

try:
    import numpy as np
    import yaml  # noqa: F401 (opinfo_calls needs it)
    from torch.testing._internal.common_methods_invocations import op_db
except ImportError as error:
    print(f"pytorch: skipped: {error}; dependencies/pip-bench.txt says what the samples need")
    sys.exit(SKIPPED)

import opinfo_known  # noqa: E402
import opinfo_page  # noqa: E402
from call_files import CallsFile  # noqa: E402
from judge import LOOSE, PEER_ULPS  # noqa: E402
from opinfo_adapters import Unmapped  # noqa: E402
from opinfo_calls import Rows  # noqa: E402
from opinfo_judge import Case, compare  # noqa: E402

DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64)
BATCH_BYTES, BATCH_CALLS = 1 << 27, 4000
MOST_ELEMENTS = 300_000
# How many of each entry and dtype: samples, samples that are not contiguous, reference inputs.
SHORT, FULL = (6, 2, 0), (300, 60, 200)


def spread(made, most):
    """At most so many, from all over the list."""
    made = list(made)
    return made[:: -(-len(made) // most)] if most and made else []


def seeded(make):
    """What an entry draws is the same in each run."""
    torch.manual_seed(20260)
    random.seed(20260)
    np.random.seed(20260)
    return make()


def samples_of(op, dtype, limits):
    """Yields (where, sample)."""
    derives = dtype == torch.float64 and op.supports_autograd
    num_plain, num_strided, num_reference = limits
    plain = spread(seeded(lambda: list(op.sample_inputs("cpu", dtype, requires_grad=derives))), num_plain)
    for index, sample in enumerate(plain):
        yield f"sample {index}", sample
    if op.name == "as_strided":  # of memory that is not the sample's
        num_strided = 0
    for index, sample in enumerate(spread(plain, num_strided)):
        yield f"strided {index}", sample.noncontiguous()
    if num_reference:
        for index, sample in enumerate(spread(seeded(lambda: list(op.reference_inputs("cpu", dtype))), num_reference)):
            yield f"reference {index}", sample


def told(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


class Tally:
    """What became of one entry."""

    def __init__(self, name, row):
        self.name, self.row, self.rows = name, row, set()
        self.counts = collections.Counter()  # compared, passed, derived, derived_passed
        self.left_out = collections.Counter()  # why: how often
        self.known, self.num_asked = collections.Counter(), 0
        self.wrong = []

    def take(self, case, *found, is_declared):
        """`found`: of the results and of the gradients. `is_declared`: that the row takes the dtype."""
        self.rows.add(case.row.removeprefix("form::"))
        for what, differences in zip(("compared", "derived"), found):
            if differences is None:
                continue
            if not is_declared and any("not defined for" in each.says for each in differences):
                self.left_out[f"{case.dtype} is not taken here"] += 1
                continue
            self.counts[what] += 1
            if not differences:
                self.counts[f"{what}_passed"] += 1
            known = [opinfo_known.find(self.name, case, each) for each in differences]
            self.known.update(list(dict.fromkeys(sum(known, []))))  # each once, in order
            for each in [each for each, entries in zip(differences, known) if not entries][:1]:
                self.wrong.append(f"{self.name} -> {case.row} ({case.dtype}, {case.where}): {each}")


class Comparison:
    def __init__(self, options, folder):
        self.options, self.folder, self.num_files = options, folder, 0
        self.program = options.build / "tests/run_calls"
        self.rows = Rows(told([options.build / "bin/backplane", "ops", "--json"]), told([self.program, "--forms"]))
        self.tallies = {}
        self.begin()

    def begin(self):
        self.file, self.pending = CallsFile(self.folder / f"calls{self.num_files}"), []
        self.num_files += 1

    def take_entry(self, op):
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        row = self.rows.row_of(op.name)
        tally = self.tallies[name] = Tally(name, row)
        reason = self.rows.why_not(op.name, name)
        if reason:
            tally.left_out[reason] += 1
            return
        for limits in [FULL] if self.options.full else [SHORT, FULL]:  # if few samples give no call, all may
            self.take_samples(op, tally, limits)
            if tally.num_asked:
                break

    def take_samples(self, op, tally, limits):
        name, row = tally.name, tally.row
        for dtype in DTYPES:
            if dtype not in op.supported_dtypes("cpu"):
                continue
            if dtype.is_complex and not self.rows.takes(row, "complex64"):
                tally.left_out["complex64 is not taken here"] += 1
                continue
            try:
                for where, sample in samples_of(op, dtype, limits):
                    self.take_sample(op, tally, dtype, where, sample)
            except (RuntimeError, ValueError, TypeError, NotImplementedError, ImportError, AssertionError) as error:
                tally.left_out[f"op_db fails to make its samples: {str(error).splitlines()[0]}"] += 1

    def take_sample(self, op, tally, dtype, where, sample):
        try:
            row, named = self.rows.call_of(tally.name, tally.row, sample)
        except Unmapped as error:
            tally.left_out[str(error)] += 1
            return
        case = Case(op, row, named, sample, dtype, where, self.rows.tolerances[row])
        if case.num_elements > MOST_ELEMENTS:
            tally.left_out[f"more than {MOST_ELEMENTS} elements"] += 1
            return
        if not case.ask_pytorch():
            tally.left_out["PyTorch refuses"] += 1
            return
        case.leaves = self.file.add(row, named, case.weights, case.is_leaf)
        self.pending.append((tally, case))
        tally.num_asked += 1
        if self.file.offset > BATCH_BYTES or self.file.num_calls >= BATCH_CALLS:
            self.judge_batch()

    def judge_batch(self):
        for (tally, case), outcome in zip(self.pending, self.file.run(self.program, self.options.device)):
            tally.take(case, *compare(case, outcome), is_declared=self.rows.takes(case.row, case.dtype))
        for file in self.folder.iterdir():
            file.unlink()
        self.begin()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--full", action="store_true", help="all samples and the reference inputs")
    parser.add_argument("--name", help="entries of this name alone")
    parser.add_argument("--verbose", action="store_true", help="every call that differs, not the first of an entry")
    parser.add_argument("--write", action="store_true", help="docs/opinfo.md, of what this run finds")
    parser.add_argument("--date", default="", help="for the page's heading")
    options = parser.parse_args()
    if options.write and (options.name or not options.full):
        parser.error("--write makes the page of a full run: pass --full, and no --name")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options, pathlib.Path(folder))
        for op in op_db:
            if options.name in (None, op.name):
                comparison.take_entry(op)
        comparison.judge_batch()
    sys.exit(report(list(comparison.tallies.values()), options))


def report(tallies, options):
    for tally in tallies:
        for problem in tally.wrong if options.verbose else tally.wrong[:1]:
            more = len(tally.wrong) - 1
            print(f"{problem}{'' if options.verbose or not more else f' (and {more} more)'}")
    rotten = []
    if options.full and not options.name and options.device == "cpu":
        seen = set().union(*(tally.known for tally in tallies))
        rotten = [known for known in opinfo_known.KNOWN if known not in seen]
    for known in rotten:
        print(f"{known.name}: opinfo_known.py says that {known.what} differs ({known.reason}), and it does not any more; take it out")
    lost = not_compared(tallies, opinfo_page.compared(), options.name)
    for problem in lost:
        print(problem)
    if options.write:
        opinfo_page.write(tallies, options.date, FULL, PEER_ULPS, LOOSE)
    total = sum((tally.counts for tally in tallies), collections.Counter())
    num_wrong = sum(bool(tally.wrong) for tally in tallies)
    print(f"pytorch: {sum(tally.counts['compared'] > 0 for tally in tallies)} of {len(tallies)} entries of op_db, "
          f"{total['compared_passed']} of {total['compared']} calls agree, {total['derived_passed']} of {total['derived']} derivatives; "
          f"{sum(sum(tally.known.values()) for tally in tallies)} differences are known; {num_wrong} entries differ")
    return 1 if num_wrong or rotten or lost else 0


def not_compared(tallies, listed, name=None):
    """A sentence for each entry of the page without a call, of all or of this name alone, and for a run without any."""
    compared = {tally.name for tally in tallies if tally.counts["compared"]}
    if not compared:
        return [f"no entry of op_db was compared{f': none is named {name}' if name and not tallies else ''}"]
    wanted = {tally.name for tally in tallies} & set(listed) if name else set(listed)
    return [f"{each}: docs/opinfo.md has it as compared, and no call of it was" for each in sorted(wanted - compared)]


if __name__ == "__main__":
    main()
