"""Every fault of the suite's exam is about a subject, and each subject has at least five. The page of the exam's last whole run
is about these faults and variants. Violations are planted to see that the rule finds them."""

import json
import re
from collections import Counter

import rule

FEWEST = 5


def judge(exam):
    """A sentence for each violation."""
    subject_of = {family: subject for subject, families in exam["subjects"].items() for family in families}
    wrong = [f"{fault['fault']}: its family, {fault['family']}, is of no subject"
             for fault in exam["faults"] if fault["family"] not in subject_of]
    counts = Counter(subject_of.get(fault["family"]) for fault in exam["faults"])
    return wrong + [f"{subject}: {counts[subject]} faults; plant {FEWEST}"
                    for subject in exam["subjects"] if counts[subject] < FEWEST]


def judge_page(exam, page):
    """The same of the page."""
    there = [entry.get("fault") or entry["variant"] for entry in exam["faults"] + exam["variants"]]
    written = re.findall(r"^\| ([a-z0-9_]+): .* \| \d+ of \d+ \|", page, re.MULTILINE)
    return ([f"{name} is in no row: backplane conform selftest --only {name} --seeds 5 --write docs/conformance_exam.md" for name in there if name not in written] +
            [f"{name} is neither a fault nor a variant" for name in written if name not in there])


few = [{"fault": "one", "family": "late"}, {"fault": "two", "family": "elsewhere"}]
FOUND = judge({"subjects": {"errors": ["late"]}, "faults": few})
file = "tests/plugins/exam/faults.json"
page = "docs/conformance_exam.md"
all_faults = json.loads((rule.source / file).read_text())
broken = ([f"{file}: {line}" for line in judge(all_faults)] +
          [f"{page}: {line}" for line in judge_page(all_faults, (rule.source / page).read_text())])
FOUND += judge_page({"faults": few[:1], "variants": [{"variant": "three"}]},
                    "| one: what | late | 5 of 5 | `a | b` |\n| four: what | 5 of 5 | 10 | 7.0 | |\n")
if len(FOUND) != 4:
    broken.append(f"this rule misses a planted violation: it found {FOUND}")
rule.report(broken, file)
