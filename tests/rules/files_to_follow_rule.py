# needs: cpu reference
"""How many files one must read to follow `a + b`, its backward, the loading of a backend, and one conformance case.

Each runs under callgrind, the calls after others that made everything ready. Counted are the hand-written files of which
lines ran, inlined ones too, in one library: libbackplane for calls, the suite's program (parent and worker) for a case.
So a kernel, the standard library, and for the suite the core, end the way. Not counted, since nobody has to open them:
* what is generated, and the SDK;
* headers of which only short functions ran, with less than five lines between their braces: their names say it;
* what an operator does that is called on the way: `a + b` shows what a call is."""

import collections
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import rule

CALLS, CORE, CONFORM = (rule.build / file for file in ("bin/followed_calls", "lib/libbackplane.so", "bin/backplane-conform"))
CASE = "core:add[f32]/s4x3x5,3x1/plain.expand/normal/call@1"
# What runs, in which library and below which functions it is followed, and how many files it may take.
FOLLOWED = {
    "a + b": ([CALLS, "add", "cpu:0"], CORE, ["followed_add"], 6),
    "backward of a + b": ([CALLS, "backward", "cpu:0"], CORE, ["followed_backward"], 8),
    "loading a backend": ([CALLS, "loading", "cpu:0", "reference:0"], CORE, ["followed_loading"], 14),
    "one conformance case": ([CONFORM, "repro", CASE, "--device", "cpu:0"], CONFORM,
                             ["bp::conform::execute(*", "bp::conform::run_worker(*"], 14),
}  # fmt: skip


def trace(command, markers, folder):
    """What callgrind wrote, a file for each process."""
    environment = {**os.environ, "BACKPLANE_PLUGIN_PATH": str(rule.build / "lib/backplane"),
                   "BACKPLANE_CONFORM_WORKER": str(CONFORM), "XDG_CACHE_HOME": folder}  # fmt: skip
    subprocess.run(command, env=environment, capture_output=True)  # what is remembered of plugins is there afterwards
    run = subprocess.run(
        ["valgrind", "-q", "--tool=callgrind", "--trace-children=yes", "--compress-strings=no", "--compress-pos=no",
         f"--callgrind-out-file={folder}/trace.%p", *(f"--toggle-collect={marker}" for marker in markers), *command],
        env=environment, capture_output=True, text=True)  # fmt: skip
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ends with {run.returncode}: {run.stdout[-1000:]}{run.stderr[-1000:]}")
    # A worker of the direct lane describes the device before the case begins.
    return [file for file in pathlib.Path(folder).glob("trace.*") if "--lane direct" not in file.read_text(errors="replace")[:2000]]


class Function:
    def __init__(self):
        self.lines, self.called = collections.defaultdict(set), set()


def read(file):
    """The functions of one trace, by library and name: which lines ran, and whom they called."""
    functions, library, source, calls = collections.defaultdict(Function), "", "", False
    callee_library, current = None, None
    for line in open(file, errors="replace"):
        key, _, value = line.rstrip("\n").partition("=")
        if key == "ob":
            library = value
        elif key in ("fl", "fi", "fe"):
            source = value
        elif key == "fn":
            current = functions[library, value]
        elif key == "cob":
            callee_library = value
        elif key == "cfn":
            current.called.add((callee_library or library, value))
            callee_library = None
        elif key == "calls":
            calls = True  # the next line is what the call cost
        elif line[:1].isdigit() and current:
            if not calls:
                current.lines[source].add(int(line.split()[0]))
            calls = False
    return functions


def ours(path):
    """The path within the tree, or None."""
    try:
        return pathlib.Path(os.path.normpath(path)).relative_to(rule.source)
    except ValueError:
        return None


def is_operator(function):
    """A public function of core_ops: of the table, or made of such."""
    return any((file := ours(path)) and file.parts[0] == "core_ops" and file.suffix == ".cpp" for path in function.lines)


def followed(functions, library, markers):
    """Lines that ran below the markers, by file."""
    lines, seen = collections.defaultdict(set), set()
    begun = [key for key in functions if any(fnmatch.fnmatch(key[1], marker) for marker in markers)]
    asked = {key for marker in begun for key in functions[marker].called}
    ways = [*begun, *asked]
    while ways:
        key = ways.pop()
        if key in seen or key not in functions or os.path.realpath(key[0]) != os.path.realpath(library):
            continue
        seen.add(key)
        if is_operator(functions[key]) and key not in asked:
            continue
        for path, numbers in functions[key].lines.items():
            if file := ours(path):
                lines[file] |= numbers
        ways += functions[key].called
    return lines


SHORT = 5  # lines; style.md asks for functions of 5 to 40


def long_functions(text):
    """The line numbers of functions that are not short."""
    text = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda found: " " * len(found[0]), text)
    numbers, start, at = set(), 0, 0
    while at < len(text):
        head = text[start:at]
        if text[at] == "{" and "(" in head and not re.match(r"\s*(namespace|class|struct|enum|extern)\b", head):
            end = closing(text, at)
            if sum(1 for line in text[at + 1 : end].split("\n") if line.strip()) >= SHORT:
                begins = len(text[:start]) + len(head) - len(head.lstrip())
                numbers |= set(range(text.count("\n", 0, begins) + 1, text.count("\n", 0, end) + 2))
            at = end
        if text[at] in "{};":
            start = at + 1
        at += 1
    return numbers


def closing(text, at):
    """Where the brace at this place ends."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text) - 1


def counts(file, numbers):
    if "generated" in file.parts or file.parts[0] in ("sdk", "tests", "backends"):
        return False
    return file.suffix != ".hpp" or bool(numbers & long_functions((rule.source / file).read_text()))


def files_of(name):
    """The files that count."""
    command, library, markers, _ = FOLLOWED[name]
    lines = collections.defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        for file in trace(command, markers, folder):
            for path, numbers in followed(read(file), library, markers).items():
                lines[path] |= numbers
    return sorted(str(file) for file, numbers in lines.items() if counts(file, numbers))


needed = [CALLS, CONFORM, *(rule.build / f"lib/backplane/libbackplane_{backend}.so" for backend in ("cpu", "reference"))]
if not shutil.which("valgrind") or not all(file.exists() for file in needed):
    rule.report([], "0 calls: valgrind, the programs, cpu and reference are needed")
broken = []
for name, (_, _, _, most) in FOLLOWED.items():
    files = files_of(name)
    print(f"{name}: {len(files)} files of {most}: {' '.join(files)}")
    if not 0 < len(files) <= most:
        broken.append(f"{name}: {len(files)} files to follow; at most {most} (none: has the build line tables, -g1?)")
rule.report(broken, f"{len(FOLLOWED)} calls")
