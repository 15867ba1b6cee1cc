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

import abi_growth

TITLE = "# What the ABI promises on 64-bit machines. Made by sdk/abi_lock.py --write; offsets and sizes in bytes.\n"
SIZES = "runtime/include/backplane/runtime/generated/abi_sizes.hpp"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    action.add_argument("--release", metavar="VERSION")
    parser.add_argument("--sdk", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
    arguments = parser.parse_args()

    sdk = arguments.sdk
    text = TITLE + describe(sdk / "include")
    snapshots = {folder.name: (folder / "abi.lock").read_text() for folder in sorted((sdk / "snapshots").glob("*.*"))}
    today = abi_growth.parse(text)
    refused = list(abi_growth.padded(today))
    for version, lock in snapshots.items():
        refused += abi_growth.refusals(abi_growth.parse(lock), today, version)
        if TITLE + describe(sdk / "snapshots" / version) != lock:
            refused.append(f"snapshots/{version} was changed: its headers are not what its abi.lock says")
    if refused:
        print("\n".join(refused))
        return 1
    if arguments.release:
        return release(sdk, arguments.release, text, snapshots)
    written = {sdk / "abi.lock": text, sdk.parent / SIZES: sizes_header([*snapshots.values(), text])}
    if arguments.check:
        return max(check(path, content) for path, content in written.items())
    for path, content in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return 0


def release(sdk, version, text, snapshots):
    if any(abi_growth.level_of(abi_growth.parse(lock)) == abi_growth.level_of(abi_growth.parse(text)) for lock in snapshots.values()):
        print(f"{version}: another snapshot has this level already; raise BP_ABI_LEVEL with what it adds")
        return 1
    folder = sdk / "snapshots" / version
    for header in headers(sdk / "include"):
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(sdk / "include" / header, folder / header)
    (folder / "abi.lock").write_text(text)
    return 0


def check(path, text):
    if not path.exists():
        print(f"{path} is missing; run sdk/abi_lock.py --write")
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
    print("If this is meant: run sdk/abi_lock.py --write, and add a line to CHANGELOG.md under \"ABI\".")
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


def describe(include):
    """The lock's lines. One C program prints them all, so that the numbers are the compiler's."""
    lines = []
    for header in headers(include):
        lines.append(literal(f"header {header}"))
        source = re.sub(r"/\*.*?\*/", " ", (include / header).read_text(), flags=re.S)
        lines += [line for match in DECLARATION.finditer(source) for line in describe_declaration(match)]
    return run(include, lines)


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


def run(include, lines):
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "lock.c"), pathlib.Path(folder, "lock")
        body = "\n  ".join(lines)
        included = "".join(f"#include <{header}>\n" for header in headers(include))
        source.write_text(f"#include <stdio.h>\n{included}int main(void) {{\n  {body}\n  return 0;\n}}\n")
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-I", include.resolve(), "-o", program, source], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
