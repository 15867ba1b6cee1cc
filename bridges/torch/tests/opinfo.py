"""OpInfo's own samples on a device of Backplane's against PyTorch's CPU: which operators are right, and which need the CPU.

    python bridges/torch/tests/opinfo.py --device backplane:0 --dtypes float32 --report report.json
    python bridges/torch/tests/opinfo.py --backward --match softmax

One worker process computes the operators one by one; where it ends or hangs, the operator is at fault and another goes on."""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "conformance/through"))

from samples import is_compared, try_operator  # noqa: E402


def worker(options):
    import warnings

    import torch

    import backplane_torch
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    by_name = {(op.name, op.variant_test_name): op for op in op_db}
    print("ready", flush=True)
    for line in sys.stdin:
        name, variant, dtype_name = json.loads(line)
        op, dtype = by_name[name, variant], getattr(torch, dtype_name)
        answer = {"samples": 0, "wrong": [], "cpu": []}
        known = op.dtypes if not options.backward else (op.backward_dtypes if op.supports_autograd else ())
        if dtype in known:
            answer["samples"], answer["wrong"], answer["cpu"], _ = try_operator(
                backplane_torch, op, dtype, options.device, options.backward
            )
        print(json.dumps(answer), flush=True)


class Worker:
    def __init__(self, arguments):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, bufsize=1, env={"OMP_NUM_THREADS": "1", **os.environ},
        )  # fmt: skip
        self.process.stdout.readline()

    def ask(self, question, seconds):
        """The answer, or None if it died or took too long."""
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if select.select([self.process.stdout], [], [], 1)[0]:
                line = self.process.stdout.readline()
                return json.loads(line) if line.startswith("{") else None
        self.process.kill()
        return None


def names(match):
    """All operators that are tried: listed in a process of its own, since PyTorch takes seconds."""
    script = (
        "import torch,json\nfrom torch.testing._internal.common_methods_invocations import op_db\n"
        "print(json.dumps([(op.name, op.variant_test_name) for op in op_db]))"
    )
    found = json.loads(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
    kept = [(name, variant) for name, variant in found if is_compared(name, variant)]
    return [pair for pair in kept if match in pair[0]]


def run(options):
    arguments = ["--device", options.device] + (["--backward"] if options.backward else [])
    worker, report = Worker(arguments), {}
    share = [pair for place, pair in enumerate(names(options.match)) if place % options.of == options.part]
    for name, variant in share:
        for dtype in options.dtypes.split(","):
            answer = worker.ask((name, variant, dtype), 60)
            if answer is None:
                answer = {"samples": 1, "wrong": ["the process ended or hung"], "cpu": []}
                worker.process.kill()
                worker = Worker(arguments)
            if answer["samples"]:
                report[f"{name}{'.' if variant else ''}{variant} {dtype}"] = answer
    worker.process.stdin.close()
    worker.process.wait()
    return report


def summary(report):
    tried = {}
    for key, answer in report.items():
        tried.setdefault(key.split()[1], []).append(answer)
    lines = []
    for dtype, answers in tried.items():
        right = [answer for answer in answers if not answer["wrong"]]
        alone = [answer for answer in right if not answer["cpu"]]
        lines.append(f"{dtype}: {len(right)} of {len(answers)} right, {len(alone)} of them without the CPU")
    return "\n".join(lines)


# By dtype, what PyTorch's samples call wrong, and why that is not to be mended here.
KNOWN = {
    "chalf": "there is no complex32",
    "special.bessel_j0 float64": "mpmath agrees with ours, and not with PyTorch's (tests/core_ops/bessel_test.cpp)",
    "special.bessel_y1 float64": "mpmath agrees with ours, and not with PyTorch's (tests/core_ops/bessel_test.cpp)",
}


def faults(dtypes, derivatives, part, parts):
    """{operator and dtype: its first fault}, for a part of the operators; without those of KNOWN. For tests."""
    found = run(argparse.Namespace(device="backplane:0", dtypes=dtypes, backward=derivatives, match="", part=part, of=parts))
    assert len(found) > 50, f"only {len(found)} operators were tried"
    return {
        key: answer["wrong"][0] for key, answer in found.items() if answer["wrong"] and key not in KNOWN and key.split()[0] not in KNOWN
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="backplane:0")
    parser.add_argument("--dtypes", default="float32,float64,int64,bool,bfloat16")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--match", default="")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--of", type=int, default=1)
    parser.add_argument("--report")
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.worker:
        return worker(options)
    report = run(options)
    if options.report:
        with open(options.report, "w") as file:
            json.dump(report, file, indent=1)
    for key, answer in report.items():
        if answer["wrong"]:
            print(f"{key}: {answer['wrong'][0].splitlines()[0][:160]}")
    print(summary(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
