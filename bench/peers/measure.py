"""What both sides measure with: programs that print JSON lines, compilations and starts of processes.

Each function returns {name: (value, unit)}, the names being those of rows.json.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

PEERS = Path(__file__).resolve().parent
ROOT = PEERS.parent.parent
BUILD = ROOT / "build" / "peers"

COMPILER = os.environ.get("CXX", "g++")


class BenchError(Exception):
    """Why the bench cannot go on, as one line for the person who started it."""


def say(line):
    """For the process that waits for the table."""
    print(line, file=sys.stderr)


def must_run(what, command, env=None):
    """Runs `command` and returns what it printed, or says that `what` failed and why."""
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True)
    except OSError as error:
        raise BenchError(f"{what} failed: {error}") from None
    if done.returncode:
        raise BenchError(f"{what} failed with code {done.returncode}: {reason(done.stderr or done.stdout)}")
    return done.stdout


def reason(printed):
    """The line that tells most: the first that says error, else the last."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()] or ["it printed nothing"]
    return next((line for line in lines if "error" in line.lower()), lines[-1])


def program(command, env=None):
    """Runs a program that reports one figure a line, as measure.hpp does."""
    printed = must_run(Path(command[0]).name, command, env)
    figures = [json.loads(line) for line in printed.splitlines()]
    return {figure["name"]: (figure["value"], figure["unit"]) for figure in figures}


def networks(command, env=None):
    """Runs a program once for each network that it trains, so that the memory of one is not another's."""
    figures = {}
    for network in ("digits", "resnet18", "transformer"):
        figures |= program([*command, network], env)
    return figures


def compilation(source, includes):
    """Compiles an application's source file, past ccache, as its author would."""
    flags = ["-O2", "-std=c++20", *(f"-I{folder}" for folder in includes)]
    command = [COMPILER, *flags, "-c", str(source), "-o", str(BUILD / "compiled.o")]
    start = time.perf_counter()
    must_run(f"compiling {source.name}", command, {**os.environ, "CCACHE_DISABLE": "1"})
    return {"compile_application": (time.perf_counter() - start, "s")}


def start(command, env=None):
    """Runs a program that prints a tensor: its wall time and the most memory that it held.

    Linux counts this process's own memory, about 15 MB, as the least that a child can show.
    """
    begin = time.perf_counter()
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    elapsed = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise BenchError(f"{command[0]} ended with code {child.returncode}")
    return {"start_time": (elapsed * 1e3, "ms"), "start_memory": (usage.ru_maxrss * 1024 / 1e6, "MB")}
