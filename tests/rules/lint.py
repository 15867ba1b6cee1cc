#!/usr/bin/env python3
"""clang-tidy over the tree: lint.py BUILD_FOLDER JOBS [--joined] FILE...

A file alone costs some ten seconds, nearly all of them in the standard library's headers. With --joined, the files that
one target compiles in one way are looked at as one, and their headers once. What was clean is not looked at again until
one of its files, their headers or the configuration has changed: BUILD_FOLDER/clean remembers.
"""

import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIDY = "clang-tidy-14"


@dataclass
class Unit:
    """What clang-tidy looks at in one run."""

    files: list[pathlib.Path]
    command: tuple[str, ...]  # how the files are compiled, without their names
    folder: str  # where

    def name(self):
        return hashlib.sha256("\n".join([*map(str, self.files), *self.command]).encode()).hexdigest()[:16]

    def title(self):
        first = self.files[0].relative_to(ROOT)
        return f"{first} and {len(self.files) - 1} others" if len(self.files) > 1 else str(first)


def main():
    build, jobs, names = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]), sys.argv[3:]
    joined = "--joined" in names
    for folder in ("clean", "joined"):
        (build / folder).mkdir(exist_ok=True)
    units = units_of([(ROOT / name).resolve() for name in names if name != "--joined"], commands_of(build), joined)
    findings = []
    with ThreadPoolExecutor(jobs) as pool:
        for running in as_completed([pool.submit(lint, build, unit) for unit in units]):
            findings.append(running.result())
            print(findings[-1], end="", flush=True)
    sys.exit("lint: there are findings" if any(findings) else None)


def commands_of(build):
    """For each file, the folder and the arguments of its compiler, without the names of the file and its object."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if not entry["file"].endswith(".cpp"):
            continue
        arguments = shlex.split(entry["command"])
        for option in ("-o", "-c"):
            place = arguments.index(option)
            del arguments[place : place + 2]
        while "clang" not in pathlib.Path(arguments[0]).name:
            del arguments[0]  # ccache
        target = re.search(r" -o \S*?([^/ ]+)\.dir/", entry["command"])[1]
        commands[pathlib.Path(entry["file"]).resolve()] = (target, entry["directory"], tuple(arguments))
    return commands


def units_of(files, commands, joined):
    """The largest first, so that the last one to end is a short one."""
    together, units = defaultdict(list), []
    for file in files:
        if file not in commands:
            continue  # of something that is not built here, or that a test builds
        # Highway compiles a file once for each instruction set, by an #include of itself.
        if not joined or re.search("^// alone: |^#include .hwy/foreach_target", file.read_text(), re.MULTILINE):
            units.append(Unit([file], commands[file][2], commands[file][1]))
        else:
            together[commands[file], *configurations_of(file)].append(file)
    units += [Unit(group, command, folder) for ((_, folder, command), *_), group in together.items()]
    return sorted(units, key=lambda unit: -len(unit.files))


def lint(build, unit):
    """What is wrong with the unit; empty if nothing is."""
    clashes = build / "joined" / f"{unit.name()}.clashes"
    if not clashes.exists():
        mark = build / "clean" / unit.name()
        if mark.exists() and is_clean(json.loads(mark.read_text())):
            return ""
        before, findings = look_at(build, unit)
        if not findings:
            mark.write_text(json.dumps(before))
        if len(unit.files) == 1 or "[clang-diagnostic-error]" not in findings:
            return findings and f"{unit.title()}:\n{findings}\n"
        clashes.touch()
    # Two of the files use one name, or one does not compile: the halves say which.
    middle = len(unit.files) // 2
    return "".join(lint(build, Unit(half, unit.command, unit.folder)) for half in (unit.files[:middle], unit.files[middle:]))


def look_at(build, unit):
    """What was looked at, and what was found."""
    # The analyzer takes an included source for a header unless the file that includes it begins so.
    source = build / "joined" / f"UnifiedSource-{unit.name()}.cpp"
    source.write_text("".join(f'#include "{file}"\n' for file in unit.files))
    seen = [*unit.files, *headers_of(unit, source), *configurations_of(unit.files[0]), pathlib.Path(__file__)]
    before = {str(file): digest(file) for file in seen}
    options = ["--quiet", f"--config-file={ROOT}/.clang-tidy", f"--checks={checks_of(unit)}", f"--header-filter=^{ROOT}/"]
    done = subprocess.run([TIDY, *options, source, "--", *unit.command[1:]], cwd=unit.folder, capture_output=True, text=True)
    if done.returncode == 0:
        return before, ""
    noise = re.compile("warnings? .*generated|^Error while processing")
    return before, done.stdout + "\n".join(line for line in done.stderr.splitlines() if not noise.search(line))


def is_clean(seen):
    return all(digest(pathlib.Path(file)) == was for file, was in seen.items())


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else None


def headers_of(unit, source):
    """Ours; the system's change with the packages."""
    done = subprocess.run([*unit.command, "-MM", source], cwd=unit.folder, capture_output=True, text=True)
    names = done.stdout.replace("\\\n", " ").split()[1:]
    return [pathlib.Path(unit.folder, name) for name in names if not name.startswith(str(source))]


def checks_of(unit):
    """Those of the folder where the files lie, which is not the one where clang-tidy would look."""
    said = subprocess.run([TIDY, "--dump-config", unit.files[0], "--"], capture_output=True, text=True).stdout
    return yaml.safe_load(said)["Checks"] + ",-bugprone-suspicious-include"


def configurations_of(file):
    """Every .clang-tidy that clang-tidy reads for the file."""
    return [folder / ".clang-tidy" for folder in file.parents if (folder / ".clang-tidy").is_file()]


if __name__ == "__main__":
    main()
