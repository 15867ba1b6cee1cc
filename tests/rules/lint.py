#!/usr/bin/env python3
"""clang-tidy over the tree: lint.py BUILD_FOLDER JOBS FILE...

A file costs some ten seconds, most of them in the standard library's headers. One that was clean is not looked at again
until what the compiler sees of it, comments included, or the configuration has changed: BUILD_FOLDER/clean remembers.
"""

import hashlib
import json
import pathlib
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIDY = "clang-tidy-14"


def compile_commands(build):
    return {str(pathlib.Path(entry["file"]).resolve()): entry for entry in json.loads((build / "compile_commands.json").read_text())}


def configuration_of(file):
    """The text of every .clang-tidy that clang-tidy reads for the file."""
    return "".join((folder / ".clang-tidy").read_text() for folder in file.parents if (folder / ".clang-tidy").is_file())


def seen_by_the_compiler(entry):
    command = shlex.split(entry["command"])
    del command[command.index("-o") : command.index("-o") + 2]
    command[command.index("-c")] = "-E"
    done = subprocess.run([*command, "-C"], cwd=entry["directory"], capture_output=True)
    return done.stdout if done.returncode == 0 else None


def key_of(file, entry):
    text = entry and seen_by_the_compiler(entry)
    if text is None:
        return None
    version = subprocess.run([TIDY, "--version"], capture_output=True).stdout
    return hashlib.sha256(version + configuration_of(file).encode() + text).hexdigest()


def lint(build, entries, name):
    """What is wrong with the file; empty if nothing is."""
    file = (ROOT / name).resolve()
    key = key_of(file, entries.get(str(file)))
    mark = build / "clean" / (key or "unknown")
    if key and mark.exists():
        return ""
    done = subprocess.run([TIDY, "-p", build, "--quiet", file], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        return done.stdout + "\n".join(line for line in done.stderr.splitlines() if "warnings generated" not in line)
    if key:
        mark.touch()
    return ""


def main():
    build, jobs, names = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]), sys.argv[3:]
    (build / "clean").mkdir(exist_ok=True)
    entries = compile_commands(build)
    bad = 0
    with ThreadPoolExecutor(jobs) as pool:
        for findings in pool.map(lambda name: lint(build, entries, name), names):
            bad += bool(findings)
            print(findings, end="", flush=True)
    sys.exit(f"{bad} of {len(names)} files have findings" if bad else None)


if __name__ == "__main__":
    main()
