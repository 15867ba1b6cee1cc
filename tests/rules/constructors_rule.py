"""Nothing registers itself from a static constructor: in our libraries only the standard library's own may run before
main, and no macro of ours defines a global object."""

import re

import rule

# A namespace-scope object whose initializer calls something named register, or a constructor attribute.
GLOBAL = re.compile(r"^(?:static |inline |const |\[\[maybe_unused\]\] )*[\w:<>]+ \w+ ?(?:=|\{|\().*\bregister\w*\(", re.MULTILINE)
ATTRIBUTE = re.compile(r"__attribute__\(\((?:\w+, *)*constructor\b")

broken, checked = [], 0
for file in rule.files():
    if file.parts[0] in ("tests", "bench", "examples"):
        continue
    checked += 1
    text = (rule.source / file).read_text()
    for found in [*GLOBAL.finditer(text), *ATTRIBUTE.finditer(text)]:
        line = text.count("\n", 0, found.start()) + 1
        broken.append(f"{file}:{line}: runs before main: {found.group().strip()}")
rule.report(broken, f"{checked} sources")
