"""ONNX's own node tests, those of the wheel `onnx`, through ONNX Runtime on a device, with ONNX Runtime's CPU forbidden.

python bridges/onnxruntime/tests/node_tests.py --device cpu:0 [--match REGEX] [--part 0 --of 8] [--json FILE] [--verbose]

Results are right within ONNX's own tolerance, or 1e-6 of the largest element; of 16-bit numbers within 2e-3, bfloat16 1e-2. A case passes, fails, or is not claimed: then ONNX Runtime refuses the session, since a node is left to the CPU. Cases that ONNX
Runtime itself cannot load are counted apart. Ends with 1 if a case fails. Cases run in processes of their own, a hundred in each,
so that one that ends its process costs that case alone."""

import argparse
import json
import os
import re
import subprocess
import sys
import warnings
from collections import Counter, defaultdict
from pathlib import Path

os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")
warnings.filterwarnings("ignore")


def all_cases():
    from onnx.backend.test.case.node import collect_testcases

    return sorted(collect_testcases(None), key=lambda case: case.name)


def array_of(value):
    """A value of a case as NumPy has it."""
    import numpy
    import onnx

    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else numpy.asarray(value)


def is_foreign(dtype):
    """Numbers that NumPy itself lacks: bfloat16 and those of eight bits, which ml_dtypes adds."""
    return dtype.kind == "V" or dtype.type.__module__.startswith("ml_dtypes")


def value_of(array):
    """An OrtValue."""
    import numpy
    import onnx
    import onnxruntime

    if not is_foreign(array.dtype):
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    words = numpy.ascontiguousarray(array).view({1: numpy.uint8, 2: numpy.uint16}[array.dtype.itemsize])
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(words, kind)


def read_value(value, like):
    """An OrtValue's numbers; `like` says of which dtype they are, where NumPy itself has none."""
    import ctypes

    import numpy

    if not is_foreign(like.dtype):
        return value.numpy()
    count = int(numpy.prod(value.shape()))
    content = ctypes.string_at(value.data_ptr(), count * like.dtype.itemsize)
    return numpy.frombuffer(content, like.dtype).reshape(value.shape())


