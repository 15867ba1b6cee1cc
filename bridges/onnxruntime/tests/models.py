"""Models beside ONNX Runtime's CPU: the same results, and the times of both at two threads.

python bridges/onnxruntime/tests/models.py [--device cpu:0] [--strict] [--repeats 10] [FILE.onnx ...]

Without files: the nets of the wheel `onnx`'s folder `light`. A size that a model leaves open is 1 for the batch, else 64, or what SIZES
says of models in other wheels: magika, silero-vad, rapidocr-onnxruntime, basic-pitch."""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import backplane_onnxruntime
import numpy
import onnx
import onnxruntime

DTYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}


# By a part of the file's name: shapes of inputs, or their values.
SIZES = {
    "silero_vad_16k_sequence": {"input": (4, 576)},
    "silero_vad_openvino_16k": {},
    "silero_vad": {"input": (1, 512), "state": (2, 1, 128), "sr": 16000},
    "PP-OCRv4_det": {"x": (1, 3, 640, 640)},
    "PP-OCRv4_rec": {"x": (1, 3, 48, 320)},
    "ppocr_mobile": {"x": (1, 3, 48, 192)},
    "magika": {"bytes": (4, 2048)},
}


def light_models():
    return sorted((Path(onnx.__file__).resolve().parent / "backend/test/data/light").glob("*.onnx"))


def content_of(file):
    """The model; nets of `light` get random weights, since theirs are all the same, and with these any net gives the same."""
    model = onnx.load(str(file))
    if file.resolve() not in light_models():
        return model.SerializeToString()
    source = numpy.random.default_rng(1)
    graph, shapes = model.graph, {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    for node in [each for each in graph.node if each.op_type == "ConstantOfShape" and each.input[0] in shapes]:
        shape = shapes[node.input[0]].tolist()
        # Of the size that keeps activations so; vectors are scales, variances and biases.
        weights = source.standard_normal(shape) * (2 / numpy.prod(shape[1:])) ** 0.5 if len(shape) > 1 else source.uniform(0.5, 1, shape)
        graph.initializer.append(onnx.numpy_helper.from_array(weights.astype(numpy.float32), node.output[0]))
        graph.node.remove(node)
    # What a last softmax gets: it makes 1 and 0 of large numbers, whatever they are.
    ends = {each.name for each in graph.output}
    for node in [each for each in graph.node if each.op_type == "Softmax" and each.output[0] in ends]:
        graph.output.append(onnx.helper.make_tensor_value_info(node.input[0], onnx.TensorProto.FLOAT, None))
    return model.SerializeToString()


def inputs_of(session, name=""):
    source = numpy.random.default_rng(0)
    known = next((sizes for part, sizes in SIZES.items() if part in name), {})
    feeds = {}
    for each in session.get_inputs():
        shape = known.get(each.name, [size if isinstance(size, int) else 64 if place else 1 for place, size in enumerate(each.shape)])
        dtype = DTYPES[each.type]
        if isinstance(shape, int):
            feeds[each.name] = numpy.array(shape, dtype)
        elif numpy.issubdtype(dtype, numpy.floating):
            feeds[each.name] = source.random(shape).astype(dtype)
        else:
            feeds[each.name] = source.integers(0, 200, shape).astype(dtype)
    return feeds


def session_of(file, device, strict=False):
    """At two threads; without a device, ONNX Runtime's CPU."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    if device:
        return backplane_onnxruntime.session(content_of(file), device, options, strict=strict)
    return onnxruntime.InferenceSession(content_of(file), sess_options=options, providers=["CPUExecutionProvider"])


def difference(actual, expected):
    """The largest, relative to the largest element where that is above 1; infinite where shapes or dtypes differ, or a
    number is not finite."""
    worst = 0.0
    for one, other in zip(actual, expected, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            return float("inf")
        if not (numpy.isfinite(one).all() and numpy.isfinite(other).all()):
            return float("inf")
        if one.size:
            off = numpy.abs(one.astype(numpy.float64) - other.astype(numpy.float64)).max()
            worst = max(worst, float(off / max(1, numpy.abs(other.astype(numpy.float64)).max())))
    return worst


def seconds_of(session, feeds, repeats):
    for _ in range(3):
        session.run(None, feeds)
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - begin)
    return median(times)


def timed_alone(file, device, options):
    """In a process of its own, since threads that wait for work take the time of others."""
    command = [sys.executable, __file__, str(file), "--alone", "--device", device, "--repeats", str(options.repeats)]
    done = subprocess.run(command + ["--strict"] * options.strict, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        session = session_of(options.files[0], options.device, options.strict and bool(options.device))
        print(seconds_of(session, inputs_of(session, options.files[0].stem), options.repeats))
        return 0
    ratios, wrong = [], 0
    for file in options.files or light_models():
        theirs, ours = session_of(file, ""), session_of(file, options.device, options.strict)
        feeds = inputs_of(theirs, file.stem)
        off = difference(ours.run(None, feeds), theirs.run(None, feeds))
        del theirs, ours
        wrong += not off <= 1e-4
        times = [timed_alone(file, device, options) * 1e3 for device in (options.device, "")]
        ratios.append(times[0] / times[1])
        print(f"{file.stem:30} differs by {off:.1e}, {times[0]:8.2f} ms beside {times[1]:8.2f} ms, {ratios[-1]:.2f}", flush=True)
    print(f"geometric mean {numpy.exp(numpy.log(ratios).mean()):.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
