"""Values in devices' own memory: ONNX Runtime's bindings, copies and streams."""

import threading

import backplane_onnxruntime
import numpy
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime import OrtValue

WITH_MEMORY = [name for name in backplane_onnxruntime.devices() if backplane_onnxruntime.placement(name)["device_type"] == "gpu"]


@pytest.fixture(params=WITH_MEMORY or [pytest.param(None, marks=pytest.mark.skip(reason="no device has memory of its own"))])
def device(request):
    return request.param


def model_of(nodes, inputs, outputs):
    values = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in each] for each in (inputs, outputs)]
    graph = helper.make_graph(nodes, "test", *values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()


def doubler():
    return model_of([helper.make_node("Add", ["x", "x"], ["y"])], [("x", ["n"])], [("y", ["n"])])


def on(device, array):
    return OrtValue.ortvalue_from_numpy(array, **backplane_onnxruntime.placement(device))


def from_device(value):
    array = numpy.empty(value.shape(), numpy.float32)
    onnxruntime.capi.onnxruntime_inference_collection.copy_tensors([value], [OrtValue.ortvalue_from_numpy(array)])
    return array


def test_opencl_is_among_them():
    if "opencl:0" not in backplane_onnxruntime.devices():
        pytest.skip("no device opencl:0")
    assert "opencl:0" in WITH_MEMORY and backplane_onnxruntime.placement("cpu:0") == {"device_type": "cpu"}


def test_values_lie_on_the_device_and_come_back(device):
    array = numpy.arange(5, dtype=numpy.float32)
    value = on(device, array)
    assert value.device_name() != "cpu"
    assert from_device(value).tolist() == array.tolist()
    assert from_device(on(device, numpy.empty(0, numpy.float32))).shape == (0,)


def test_a_binding_reads_and_writes_the_device(device):
    session = backplane_onnxruntime.session(doubler(), device, strict=True)
    array = numpy.arange(1000, dtype=numpy.float32)
    source, target = on(device, array), on(device, numpy.zeros(1000, numpy.float32))
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", source)
    binding.bind_ortvalue_output("y", target)
    before = target.data_ptr()
    for _ in range(3):
        session.run_with_iobinding(binding)
    assert target.data_ptr() == before and from_device(target).tolist() == (array + array).tolist()
    assert binding.copy_outputs_to_cpu()[0].tolist() == (array + array).tolist()
    source.update_inplace(array * 3)
    session.run_with_iobinding(binding)
    assert from_device(target).tolist() == (array * 6).tolist()


def test_what_one_session_writes_another_reads(device):
    session, other = (backplane_onnxruntime.session(doubler(), device, strict=True) for _ in range(2))
    array = numpy.arange(7, dtype=numpy.float32)
    between = on(device, numpy.zeros(7, numpy.float32))
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", on(device, array))
    binding.bind_ortvalue_output("y", between)
    session.run_with_iobinding(binding)
    assert other.run_with_ort_values(None, {"x": between})[0].numpy().tolist() == (array * 4).tolist()


def test_values_go_from_device_to_device(device):
    array = numpy.arange(9, dtype=numpy.float32)
    source = on(device, array)
    for other in WITH_MEMORY:
        target = on(other, numpy.zeros(9, numpy.float32))
        onnxruntime.capi.onnxruntime_inference_collection.copy_tensors([source], [target])
        assert from_device(target).tolist() == array.tolist()


def test_a_graph_that_is_cut_stays_right(device):
    """The middle node is ONNX Runtime's CPU's, so that values go to it and back."""
    nodes = [
        helper.make_node("Add", ["x", "x"], ["a"]),
        helper.make_node("Cast", ["a"], ["text"], to=TensorProto.STRING),
        helper.make_node("Cast", ["text"], ["b"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["b", "a"], ["y"]),
    ]
    session = backplane_onnxruntime.session(model_of(nodes, [("x", ["n"])], [("y", ["n"])]), device)
    array = numpy.arange(6, dtype=numpy.float32)
    for _ in range(3):
        assert session.run(None, {"x": array})[0].tolist() == (4 * array * array).tolist()


def test_threads_share_a_session_and_a_value(device):
    session = backplane_onnxruntime.session(doubler(), device, strict=True)
    shared, wrong = on(device, numpy.ones(4096, numpy.float32)), []

    def run(seed):
        array = numpy.full(100 + seed, seed, numpy.float32)
        for _ in range(10):
            if not numpy.array_equal(session.run(None, {"x": array})[0], array * 2):
                wrong.append(seed)
            if not (session.run_with_ort_values(None, {"x": shared})[0].numpy() == 2).all():
                wrong.append(-seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_of_nobody_is_refused(device):
    session = backplane_onnxruntime.session(doubler(), device, strict=True)
    value = on(device, numpy.ones(4, numpy.float32))
    place = backplane_onnxruntime.placement(device)
    foreign = onnxruntime.OrtDevice.make(place["device_type"], place["device_id"], place["vendor_id"])
    binding = session.io_binding()
    with pytest.raises(Exception, match="device memory that Backplane did not allocate"):
        binding._iobinding.bind_input("x", foreign._get_c_device(), numpy.float32, [4], value.data_ptr() + (1 << 40))
