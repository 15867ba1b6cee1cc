"""The conformance suite names no operator: what it asks of a row, the table says (docs/add_an_operator.md). Probes, trials,
workers and the oracle are programs and kernels, and may."""

import re
import sys

import rule

sys.path.insert(0, str(rule.source / "core_ops/generator"))
import rows  # noqa: E402

ROOMS = ("cases", "inputs", "judge", "protocol", "report", "runner")
# Rows' names that are also words of the suite's own: layouts, kinds of values, forms and profiles of cases, and steps of scripts.
WORDS = {"transpose", "expand", "permute", "normal", "zeros", "inner", "repeat", "full", "copy", "all"}
LITERAL = re.compile(r'"([a-z_0-9]+)"')

table = [row for members in rows.load_tables(rule.source / "core_ops/table").values() for row in members]
arguments = {each.name for row in table for each in row.args + row.returns}
forbidden = {row.name for row in table} - arguments - WORDS

broken, checked = [], 0
for room in ROOMS:
    for file in sorted((rule.source / "conformance" / room).glob("*.[ch]pp")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for word in LITERAL.findall(line.split("//")[0]):
                checked += 1
                if word in forbidden:
                    broken.append(f'{file.relative_to(rule.source)}:{number}: names the operator "{word}"; let its row say what it is')
rule.report(broken, f"{checked} words")
