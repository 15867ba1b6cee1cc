"""What is committed is what its generator would write now, and generating stays small: the generator under 2,500 lines,
its output (documentation apart) under a third of the code."""

import subprocess
import sys

import rule

CHECKS = ["core_ops/generator/generate.py", "sdk/abi_lock.py", "client/client_lock.py", "bench/tables.py", "bridges/torch/tests/opinfo_table.py", "tests/accuracy/page.py", "docs/pictures/draw.py"]

broken = []
for check in CHECKS:
    if (rule.source / check).is_file():
        run = subprocess.run([sys.executable, check, "--check"], cwd=rule.source, capture_output=True, text=True)
        if run.returncode:
            broken.append(f"{check} --check: {(run.stdout + run.stderr).strip()}")


def lines(files):
    return sum(len((rule.source / file).read_text().splitlines()) for file in files)


generator = lines(file for file in rule.files("*.py") if "generator" in file.parts)
if generator >= 2500:
    broken.append(f"core_ops/generator: {generator} lines; at most 2,500")
code = lines(rule.files())
generated = lines(file for file in rule.files() if "generated" in file.parts)
if generated * 3 > code:
    broken.append(f"generated code: {generated} of {code} lines; at most a third")
rule.report(broken, f"{len(CHECKS)} generators, {generated} generated lines of {code}")
