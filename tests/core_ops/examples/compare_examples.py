"""core_ops/examples.json is what write_examples writes now: the same calls, and results whose numbers agree to three digits, since
the last one printed may be rounded the other way on another processor."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def agree(kept, fresh):
    """Two texts whose numbers may differ a little."""
    if re.sub(r"\s+", " ", NUMBER.sub("#", kept)) != re.sub(r"\s+", " ", NUMBER.sub("#", fresh)):
        return False
    pairs = zip(map(float, NUMBER.findall(kept)), map(float, NUMBER.findall(fresh)))
    return all(abs(a - b) <= 2e-4 + 1e-3 * abs(b) for a, b in pairs)


def differences(kept, fresh):
    for row in sorted(set(kept) | set(fresh)):
        old, new = kept.get(row, {}), fresh.get(row, {})
        same = old.get("call") == new.get("call") and old.get("none") == new.get("none")
        if not same or not agree(old.get("result", ""), new.get("result", "")):
            yield f"{row}: kept {json.dumps(old)}, now {json.dumps(new)}"


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "examples.json")
        subprocess.run([program, file], check=True)
        fresh = json.loads(file.read_text())
    found = list(differences(json.loads((ROOT / "core_ops/examples.json").read_text()), fresh))
    print("\n".join(found) or f"{len(fresh)} examples")
    if found:
        sys.exit("run build/release/tests/write_examples core_ops/examples.json, look at what changed, and ./dev gen")


if __name__ == "__main__":
    main(*sys.argv[1:])
