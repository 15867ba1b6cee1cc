"""Style.md's smoke alarms: files (abi.h apart), functions and build descriptions stay small. exceptions.txt may only
shrink, so an exception that is no longer needed is a violation too."""

import re

import rule

LIMITS = {".c": 600, ".cpp": 600, ".cu": 600, ".cuh": 600, ".h": 500, ".hpp": 500}
NO_FUNCTION = re.compile(r"namespace\b|extern \"C\"|(public|private|protected):")

listed = [line.split()[0] for line in open(rule.source / "tests/rules/exceptions.txt") if line.strip() and line[0] != "#"]


def functions(lines):
    """(line, length) of each function outside a class: in our format it begins in column 0 and ends with a "}" there."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "}" and start:
            yield start, number - start
        if not line or line[0] in " #/":
            continue
        if line[0] == "}" or line[-1] in ";}" or NO_FUNCTION.match(line):
            start = None
        else:
            start = start or number


def over():
    """(name, what is over) of each thing that is too long."""
    for file in rule.files():
        lines = (rule.source / file).read_text().splitlines()
        if "generated" in file.parts or file.name == "abi.h":
            continue
        if len(lines) > LIMITS[file.suffix]:
            yield str(file), f"{len(lines)} lines; at most {LIMITS[file.suffix]}"
        for start, length in functions(lines):
            if length > 100:
                yield f"{file}:{start}", f"a function of {length} lines; at most 100"
    for file in rule.files("CMakeLists.txt"):
        if len((rule.source / file).read_text().splitlines()) > (limit := {1: 150, 2: 20}.get(len(file.parts), 60)):
            yield str(file), f"more than {limit} lines"
    if len(re.findall(r"^option\(|CACHE STRING", (rule.source / "CMakeLists.txt").read_text(), re.MULTILINE)) > 8:
        yield "CMakeLists.txt:options", "more than 8 options"


found = [(name, name.split(":")[0], what) for name, what in over()]
broken = [f"{name}: {what}" for name, path, what in found if path not in listed]
broken += [f"tests/rules/exceptions.txt: {path} needs none" for path in listed if path not in {path for _, path, _ in found}]
rule.report(broken, f"{sum(1 for _ in rule.files())} sources")
