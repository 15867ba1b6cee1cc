# needs: slow
"""Each public header compiles when it is the first and only one: those of the sdk as C++17, the others as C++20, and those that
end in .h as C11 too, all without a warning."""

import concurrent.futures
import subprocess

import rule

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
rooms = [path.parent for path in sorted(rule.source.glob("*/include"))]
includes = [f"-I{room / 'include'}" for room in rooms]


def compilations():
    for room in rooms:
        is_sdk = room.name == "sdk"
        for header in sorted((room / "include").rglob("*.h*")):
            name = header.relative_to(room / "include")
            yield name, ["g++", "-std=c++17", f"-I{room / 'include'}"] if is_sdk else ["g++", "-std=c++20", *includes]
            if header.suffix == ".h":
                yield name, ["gcc", "-std=c11", f"-I{room / 'include'}", f"-I{rule.source / 'sdk/include'}"]


def complaint(compilation):
    header, compiler = compilation
    language = "c" if compiler[0] == "gcc" else "c++"
    run = subprocess.run([*compiler, *WARNINGS, "-fsyntax-only", "-x", language, "-"], capture_output=True, text=True,
                         input=f"#include <{header}>\n")
    first = next((line for line in run.stderr.splitlines() if "error:" in line), "")
    return f"<{header}> alone, {compiler[1]}: {first}" if run.returncode else None


work = list(compilations())
with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
    rule.report([found for found in pool.map(complaint, work) if found], f"{len(work)} compilations")
