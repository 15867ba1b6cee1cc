"""docs/differences.md is what tests/pytorch/differences.py writes, and each row that it names is there."""

import sys

import rule

sys.path.insert(0, str(rule.source / "tests/pytorch"))
sys.path.insert(0, str(rule.source / "core_ops/generator"))
import differences  # noqa: E402
import rows  # noqa: E402

table = {row.name for members in rows.load_tables(rule.source / "core_ops/table").values() for row in members}
by_hand = {"empty", "empty_like", "normal"}
broken = []
if not differences.PAGE.exists() or differences.PAGE.read_text() != differences.page():
    broken.append("docs/differences.md is not what tests/pytorch/differences.py writes; run it")
named = [row for row, _, _, _ in differences.KNOWN] + list(differences.WITHOUT_PEER)
broken += [f"tests/pytorch/differences.py: there is no row {row}; take it out" for row in named if row not in table | by_hand]
rule.report(broken, f"{len(named)} rows")
