"""ONNX's own node tests, those of the wheel `onnx`, through ONNX Runtime on a device, with ONNX Runtime's CPU forbidden.

python bridges/onnxruntime/tests/node_tests.py --device cpu:0 [--match REGEX] [--part 0 --of 8] [--json FILE] [--verbose]

A case passes, fails, or is not claimed: then ONNX Runtime refuses the session, since a node is left to the CPU. Cases that ONNX
Runtime itself cannot load are counted apart. Ends with 1 if a case fails. Cases run in processes of their own, a hundred in each,
so that one that ends its process costs that case alone."""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "conformance/through"))

from nodes import all_cases, run_case  # noqa: E402


def work(device, names):
    """Prints a line for each case, as it is done."""
    cases = {case.name: case for case in all_cases()}
    for name in names:
        print(json.dumps([name, "begun", ""]), flush=True)
        verdict, reason = run_case(cases[name], device)
        print(json.dumps([name, verdict, reason]), flush=True)


def judge(device, names):
    """{case: (verdict, reason)}, by worker processes."""
    verdicts, left = {}, list(names)
    while left:
        batch = left[:400]
        worker = subprocess.run(
            [sys.executable, __file__, "--device", device, "--worker"], input="\n".join(batch), capture_output=True, text=True, check=False, timeout=3000
        )
        begun = None
        for line in worker.stdout.splitlines():
            if not line.startswith("["):
                continue
            name, verdict, reason = json.loads(line)
            begun = name if verdict == "begun" else None
            if verdict != "begun":
                verdicts[name] = (verdict, reason)
        if begun:
            verdicts[begun] = ("failed", f"the process ended with {worker.returncode}: {worker.stderr.strip()[-200:]}")
        done = [name for name in batch if name in verdicts]
        if not done:
            sys.exit(f"no case ran: {worker.stderr[-2000:]}")
        left = [name for name in left if name not in verdicts]
    return verdicts


def page_of(device, verdicts):
    """docs/coverage/onnx_node_tests.md"""
    import onnx
    import onnxruntime

    counts = Counter(verdict for verdict, _ in verdicts.values())
    text = f"""# ONNX's node tests

Written by `bridges/onnxruntime/tests/node_tests.py --device {device.split(":")[0]}:0 --page`; do not edit. Of the {len(verdicts)} node tests of
onnx {onnx.__version__}, through ONNX Runtime {onnxruntime.__version__} on `{device}` with its CPU forbidden, {counts["passed"]} pass and {counts["failed"]} fail. The
others, with the reason why a node was not taken, or ONNX Runtime's why it could not load the case:
"""
    by_reason = defaultdict(list)
    for name, (verdict, reason) in verdicts.items():
        if verdict != "passed":
            by_reason[f"{verdict}: {reason}"].append(name.removeprefix("test_"))
    for reason, names in sorted(by_reason.items(), key=lambda each: (-len(each[1]), each[0])):
        text += f"\n* **{reason}** ({len(names)}): {', '.join(sorted(names)).replace('_', chr(92) + '_')}"
    return text + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--match", default="", help="a regular expression of cases")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--of", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where the verdicts go")
    parser.add_argument("--verbose", action="store_true", help="also what is not claimed, with reasons")
    parser.add_argument("--page", type=Path, help="where a page for a person goes")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.device, sys.stdin.read().split())
    names = [case.name for case in all_cases() if re.search(options.match, case.name)][options.part :: options.of]
    verdicts = judge(options.device, names)
    if options.json:
        options.json.write_text(json.dumps(verdicts, indent=1, sort_keys=True) + "\n")
    if options.page:
        options.page.write_text(page_of(options.device, verdicts))
    for name, (verdict, reason) in sorted(verdicts.items()):
        if verdict == "failed" or (options.verbose and verdict != "passed"):
            print(f"{verdict}: {name}: {reason}")
    counts = Counter(verdict for verdict, _ in verdicts.values())
    print(f"{options.device}: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("passed", "failed", "unclaimed", "not loaded")))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