def is_close(actual, expected, rtol, atol):
    import numpy

    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{list(actual.shape)} in place of {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind not in "fc" and not is_foreign(expected.dtype):
        bad = actual != expected
        return f"{bad.sum()} of {bad.size} differ, as {actual[bad][0]} in place of {expected[bad][0]}" if bad.any() else None
    wide, wanted = (each.astype(numpy.complex128 if expected.dtype.kind == "c" else numpy.float64) for each in (actual, expected))
    finite = numpy.abs(wanted[numpy.isfinite(wanted)])
    atol = max(atol, 1e-6 * finite.max() if finite.size else 0)
    if expected.dtype.itemsize == 2 and expected.dtype.kind != "c":
        least = 1e-2 if is_foreign(expected.dtype) else 2e-3
        rtol, atol = max(rtol, least), max(atol, least * (finite.max() if finite.size else 0))
    bad = ~numpy.isclose(wide, wanted, rtol=rtol, atol=atol, equal_nan=True)
    return f"{bad.sum()} of {bad.size} differ, as {wide[bad][0]} in place of {wanted[bad][0]}" if bad.any() else None


def run_case(case, device):
    """(verdict, reason)"""
    import backplane_onnxruntime
    import onnxruntime

    model = case.model
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    backplane_onnxruntime.unserved()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = backplane_onnxruntime.session(model.SerializeToString(), device, options, strict=True)
    except Exception as error:  # noqa: BLE001: whatever it is, it is the case's verdict
        text = str(error)
        if "fallback" in text and "CPU EP" in text:
            reasons = {" ".join(re.sub(r" '.*'", "", each).split()) for each in backplane_onnxruntime.unserved()}
            return "unclaimed", "; ".join(sorted(reasons)) or "ONNX Runtime's own choice"
        return "not loaded", text.splitlines()[0][:160]
    wanted_names = {each.name for each in session.get_inputs()}
    for inputs, expected in case.data_sets:
        names = (each.name for each in model.graph.input)
        feeds = {name: array_of(value) for name, value in zip(names, inputs, strict=False) if value is not None}
        expected = [array_of(value) for value in expected]
        try:
            values = session.run_with_ort_values(None, {name: value_of(array) for name, array in feeds.items() if name in wanted_names})
            results = [read_value(value, wanted) for value, wanted in zip(values, expected, strict=True)]
        except Exception as error:  # noqa: BLE001
            return "failed", " ".join(str(error).split())[:600].rpartition("Status Message: ")[2]
        for result, wanted in zip(results, expected, strict=True):
            wrong = is_close(result, wanted, case.rtol, case.atol)
            if wrong:
                return "failed", wrong
    return "passed", ""


def work(device, names):
    """Prints a line for each case, as it is done."""
    cases = {case.name: case for case in all_cases()}
    for name in names:
        print(json.dumps([name, "begun", ""]), flush=True)
        verdict, reason = run_case(cases[name], device)
        print(json.dumps([name, verdict, reason]), flush=True)


def judge(device, names):
    """{case: (verdict, reason)}, by worker processes."""
    verdicts, left = {}, list(names)
    while left:
        batch = left[:400]
        worker = subprocess.run(
            [sys.executable, __file__, "--device", device, "--worker"], input="\n".join(batch), capture_output=True, text=True, check=False, timeout=3000
        )
        begun = None
        for line in worker.stdout.splitlines():
            if not line.startswith("["):
                continue
            name, verdict, reason = json.loads(line)
            begun = name if verdict == "begun" else None
            if verdict != "begun":
                verdicts[name] = (verdict, reason)
        if begun:
            verdicts[begun] = ("failed", f"the process ended with {worker.returncode}: {worker.stderr.strip()[-200:]}")
        done = [name for name in batch if name in verdicts]
        if not done:
            sys.exit(f"no case ran: {worker.stderr[-2000:]}")
        left = [name for name in left if name not in verdicts]
    return verdicts


def page_of(device, verdicts):
    """docs/coverage/onnx_node_tests.md"""
    import onnx
    import onnxruntime

    counts = Counter(verdict for verdict, _ in verdicts.values())
    text = f"""# ONNX's node tests

Written by `bridges/onnxruntime/tests/node_tests.py --device {device.split(":")[0]}:0 --page`; do not edit. Of the {len(verdicts)} node tests of
onnx {onnx.__version__}, through ONNX Runtime {onnxruntime.__version__} on `{device}` with its CPU forbidden, {counts["passed"]} pass and {counts["failed"]} fail. The
others, with the reason why a node was not taken, or ONNX Runtime's why it could not load the case:
"""
    by_reason = defaultdict(list)
    for name, (verdict, reason) in verdicts.items():
        if verdict != "passed":
            by_reason[f"{verdict}: {reason}"].append(name.removeprefix("test_"))
    for reason, names in sorted(by_reason.items(), key=lambda each: (-len(each[1]), each[0])):
        text += f"\n* **{reason}** ({len(names)}): {', '.join(sorted(names)).replace('_', chr(92) + '_')}"
    return text + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--match", default="", help="a regular expression of cases")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--of", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where the verdicts go")
    parser.add_argument("--verbose", action="store_true", help="also what is not claimed, with reasons")
    parser.add_argument("--page", type=Path, help="where a page for a person goes")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.device, sys.stdin.read().split())
    names = [case.name for case in all_cases() if re.search(options.match, case.name)][options.part :: options.of]
    verdicts = judge(options.device, names)
    if options.json:
        options.json.write_text(json.dumps(verdicts, indent=1, sort_keys=True) + "\n")
    if options.page:
        options.page.write_text(page_of(options.device, verdicts))
    for name, (verdict, reason) in sorted(verdicts.items()):
        if verdict == "failed" or (options.verbose and verdict != "passed"):
            print(f"{verdict}: {name}: {reason}")
    counts = Counter(verdict for verdict, _ in verdicts.values())
    print(f"{options.device}: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("passed", "failed", "unclaimed", "not loaded")))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
