#!/usr/bin/env python3
"""Writes or checks sdk/abi.lock: what abi.h and the extensions promise, as the C compiler sees it.

    sdk/abi_lock.py --write           after a change that is meant
    sdk/abi_lock.py --check           exits 1 with the first difference
    sdk/abi_lock.py --release 1.1     freezes the level of today as snapshots/1.1

The lock holds structs (fields with offset, size and type), function types and constants, in the headers' order. What a
snapshot holds is frozen: only additions at ends under a higher level are taken, by --write too.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Callable

import abi_growth


@dataclass
class Interface:
    """Headers whose declarations are a promise: `folder` has them in include/, beside the lock and the snapshots/."""

    folder: pathlib.Path
    lock: str  # the file's name
    title: str  # its first line
    headers: Callable  # of an include folder: what it describes, relative to that
    tool: str  # how a person runs it
    section: str  # of CHANGELOG.md
    includes: tuple = ()  # folders that the headers include from, besides their own
    derived: Callable = lambda locks: {}  # {path: text} of other files made from all locks

    def text_of(self, include):
        return self.title + describe(include, self.headers(include), self.includes)


def main():
    folder = pathlib.Path(__file__).resolve().parent
    title = "# What the ABI promises on 64-bit machines. Made by sdk/abi_lock.py --write; offsets and sizes in bytes.\n"
    sizes = folder.parent / "runtime/include/backplane/runtime/generated/abi_sizes.hpp"
    return run_command(Interface(folder, "abi.lock", title, headers, "sdk/abi_lock.py", "ABI",
                                 derived=lambda locks: {sizes: sizes_header(locks)}))  # fmt: skip


def run_command(interface):
    parser = argparse.ArgumentParser()
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    action.add_argument("--release", metavar="VERSION")
    arguments = parser.parse_args()

    folder, name = interface.folder, interface.lock
    text = interface.text_of(folder / "include")
    snapshots = {each.name: (each / name).read_text() for each in sorted((folder / "snapshots").glob("*.*"))}
    today = abi_growth.parse(text)
    refused = list(abi_growth.padded(today))
    for version, lock in snapshots.items():
        refused += abi_growth.refusals(abi_growth.parse(lock), today, version)
        if interface.text_of(folder / "snapshots" / version) != lock:
            refused.append(f"snapshots/{version} was changed: its headers are not what its {name} says")
    if refused:
        print("\n".join(refused))
        return 1
    if arguments.release:
        return release(interface, arguments.release, text, snapshots)
    written = {folder / name: text, **interface.derived([*snapshots.values(), text])}
    if arguments.check:
        return max(check(interface, path, content) for path, content in written.items())
    for path, content in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return 0


def release(interface, version, text, snapshots):
    if any(abi_growth.level_of(abi_growth.parse(lock)) == abi_growth.level_of(abi_growth.parse(text)) for lock in snapshots.values()):
        print(f"{version}: another snapshot has this level already; raise {abi_growth.level_name(abi_growth.parse(text))} with what it adds")
        return 1
    include, folder = interface.folder / "include", interface.folder / "snapshots" / version
    for header in interface.headers(include):
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(include / header, folder / header)
    (folder / interface.lock).write_text(text)
    return 0


def check(interface, path, text):
    if not path.exists():
        print(f"{path} is missing; run {interface.tool} --write")
        return 1
    old, new = path.read_text().splitlines(), text.splitlines()
    if old == new:
        return 0
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            context = next((line for line in reversed(old[:a]) if not line.startswith(" ")), "")
            print(f"the headers are not what {path.name} says, line {a + 1}, at {context!r}:")
            print("\n".join(["- " + line for line in old[a:b]] + ["+ " + line for line in new[c:d]]))
            break
    print(f'If this is meant: run {interface.tool} --write, and add a line to CHANGELOG.md under "{interface.section}".')
    return 1


def sizes_header(locks):
    """The size that each struct that may grow had at each level, for tests that act as an older host or plugin."""
    sizes = {}
    for entries in map(abi_growth.parse, locks):
        for name, (kind, fields) in entries.items():
            if kind == "struct" and abi_growth.grows(fields):
                sizes[abi_growth.level_of(entries), name] = fields[0]
    rows = "".join(f'    {{{level}, "{name}", {size}}},\n' for (level, name), size in sorted(sizes.items()))
    return f"""// Made by sdk/abi_lock.py from sdk/snapshots; do not edit. How large each struct that may grow was at each level.
#pragma once

#include <cstdint>
#include <string_view>

namespace bp {{

struct AbiSize {{
  uint32_t level;
  std::string_view name;
  uint32_t bytes;
}};
inline constexpr AbiSize abi_sizes[] = {{
{rows}}};

// Of the struct `name` at `level`; 0 if there was none.
constexpr uint32_t abi_size(std::string_view name, uint32_t level) {{
  for (const AbiSize& each : abi_sizes)
    if (each.level == level && each.name == name) return each.bytes;
  return 0;
}}

}}  // namespace bp
"""


def headers(include):
    """abi.h, then the extensions that are not of one backend alone, as they are included."""
    extensions = sorted((include / "backplane/extensions").glob("*.h"))
    shared = [path for path in extensions if re.search(r'^#define BP_\w+ "bp\.', path.read_text(), flags=re.M)]
    return [path.relative_to(include) for path in [include / "backplane/abi.h", *shared]]


def describe(include, described, includes):
    """The lock's lines. One C program prints them all, so that the numbers are the compiler's."""
    lines = []
    for header in described:
        lines.append(literal(f"header {header}"))
        source = re.sub(r"/\*.*?\*/", " ", (include / header).read_text(), flags=re.S)
        lines += [line for match in DECLARATION.finditer(source) for line in describe_declaration(match)]
    return run(described, (include, *includes), lines)


def describe_declaration(match):
    if match["constant"]:
        return [f'printf("constant {match["constant"]} = %lld\\n", (long long)({match["value"]}));']
    if match["text"]:
        return [literal(f'text {match["text"]} = {match["words"]}')]
    if match["struct"]:
        return describe_struct(match["struct"], match["body"])
    if match["alias"]:
        return [literal(f"type {squeeze(match['alias'])}")]
    return [literal(f"function {squeeze(match['function'])}")]


DECLARATION = re.compile(
    r"^#define (?P<constant>BP_\w+) +(?P<value>[-\w]+)[ \t]*$"
    r'|^#define (?P<text>BP_\w+) +"(?P<words>[^"]*)"[ \t]*$'
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


def run(described, includes, lines):
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "lock.c"), pathlib.Path(folder, "lock")
        body = "\n  ".join(lines)
        included = "".join(f"#include <{header}>\n" for header in described)
        source.write_text(f"#include <stdio.h>\n{included}int main(void) {{\n  {body}\n  return 0;\n}}\n")
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", *(f"-I{each.resolve()}" for each in includes), "-o", program, source], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
