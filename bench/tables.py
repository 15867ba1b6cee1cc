#!/usr/bin/env python3
"""Writes the tables of docs/performance.md from the kept runs in bench/results; --check only compares.

A table stands between `<!-- table: ROWS: RUN, RUN ... -->` and `<!-- end -->`: ROWS is the file in bench/ that names rows and
budgets, each RUN a name in bench/results without its ending. The machines stand beside each other, held against today's
budgets; where a run is older than a row, its place is empty. machines.json says what each run ran on. After `ops: RUN` stands a
run of `--suite ops`: its sizes, and what is slower than PyTorch, with the reasons of bench/ops_reasons.json.

What is measured belongs in the tables: figures of speed in the page's prose are refused.
"""

import json
import re
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench/peers"))
import ops  # noqa: E402

PAGE = ROOT / "docs/performance.md"
RESULTS = ROOT / "bench/results"
REASONS = ROOT / "bench/ops_reasons.json"
TABLE = re.compile(r"(<!-- table: (\S+): ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
SUITE = re.compile(r"(<!-- ops: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
FIGURE = re.compile(r"\b[\d.,]+\s*(?:[GMT]B/s|[GT]FLOP/s|%|times\b|[mun]s\b|µs)")


def main():
    page = PAGE.read_text()
    written = TABLE.sub(lambda match: match[1] + table(match[2], re.split(r",\s*", match[3])) + match[4], page)
    written = SUITE.sub(lambda match: match[1] + suite(match[2]) + match[3], written)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(written)
    elif written != page:
        sys.exit("docs/performance.md: its tables are not those of bench/results; run python3 bench/tables.py")
    typed = FIGURE.findall(prose_of(written))
    if typed:
        sys.exit(f"docs/performance.md: figures typed into the prose, where no run renews them: {', '.join(typed)}")


def prose_of(page):
    """The page without its tables and code."""
    return re.sub(r"```.*?```|^\|.*?$", "", TABLE.sub("", page), flags=re.DOTALL | re.MULTILINE)


def results_of(run):
    return json.loads((RESULTS / f"{run}.json").read_text())


def table(rows_file, runs):
    rows = json.loads((ROOT / "bench" / rows_file).read_text())
    machines = json.loads((RESULTS / "machines.json").read_text())
    kept = [{row["name"]: row for row in results_of(run)} for run in runs]
    names = [machines[run]["name"] for run in runs]
    lines = [f"* **{machines[run]['name']}**: {machines[run]['what']}; {met(rows, results)}." for run, results in zip(runs, kept)]
    head = "".join(f" {name}: ours, peer | ratio |" for name in names)
    lines += ["", f"| row | unit | budget |{head}", "|---|---|---|" + "---|---|" * len(runs)]
    lines += [line(row, [results.get(row["name"]) for results in kept]) for row in rows]
    return "\n".join(lines) + "\n"


def met(rows, results):
    measured = [(results[row["name"]], budget_of(row)) for row in rows if row["name"] in results]
    verdicts = [is_met(result, budget) for result, budget in measured if budget is not None]
    return f"{sum(verdicts)} of {len(verdicts)} budgets met"


def budget_of(row):
    return None if row["budget"] is None else float(Fraction(row["budget"]))


def is_met(result, budget):
    return result["ratio"] is not None and result["ratio"] <= budget


def line(row, results):
    budget = budget_of(row)
    cells = "".join(cell(result, budget) for result in results)
    return f"| `{row['name']}` | {row['unit']} | {'' if budget is None else f'{budget:.3f}'} |{cells}"


def cell(result, budget):
    """Both figures and their ratio, in bold type where it misses the budget."""
    if result is None:
        return " | |"
    if result["ratio"] is None:
        return " not measured | |" if budget is None else " not measured | **missed** |"
    ratio = f"{result['ratio']:.3f}"
    if budget is not None and not is_met(result, budget):
        ratio = f"**{ratio}**"
    return f" {result['ours']:.1f}, {result['peer']:.1f} | {ratio} |"


def suite(run):
    rows = results_of(run)
    lines = [f"| elements | cases | PyTorch's time over ours | due | below {ops.LEAST} |", "|---|---|---|---|---|"]
    for size, values in ops.speeds(rows).items():
        below = sum(value < ops.LEAST for value in values)
        lines.append(f"| {size} | {len(values)} | {ops.geometric_mean(values):.2f} | {ops.DUE.get(size, '')} | {below} |")
    slow = defaultdict(list)
    for row in rows:
        if not row["met"]:
            slow[row["name"].split("/")[0]].append(row["peer"] / row["ours"])
    reasons = json.loads(REASONS.read_text())
    lines += ["", f"| below {ops.LEAST} | cases | least | why |", "|---|---|---|---|"]
    for operator, values in sorted(slow.items(), key=lambda item: min(item[1])):
        lines.append(f"| `{operator}` | {len(values)} | {min(values):.2f} | {reasons.get(operator, 'not looked into')} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
