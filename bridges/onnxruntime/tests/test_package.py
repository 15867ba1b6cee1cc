"""What a program of ONNX Runtime's does with Backplane's devices, and what it is told when that goes wrong."""

import os
import subprocess
import sys
import threading

import backplane_onnxruntime
import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper


def model_of(nodes, inputs, outputs, initializers=(), opset=20):
    values = [[helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in each] for each in (inputs, outputs)]
    graph = helper.make_graph(nodes, "test", *values, initializer=list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def adder(shape=("n",)):
    return model_of(
        [helper.make_node("Add", ["a", "b"], ["c"])],
        [("a", TensorProto.FLOAT, shape), ("b", TensorProto.FLOAT, shape)],
        [("c", TensorProto.FLOAT, shape)],
    )


def floats(*shape):
    return numpy.random.default_rng(0).standard_normal(shape).astype(numpy.float32)


def test_adds_on_each_device_without_the_cpu(device):
    session = backplane_onnxruntime.session(adder(), device, strict=True)
    a, b = floats(5), floats(5)
    assert numpy.array_equal(session.run(None, {"a": a, "b": b})[0], a + b)


def test_sizes_may_change_from_run_to_run(device):
    session = backplane_onnxruntime.session(adder(), device, strict=True)
    for size in (3, 0, 1000, 1):
        a = floats(size)
        assert numpy.array_equal(session.run(None, {"a": a, "b": a})[0], a + a)


def test_is_found_by_onnx_runtime_s_own_calls(tmp_path):
    """As somebody does it who has never heard of this package's helpers, in a process of its own."""
    program = f"""
import onnxruntime, numpy
onnxruntime.register_execution_provider_library("acme", {backplane_onnxruntime.library_path()!r})
ours = [each for each in onnxruntime.get_ep_devices() if each.ep_metadata.get("backplane_device") == "cpu:0"]
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
options.add_provider_for_devices(ours, {{}})
session = onnxruntime.InferenceSession(open({{path!r}}, "rb").read(), sess_options=options)
print(session.run(None, {{"a": numpy.ones(2, "float32"), "b": numpy.ones(2, "float32")}})[0].tolist(), session.get_providers())
"""
    path = tmp_path / "add.onnx"
    path.write_bytes(adder())
    program = program.replace("{path!r}", repr(str(path))).replace("{{", "{").replace("}}", "}")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "[2.0, 2.0]" in done.stdout and "BackplaneExecutionProvider" in done.stdout


def test_takes_a_graph_whole(device):
    weights = [onnx.numpy_helper.from_array(floats(4, 3), "w"), onnx.numpy_helper.from_array(floats(3), "bias")]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Add", ["h", "bias"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    model = model_of(nodes, [("x", TensorProto.FLOAT, ["n", 4])], [("y", TensorProto.FLOAT, ["n", 3])], weights)
    session = backplane_onnxruntime.session(model, device, strict=True)
    x = floats(6, 4)
    expected = numpy.maximum(x @ floats(4, 3) + floats(3), 0)
    assert numpy.allclose(session.run(None, {"x": x})[0], expected, atol=1e-5)


def test_what_is_not_served_stays_with_the_cpu(device):
    """A string in the middle: our nodes lie around it."""
    nodes = [
        helper.make_node("Add", ["a", "a"], ["b"]),
        helper.make_node("Cast", ["b"], ["text"], to=TensorProto.STRING),
        helper.make_node("Cast", ["text"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("Neg", ["c"], ["d"]),
    ]
    model = model_of(nodes, [("a", TensorProto.FLOAT, [2])], [("d", TensorProto.FLOAT, [2])])
    a = numpy.array([1, 2], numpy.float32)
    assert backplane_onnxruntime.session(model, device).run(None, {"a": a})[0].tolist() == [-2, -4]
    backplane_onnxruntime.unserved()
    with pytest.raises(Exception, match="fallback"):
        backplane_onnxruntime.session(model, device, strict=True)
    reasons = backplane_onnxruntime.unserved()
    assert any(each.startswith("Cast") and "is not a tensor of numbers that Backplane has" in each for each in reasons), reasons


def test_shapes_are_told_by_inputs(device):
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    model = model_of(
        nodes, [("x", TensorProto.FLOAT, ["n"]), ("shape", TensorProto.INT64, [2])], [("y", TensorProto.FLOAT, ["a", "b"])]
    )
    session = backplane_onnxruntime.session(model, device, strict=True)
    x = floats(12)
    for shape in ((3, 4), (2, -1)):
        assert numpy.array_equal(session.run(None, {"x": x, "shape": numpy.array(shape, numpy.int64)})[0], x.reshape(shape))


def test_errors_name_the_node_and_are_exceptions(device):
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"], name="into_a_square")]
    model = model_of(
        nodes, [("x", TensorProto.FLOAT, ["n"]), ("shape", TensorProto.INT64, [2])], [("y", TensorProto.FLOAT, ["a", "b"])]
    )
    session = backplane_onnxruntime.session(model, device, strict=True)
    with pytest.raises(Exception, match="into_a_square.*reshape"):
        session.run(None, {"x": floats(5), "shape": numpy.array([2, 2], numpy.int64)})
    assert session.run(None, {"x": floats(4), "shape": numpy.array([2, 2], numpy.int64)})[0].shape == (2, 2)


def test_a_device_that_is_not_there():
    with pytest.raises(ValueError, match="no device 'acme:7'; there are .*cpu:0"):
        backplane_onnxruntime.session(adder(), "acme:7")


def test_runs_from_several_threads(device):
    session = backplane_onnxruntime.session(adder(), device, strict=True)
    wrong = []

    def run(seed):
        a = numpy.full(100, seed, numpy.float32)
        for _ in range(20):
            if not numpy.array_equal(session.run(None, {"a": a, "b": a})[0], a + a):
                wrong.append(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_keeps_no_memory_from_run_to_run():
    """The process may not grow by what a run needs."""
    session = backplane_onnxruntime.session(adder(), "cpu:0", strict=True)
    a = floats(1 << 18)

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(50):
        session.run(None, {"a": a, "b": a})
    before = resident()
    for _ in range(300):
        session.run(None, {"a": a, "b": a})
    assert resident() - before < 8 << 20
    assert onnxruntime.get_available_providers()
