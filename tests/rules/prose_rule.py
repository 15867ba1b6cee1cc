"""Pages, comments and messages keep clear of turns that a native reader stumbles over, also across a line's end. Guides end with
what goes wrong."""

import re

import rule

GAP = r'(?: |"?\s*\n\s*(?://|\*|#|f?")?\s*)'  # a space, or where a text or a comment goes on in the next line
INSTEAD = {
    r"\b(?:is|are) no (?!longer|more|less|further|better|worse)['\"`]?\w": "say 'is not a', or 'there is no'",
    r"\bwants\b": "say 'needs', 'takes' or 'requires'",
    r"\banew\b": "say 'again', or 'a new'",
    r"\bbeforehand\b": "say 'first' or 'in advance'",
    r"\bfor ever\b": "write 'forever'",
    r"\b(?:comes?|came) about\b": "say 'arises', or who makes it",
    r"\bwhich there (?:is|are) not\b": "say 'which does not exist'",
}
PATTERNS = {re.compile(pattern.replace(" ", GAP)): advice for pattern, advice in INSTEAD.items()}
WRITTEN = ("*.md", "*.txt", "*.py", "*.pyi", "*.yaml", "*.cmake", "dev", *rule.CODE)
ELSEWHERE = ("sdk/snapshots", "docs/conformance_exam.md")  # frozen; written by the exam, which runs for an hour
GUIDES = ("install", "c", "write_a_backend", "add_an_operator", "conformance", "devices", "memory", "nn", "optim", "data", "amp", "serialize", "python",
          "torch", "interop", "level_zero", "notes/capture", "abi", "examples", "testing", "tuning", "onnxruntime", "environment")  # fmt: skip

broken, checked = [], 0
for file in rule.files(*WRITTEN):
    if str(file).startswith(ELSEWHERE):
        continue
    text = (rule.source / file).read_text(errors="replace")
    checked += 1
    for pattern, advice in PATTERNS.items():
        for found in pattern.finditer(text):
            if not re.search(r"[Tt]here\W*$", text[: found.start()][-40:]):
                line = text.count("\n", 0, found.start()) + 1
                broken.append(f"{file}:{line}: '{' '.join(found[0].split())}': {advice}")
for guide in GUIDES:
    headings = re.findall(r"^## (.+)$", (rule.source / f"docs/{guide}.md").read_text(), re.MULTILINE)
    if headings[-1] != "What goes wrong":
        broken.append(f"docs/{guide}.md: must end with a section '## What goes wrong': what you see, why, what to do")
rule.report(broken, f"{checked} files and {len(GUIDES)} guides")
