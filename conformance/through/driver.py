"""Runs another project's tests on a device, with a process for each operator: what `backplane conform --through` starts.

    python driver.py pytorch --device acme:0 --profile quick --filter 'nn.functional.*' --jobs 2

Prints a JSON object a line: first the suite's versions and the cases, or what is missing; then a verdict for each case. The suite is
imported once; each operator's process is a fork of this one, which opens the device itself. If it ends or hangs, the case that it had begun is at
fault, and the operator's other cases go to another process."""

import argparse
import ctypes
import fnmatch
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import time
import warnings
from collections import deque

SUITES = {  # module, title, what it needs
    "pytorch": ("samples", "PyTorch's samples", "torch backplane-torch numpy expecttest scipy"),
    "onnx": ("nodes", "ONNX's node tests", "onnx onnxruntime backplane-onnxruntime numpy"),
}


class Process:
    """One operator's cases, in a fork. `ended` is None while it runs."""

    def __init__(self, suite, device, cases, patience):
        self.cases, self.begun, self.buffer, self.patience = list(cases), None, b"", patience
        self.errors = tempfile.TemporaryFile()
        self.answers, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.answers)
            work(suite, device, cases, writing, self.errors.fileno())
        os.close(writing)
        self.deadline = time.monotonic() + patience

    def lines(self):
        """What has arrived; ends with None at the end of the stream."""
        piece = os.read(self.answers, 1 << 16)
        *whole, self.buffer = (self.buffer + piece).split(b"\n")
        return [json.loads(line) for line in whole] + ([] if piece else [None])

    def take(self, line):
        """A verdict to tell, if the line is one."""
        self.deadline = time.monotonic() + self.patience
        if "begin" in line:
            self.begun = line["begin"]
            return None
        self.cases = [case for case in self.cases if case != line["case"]]
        self.begun = None
        return line

    def end(self, hung=False):
        """How it ended, as a verdict of the case that it had begun; None if it did all."""
        if hung:
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.answers)
        status = os.waitpid(self.pid, 0)[1]
        self.errors.seek(0)
        words = " ".join(self.errors.read().decode(errors="replace").split())[-300:]
        self.errors.close()
        if not self.cases:
            return None
        case = self.begun or self.cases[0]
        self.cases = [each for each in self.cases if each != case]
        code = os.waitstatus_to_exitcode(status)
        how = f"signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exit code {code}"
        why = f"no answer within {self.patience:g} s" if hung else f"the process ended by {how}"
        return {"case": case, "outcome": "timeout" if hung else "crash", "why": f"{why}; it wrote: {words}" if words else why}


def work(suite, device, cases, answers, errors):
    """The forked process: never returns."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it dies with its parent
    os.dup2(errors, 1)
    os.dup2(errors, 2)
    code = 1
    try:
        for case in cases:
            os.write(answers, json.dumps({"begin": case}).encode() + b"\n")
            started = time.monotonic()
            verdict = suite.run(case, device)
            verdict.update(case=case, ms=round((time.monotonic() - started) * 1e3, 2))
            os.write(answers, json.dumps(verdict).encode() + b"\n")
        code = 0
    except BaseException as error:  # noqa: BLE001: the parent tells of it
        os.write(2, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(code)


def run_all(suite, device, groups, jobs, patience, tell):
    waiting, running = deque(groups), []
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Process(suite, device, waiting.popleft(), patience))
        ready = select.select([each.answers for each in running], [], [], 0.2)[0]
        for process in list(running):
            over = False
            for line in process.lines() if process.answers in ready else []:
                over = line is None
                verdict = None if over else process.take(line)
                if verdict:
                    tell(verdict)
            hung = not over and time.monotonic() > process.deadline
            if over or hung:
                running.remove(process)
                verdict = process.end(hung)
                if verdict:
                    tell(verdict)
                if process.cases:
                    waiting.appendleft(process.cases)


def matches(patterns, operator, case):
    patterns = [pattern.replace("[", "[[]") for pattern in patterns]  # a bracket is itself: names have them
    return not patterns or any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns for text in (operator, case, case.partition(":")[2]))


def problem_of_device(suite, device):
    """Why the device cannot be used through the suite; found out in a process of its own."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, (suite.problem_of(device) or "").encode())
            os._exit(0)
        except BaseException as error:  # noqa: BLE001
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as file:
        problem = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return problem or (f"opening {device} ended the process by {code}" if code else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--device", required=True)
    parser.add_argument("--profile", default="normal", choices=["quick", "normal", "full"])
    parser.add_argument("--filter", action="append", default=[], help="only operators or cases that match: 'add*'")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--patience", type=float, default=60, help="seconds for a case, then it hangs")
    options = parser.parse_args()
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what others print is not ours

    def tell(message):
        out.write(json.dumps(message) + "\n")

    module, title, needs = SUITES[options.suite]
    if options.suite == "pytorch":  # which reads them when it is imported
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # asks no driver that a fork could not use
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.simplefilter("ignore")
    try:
        suite = importlib.import_module(module)
        suite.load()
    except ImportError as error:
        install = f"{sys.executable} -m pip install {needs}"
        tell({"missing": f"{sys.executable} cannot run {title} ({error}); install what they need: {install}; or name another Python with --python"})
        return 2
    problem = problem_of_device(suite, options.device)
    if problem:
        tell({"missing": problem})
        return 2
    groups = []
    for operator, cases in suite.cases(options.profile):
        kept = [case for case in cases if matches(options.filter, operator, case)]
        if kept:
            groups.append(kept)
    tell({"suite": suite.versions(), "cases": [case for group in groups for case in group]})
    run_all(suite, options.device, groups, options.jobs, options.patience, tell)
    return 0


if __name__ == "__main__":
    sys.exit(main())
