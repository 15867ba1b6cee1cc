"""A number that trades time for time or memory stands in its room's constants.hpp, with its unit, what it trades and the machine that it was
measured on. Elsewhere in these rooms a number needs a place in constants_elsewhere.txt, with a reason, if its name sounds like a tuned one, or
if it has no name and is a power of two from 1024 on. An entry that is no longer needed is a violation too."""

import re

import rule

ROOMS = ("codegen", "runtime", "dispatcher", "tuning", "backends/cpu", "backends/cuda", "backends/level_zero", "backends/opencl")
WORDS = """at_once block blocks budget bytes cached capacity chunk elements enough few gain grain group hopeless kept lanes large larger largest least
    longest many medium ms most part parts piece pieces repeats rounds run runs seconds shortest slots small smallest streamed threshold tile us wanted worth"""
TUNED = re.compile(rf"(^|_)({'|'.join(WORDS.split())})(_|$)")
APART = re.compile(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*(?:.|\n)*?\*/')
CONSTANTS = re.compile(r"\bconstexpr\b[^;={}()]*?[\w>]\s+(\w+ = [^;]*);")
CONSTANT = re.compile(r"(\w+) = ((?:[^,{]|\{[^}]*\})*)")
LITERAL = re.compile(r"(?=.*\d)(?:[-+*/()~<>{}\s]|\b\d[\w.']*|\b(?:std::)?u?int\d+_t\b|\bsize_t\b)+", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])(?:1 << [1-9]\d\b|[1-9]\d{3,}(?=[uUlL]*\b)(?!\.))")


def is_typed(number):
    return "<<" in number or (value := int(number)) & (value - 1) == 0


def numbers(text):
    """(line, what) of each number in the text of a file that sounds as if somebody had tuned it."""
    text = APART.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in CONSTANTS.finditer(text):
        for name, value in CONSTANT.findall(found[1]):
            if TUNED.search(name) and LITERAL.fullmatch(value):
                yield text.count("\n", 0, found.start(1)) + 1, name
    for found in NUMBER.finditer(CONSTANTS.sub(lambda named: re.sub(r"[^\n]", " ", named[0]), text)):
        if is_typed(found[0]):
            yield text.count("\n", 0, found.start()) + 1, found[0].replace(" ", "")


listed = rule.source / "tests/rules/constants_elsewhere.txt"
may = {tuple(line.split()[:2]) for line in open(listed) if line.strip() and line[0] != "#"}
broken, seen, checked = [], set(), 0
for path in rule.files():
    if not str(path).startswith(tuple(f"{room}/" for room in ROOMS)) or path.name == "constants.hpp" or "generated" in path.parts:
        continue
    checked += 1
    for line, what in numbers((rule.source / path).read_text()):
        seen.add((str(path), what))
        if (str(path), what) not in may:
            broken.append(f"{path}:{line}: {what}; write it in the room's constants.hpp, or in constants_elsewhere.txt, with its reason")
broken += [f"tests/rules/constants_elsewhere.txt: {path} {what} needs none" for path, what in sorted(may - seen)]
broken += [f"{room}: there is no constants.hpp" for room in ROOMS if not (rule.source / room / "constants.hpp").exists()]
rule.report(broken, f"{checked} sources")
