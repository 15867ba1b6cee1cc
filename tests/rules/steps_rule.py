"""What there is to know of a step of an expression (BP_X_*) stands in core_ops/steps.yaml: nobody derives it from the
numbers' order, and few name all of them."""

import re

import rule

# `code <= BP_X_TANH`: a new step cannot be put into such a range. Not `Step<BP_X_ADD, ...>`, a template's argument.
ORDERED = re.compile(r"(?<!\w)[<>]=?\s*BP_X_\w+|BP_X_\w+\s*[<>]=?(?!=)")
# Those that compute each step: one for the devices, one for the processors, the suite's own and the truth in 113 bits apart on purpose.
COMPUTE = {"backends/cpu/tile/arithmetic.cpp", "backends/reference_primitives/expression.hpp", "conformance/oracle/pointwise.cpp",
           "conformance/judge/complex_functions.cpp", "tests/accuracy/truth.cpp",
           "codegen/dialect/expression_text.cpp", "sdk/include/backplane/abi.h"}  # fmt: skip
ORACLE = "conformance/oracle/pointwise.cpp"  # shares nothing with what it judges

broken, checked = [], 0
for file in rule.files():
    if file.suffix not in (".h", ".hpp", ".cpp") or "generated" in file.parts or "snapshots" in file.parts:
        continue
    checked += 1
    text = (rule.source / file).read_text()
    for found in ORDERED.finditer(text) if str(file) != ORACLE else []:
        line = text.count("\n", 0, found.start()) + 1
        broken.append(f"{file}:{line}: asks for the order of steps: {found.group()}; use bp_steps[code].kind")
    if str(file) not in COMPUTE and len(named := set(re.findall(r"\bBP_X_[A-Z0-9]+", text))) > 24:
        broken.append(f"{file}: names {len(named)} steps; see backplane/generated/steps.h")
rule.report(broken, f"{checked} sources")
