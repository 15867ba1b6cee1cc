#!/usr/bin/env python3
"""Writes or checks sdk/abi.lock: what abi.h promises, as the C compiler sees it.

    sdk/abi_lock.py --write    after a change that is meant
    sdk/abi_lock.py --check    exits 1 with the first difference

The lock holds structs (fields with offset, size and type), function types and constants, in the header's order.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SDK = pathlib.Path(__file__).resolve().parent
HEADER = SDK / "include/backplane/abi.h"
LOCK = SDK / "abi.lock"
TITLE = "# What abi.h promises on 64-bit machines. Made by sdk/abi_lock.py --write; offsets and sizes in bytes.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    parser.add_argument("--header", type=pathlib.Path, default=HEADER)
    parser.add_argument("--lock", type=pathlib.Path, default=LOCK)
    arguments = parser.parse_args()

    text = TITLE + describe(arguments.header)
    if arguments.write:
        arguments.lock.write_text(text)
        return 0
    return check(arguments.lock, text)


def check(lock, text):
    if not lock.exists():
        print(f"{lock} is missing; run sdk/abi_lock.py --write")
        return 1
    old, new = lock.read_text().splitlines(), text.splitlines()
    if old == new:
        return 0
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            context = next((line for line in reversed(old[:a]) if not line.startswith(" ")), "")
            print(f"abi.h is not what {lock.name} says, line {a + 1}, at {context!r}:")
            print("\n".join(["- " + line for line in old[a:b]] + ["+ " + line for line in new[c:d]]))
            break
    print("If this is meant: run sdk/abi_lock.py --write, and add a line to CHANGELOG.md under \"ABI\".")
    print("Structs grow at their end only; constants and signatures keep their values for ever.")
    return 1


def describe(header):
    """The lock's lines. One C program prints them all, so that the numbers are the compiler's."""
    source = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
    lines = []
    for match in DECLARATION.finditer(source):
        if match["constant"]:
            lines.append(f'printf("constant {match["constant"]} = %lld\\n", (long long)({match["value"]}));')
        elif match["struct"]:
            lines += describe_struct(match["struct"], match["body"])
        elif match["alias"]:
            lines.append(literal(f"type {squeeze(match['alias'])}"))
        elif match["function"]:
            lines.append(literal(f"function {squeeze(match['function'])}"))
    return run(header, lines)


DECLARATION = re.compile(
    r"^#define (?P<constant>BP_\w+) +(?P<value>[-\w]+)[ \t]*$"
    r"|^(?:typedef )?struct (?P<struct>\w+) \{(?P<body>.*?)^\}[^;]*;"
    r"|^typedef (?P<alias>[^{};]+);"
    r"|^BP_EXPORT (?P<function>[^;]+);",
    flags=re.S | re.M,
)


def describe_struct(name, body):
    lines = [f'printf("struct {name}: %zu\\n", sizeof({name}));']
    for path, declaration in fields(body):
        where = f"offsetof({name}, {path}), sizeof((({name}*)0)->{path})"
        lines.append(f'printf("  %zu %zu {declaration}\\n", {where});')
    return lines


def fields(body, prefix=""):
    """(path, declaration) of each member, those of unions with their path."""
    for statement in split(body, ";"):
        union = re.fullmatch(r"union \{(.*)\} (\w+)", statement, flags=re.S)
        if union:
            yield prefix + union[2], f"union {union[2]}"
            yield from fields(union[1], prefix + union[2] + ".")
            continue
        function = re.search(r"\(\*(\w+)\)", statement)
        if function:
            yield prefix + function[1], squeeze(statement)
            continue
        base, rest = re.fullmatch(r"((?:const |struct )*\w+(?: const)?)(.*)", squeeze(statement)).groups()
        for declarator in split(rest, ","):
            name = re.search(r"(?!const\b)\b[a-z_]\w*", declarator)[0]  # after "* const*", before "[16]"
            yield prefix + name, f"{base} {declarator}"


def split(text, separator):
    """Parts at depth 0 of braces and parentheses, without blanks and empty ones."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += (character in "({") - (character in ")}")
        if character == separator and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [part.strip() for part in parts + [part] if part.strip()]


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def literal(text):
    return f'printf("%s\\n", "{text}");'


def run(header, lines):
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "lock.c"), pathlib.Path(folder, "lock")
        body = "\n  ".join(lines)
        source.write_text(f'#include <stdio.h>\n#include "{header.resolve()}"\nint main(void) {{\n  {body}\n}}\n')
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-o", program, source], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
