"""Every fault of the suite's exam is about a subject, and each subject has at least five. Violations are planted to see
that the rule finds them."""

import json
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


few = [{"fault": "one", "family": "late"}, {"fault": "two", "family": "elsewhere"}]
FOUND = judge({"subjects": {"errors": ["late"]}, "faults": few})
file = "tests/plugins/exam/faults.json"
broken = [f"{file}: {line}" for line in judge(json.loads((rule.source / file).read_text()))]
if len(FOUND) != 2:
    broken.append(f"this rule misses a planted violation: it found {FOUND}")
rule.report(broken, file)
