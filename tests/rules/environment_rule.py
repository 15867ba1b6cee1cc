"""docs/environment.md names every environment variable that the product reads, and no other."""

import re

import rule

ROOMS = ("runtime", "dispatcher", "loading", "tuning", "capture", "samples", "tensor", "core_ops", "tracing", "autograd", "nn", "optim", "client", "codegen", "backends", "tools", "conformance", "bridges")
NAME = re.compile(r"BACKPLANE_[A-Z0-9_]+")

read = {}
for file in rule.files("*.cpp", "*.hpp"):
    if file.parts[0] in ROOMS or file.parts[:3] == ("tests", "plugins", "exam"):
        for name in re.findall(r'"(BACKPLANE_[A-Z0-9_]+)[="]', (rule.source / file).read_text(errors="replace")):
            read.setdefault(name, file)
told = set(NAME.findall((rule.source / "docs/environment.md").read_text()))
broken = [f"{file}: reads {name}, which docs/environment.md does not tell of" for name, file in sorted(read.items()) if name not in told]
broken += [f"docs/environment.md: tells of {name}, which nobody reads" for name in sorted(told - set(read))]
rule.report(broken, f"{len(read)} variables")
