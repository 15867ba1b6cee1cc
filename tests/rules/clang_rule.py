"""Clang takes what a newcomer writes: the first application, in C++ and in C, and the smallest plugin. Everything else is built by GCC here."""

import shutil
import subprocess

import rule

PROGRAMS = {"examples/hello/hello.cpp": "c++20", "examples/c/hello.c": "c11", "tests/plugins/memory_only/memory_only.cpp": "c++17"}

compiler = shutil.which("clang++-14") or shutil.which("clang++")
broken = [] if compiler else ["no clang++ (apt install clang-14)"]
for file, standard in PROGRAMS.items() if compiler else ():
    command = [compiler, "-x", "c++" if "+" in standard else "c", f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command += [f"-I{includes}" for includes in sorted(rule.source.glob("*/include"))]
    result = subprocess.run([*command, rule.source / file], capture_output=True, text=True)
    broken += [f"{file}: {line}" for line in result.stderr.splitlines() if "error:" in line]
rule.report(broken, f"{len(PROGRAMS)} programs")
