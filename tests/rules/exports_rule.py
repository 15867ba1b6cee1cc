"""An application links all that the public headers declare: each function, method and variable without a body there is
exported from libbackplane, or a library beside it. Clang reads the declarations, and knows their names for the linker. What is
declared for C has a version there, and nothing else has one."""

import json
import re
import shutil
import subprocess

import rule

ROOMS = ("tensor", "state", "runtime", "dispatcher", "loading", "capture", "core_ops", "tracing", "autograd", "nn", "optim", "amp", "functional",
         "serialize", "data")  # the last two are libraries of their own
KINDS = ("FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl", "CXXConversionDecl")


def headers():
    for room in ROOMS:
        folder = rule.source / room / "include"
        yield from (path.relative_to(folder) for path in sorted(folder.rglob("*.hpp")))


def trees(compiler):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-DFMT_SHARED", "-x", "c++", "-"]
    command += [f"-I{rule.source / room / 'include'}" for room in (*ROOMS, "sdk")]
    text = "".join(f"#include <{header}>\n" for header in headers())
    run = subprocess.run([*command, "-Xclang", "-ast-dump=json", "-Xclang", "-ast-dump-filter=bp::"], input=text, capture_output=True,
                         text=True, check=True)
    decoder, at = json.JSONDecoder(), run.stdout.find("{")
    while at >= 0:
        tree, end = decoder.raw_decode(run.stdout, at)
        yield tree
        at = run.stdout.find("{", end)


def walk(node, declared, defined):
    kind, name = node.get("kind"), node.get("mangledName", "")
    if kind in ("FunctionTemplateDecl", "ClassTemplateDecl", "ClassTemplatePartialSpecializationDecl", "ClassTemplateSpecializationDecl"):
        return
    inner = node.get("inner", ())
    if kind in KINDS and "2bp" in name:
        has_body = any(part.get("kind") == "CompoundStmt" for part in inner)
        made = any(node.get(key) for key in ("isImplicit", "explicitlyDeleted", "explicitlyDefaulted", "pure", "inline"))
        (defined if has_body or made else declared).add(name)
    elif kind == "VarDecl" and node.get("storageClass") == "extern" and "2bp" in name:
        declared.add(name)
    elif kind not in KINDS:
        for part in inner:
            walk(part, declared, defined)


compiler = shutil.which("clang++-14") or shutil.which("clang++")
declared, defined = set(), set()
for tree in trees(compiler) if compiler else ():
    walk(tree, declared, defined)
libraries = [rule.build / f"lib/libbackplane{end}.so" for end in ("", "_serialize", "_data")]
symbols = subprocess.run(["nm", "-D", "--defined-only", *libraries], check=True, capture_output=True, text=True).stdout
found = {line.split()[-1] for line in symbols.splitlines() if line and not line.endswith(":")}
exported = {name.split("@")[0] for name in found}
missing = sorted(declared - defined - exported)
readable = subprocess.run(["c++filt", *missing], capture_output=True, text=True).stdout.splitlines() if missing else []
broken = [f"a public header declares {name}, and no library exports it; mark it BP_API" for name in readable]
# The versions' own names are symbols as well.
text = (rule.source / "client/include/backplane/backplane_client.h").read_text()
for_c = set(re.findall(r"^BP_EXPORT \w+ (\w+)\(", text, re.MULTILINE))
versions = dict((name, version) for version, names in re.findall(r"^(\w+) \{\s*global:\s*([^}]*)\}", (rule.source / "client/client.map").read_text(), re.MULTILINE)
                for name in re.findall(r"\w+", names))  # fmt: skip
broken += [f"backplane_client.h declares {name}, and client.map gives it no version" for name in sorted(for_c - set(versions))]
versioned = {f"{name}@@{version}" for name, version in versions.items()}
broken += [f"libbackplane does not export {name}" for name in sorted(versioned - found)]
broken += [f"libbackplane exports {name}, which client.map does not name" for name in sorted(found - versioned) if "@" in name and name.split("@")[0] not in versions.values()]
broken += [f"libbackplane exports {name} for C, and backplane_client.h does not declare it" for name in sorted(exported - for_c) if name.startswith("bp_")]
broken += [] if len(declared) > 500 else [f"only {len(declared)} declarations found; is there a clang++ (apt install clang-14)?"]
rule.report(broken, f"{len(declared)} declarations")
