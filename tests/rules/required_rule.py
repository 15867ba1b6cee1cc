"""Each name of core_ops/required.txt is a row, a function of ours, or said in required.yaml to have another name, to stay
out, or to be due; and what is said there is true. Violations are planted to see that the rule finds them."""

import re
import sys

import yaml

import rule

sys.path.insert(0, str(rule.source / "core_ops/generator"))
import overloads  # noqa: E402
import rows  # noqa: E402

ROOMS = ("core_ops", "tensor", "runtime", "autograd")  # whose public functions take and give tensors
FUNCTION = re.compile(r"^(?:template <.*> )?(?:BP_API |inline |constexpr )*(?:const )?[\w:<>]+[&*]? (\w+)\(", re.MULTILINE)
CALL = re.compile(r"(?<![\w.])((?:Tensor::)?[a-z]\w*)\(|^((?:Tensor::)?\w+)(?:,|$)")
MOST_EXCLUDED = 0.03

table = {row.name: row for members in rows.load_tables(rule.source / "core_ops/table").values() for row in members}
headers = {file.name: file.read_text() for room in ROOMS for file in sorted((rule.source / room / "include").rglob("*.hpp"))}
members = re.findall(r"\b(\w+)\(", headers["tensor.hpp"].split("class Tensor {")[1].split("\n};")[0])
known = {form.name(row) for row in table.values() for form in overloads.forms_of(row)}
known.update(name for text in headers.values() for name in FUNCTION.findall(text))
known.update(f"Tensor::{name}" for name in members)


def wrong_alias(text):
    """Why `text` does not say how to call what there is, or None."""
    if text.startswith("derivative of "):
        row = table.get(text.removeprefix("derivative of "))
        return None if row and (row.grad or row.kind == "composite") else "no row of that name has a derivative"
    calls = [first or second for first, second in CALL.findall(text)]
    if not calls or not known.issuperset(calls):
        return f"{', '.join(set(calls) - known) or 'that'} is neither a row nor a public function"
    return None if len(calls) <= 2 else f"takes {len(calls)} calls; make it a composite row"


def judge(required, aliases, excluded, due):
    """A sentence for each violation."""
    said = [*aliases, *excluded, *due]
    for name in sorted(set(said)):
        if name not in required:
            yield f"{name} is not in required.txt; take it out"
        elif name in there:
            yield f"{name} is there now; take it out"
        if said.count(name) > 1:
            yield f"{name} stands here {said.count(name)} times"
    for name in [name for name in required if name not in there and name not in said]:
        yield f"{name} is required, and not there; write its row, or say here what becomes of it"
    yield from (f"alias {name}: {text!r}: {why}" for name, text in aliases.items() if (why := wrong_alias(text)))
    yield from (f"excluded {name}: no reason is given" for name, reason in excluded.items() if not reason)
    if len(excluded) > MOST_EXCLUDED * len(required):
        yield f"{len(excluded)} of {len(required)} names are excluded; at most 3 %"


required = [line.split("  ")[0] for line in (rule.source / "core_ops/required.txt").read_text().splitlines() if line[0] != "#"]
told = yaml.safe_load((rule.source / "core_ops/required.yaml").read_text())
aliases, excluded = told["aliases"], told["excluded"]
due = [name for names in told["due"].values() for name in names or []]
there = {name for name in required if name in known or f"{name}_" in known}
broken = [f"core_ops/required.yaml: {sentence}" for sentence in judge(required, aliases, excluded, due)]

PLANTED = {
    "brew is required, and not there": ([*required, "brew"], aliases, excluded, due),
    "add is there now": (required, aliases, excluded, [*due, "add"]),
    "brew is not in required.txt": (required, aliases, excluded, [*due, "brew"]),
    "And stands here 2 times": (required, aliases, {**excluded, "And": "a reason"}, due),
    "brew is neither a row": (required, {**aliases, "And": "mul(brew(a), b)"}, excluded, due),
    "takes 3 calls": (required, {**aliases, "And": "mul(exp(a), exp(b))"}, excluded, due),
    "no row of that name has": (required, {**aliases, "And": "derivative of brew"}, excluded, due),
    "no reason is given": (required, aliases, {**excluded, "finfo": None}, due),
    "at most 3 %": (required, aliases, dict.fromkeys(required[: len(required) // 20], "a reason"), due),
}  # fmt: skip
for violation, case in PLANTED.items():
    if not any(violation in sentence for sentence in judge(*case)):
        broken.append(f"this rule misses a planted violation: {violation}")
in_table = len(there & set(table))
print(f"{len(required)} required: {in_table} rows, {len(there) - in_table} functions by hand, {len(aliases)} aliases, {len(excluded)} excluded, "
      f"{len(due)} due")  # fmt: skip
rule.report(broken, f"{len(required)} names and {len(PLANTED)} planted violations")
