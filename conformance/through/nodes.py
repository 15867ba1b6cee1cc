"""ONNX's own node tests, those of the wheel onnx, through ONNX Runtime on a device with ONNX Runtime's CPU forbidden: the cases of
`backplane conform --through onnx`.

A case is a node test of an operator: onnx:Softmax/softmax_axis_0. Results are right within ONNX's own tolerance, or 1e-6 of the largest element;
of 16-bit numbers within 2e-3, bfloat16 1e-2."""

import ctypes
import importlib.util
import os
import re

import onnx  # named first where nothing is installed
import numpy
import onnxruntime
from onnx.backend.test.case.node import collect_testcases

os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")
_found = {}


def all_cases():
    return sorted(collect_testcases(None), key=lambda case: case.name)


def array_of(value):
    """A value of a case as NumPy has it."""
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else numpy.asarray(value)


def is_foreign(dtype):
    """Numbers that NumPy itself lacks: bfloat16 and those of eight bits, which ml_dtypes adds."""
    return dtype.kind == "V" or dtype.type.__module__.startswith("ml_dtypes")


def value_of(array):
    """An OrtValue."""
    if not is_foreign(array.dtype):
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    words = numpy.ascontiguousarray(array).view({1: numpy.uint8, 2: numpy.uint16}[array.dtype.itemsize])
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(words, kind)


def read_value(value, like):
    """An OrtValue's numbers; `like` says of which dtype they are, where NumPy itself has none."""
    if not is_foreign(like.dtype):
        return value.numpy()
    count = int(numpy.prod(value.shape()))
    content = ctypes.string_at(value.data_ptr(), count * like.dtype.itemsize)
    return numpy.frombuffer(content, like.dtype).reshape(value.shape())


def is_close(actual, expected, rtol, atol):
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

    model = case.model
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    backplane_onnxruntime.unserved()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = backplane_onnxruntime.session(model.SerializeToString(), device, options, strict=True)
    except Exception as error:  # noqa: BLE001: whatever it is, it is the case's verdict
        text = str(error)
        # The second: ONNX Runtime's CPU has no kernel for the node either, and the device has memory of its own.
        if ("fallback" in text and "CPU EP" in text) or ("Provider type for" in text and "is not set" in text):
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


def load():
    """Finds all that needs no device: a process that is forked afterwards opens it. Raises ImportError."""
    if importlib.util.find_spec("backplane_onnxruntime") is None:
        raise ImportError("No module named 'backplane_onnxruntime'")
    _found["cases"] = all_cases()


def versions():
    return {"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__}


def open_bridge(device):
    os.environ["BACKPLANE_ONNXRUNTIME_FIRST"] = device  # of those that ONNX Runtime has room for
    import backplane_onnxruntime

    return backplane_onnxruntime


def problem_of(device):
    known = open_bridge(device).devices()
    return None if device in known else f"ONNX Runtime has no {device}; backplane_onnxruntime.devices() are {', '.join(known)}"


def cases(profile):
    """[(operator, its cases)]. A test of an operator's expansion into others belongs to that operator; `quick` has two tests of each."""
    operators = {case.name: case.model.graph.node[0].op_type for case in _found["cases"] if "_expanded" not in case.name}
    groups = {}
    for case in _found["cases"]:
        operator = operators.get(case.name.partition("_expanded")[0], case.model.graph.node[0].op_type)
        name = f"onnx:{operator}/{case.name.removeprefix('test_')}"
        group = groups.setdefault(operator, [])
        if profile != "quick" or len(group) < 2:
            group.append(name)
            _found[name] = case
    return sorted(groups.items())


def run(case, device):
    bridge = open_bridge(device)
    bridge.host_calls()
    verdict, reason = run_case(_found[case], device)
    host = bridge.host_calls()
    if verdict == "passed":
        return {"outcome": "pass", "rung": "host" if host else "native", "by_host": host}
    return {"outcome": "fail" if verdict == "failed" else "unsupported", "why": f"{verdict}: {reason}"}
