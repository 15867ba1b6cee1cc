"""Models beside ONNX Runtime's CPU: the same results, and the times of both at two threads.

python bridges/onnxruntime/tests/models.py [--device cpu:0] [--strict] [--rounds 5] [--seconds 1] [--json FILE] [FILE.onnx ...]

Without files: the models of bench/onnxruntime/rows.json, from the wheel onnx (the nets of its folder `light`) and from those of
dependencies/pip-onnx-models.txt, which `./dev test --full` installs. Both sides take turns, each in a process of its own: the median of a
round's runs, and of the rounds' medians. A size that a model leaves open is 1 for the batch, else 64, or what SIZES says."""

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import backplane_onnxruntime
import numpy
import onnx
import onnxruntime
import sentence_encoder

ROOT = Path(__file__).resolve().parents[3]
ROWS = ROOT / "bench/onnxruntime/rows.json"
TOLERANCE = 1e-4  # of the largest element, where that is above 1
DTYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32}

sys.path.extend(map(str, ROOT.glob("build/peers/onnxmodels/lib/python*/site-packages")))

# By a part of the file's path: shapes of inputs, or their values.
SIZES = {
    "silero_vad_16k_sequence": {"input": (4, 576)},
    "silero_vad_openvino_16k": {},
    "silero_vad": {"input": (1, 512), "state": (2, 1, 128), "sr": 16000},
    "PP-OCRv4_det": {"x": (1, 3, 640, 640)},
    "PP-OCRv4_rec": {"x": (1, 3, 48, 320)},
    "ppocr_mobile": {"x": (1, 3, 48, 192)},
    "magika": {"bytes": (4, 2048)},
}


def rows():
    return [row for row in json.loads(ROWS.read_text()) if "file" in row]


def path_of(row):
    """Of the model in the package that is installed, which is not imported; None: there is no such package."""
    package, _, within = row["file"].partition("/")
    found = importlib.util.find_spec(package)
    return Path(found.submodule_search_locations[0]).resolve() / within if found else None


def is_light(file):
    return file.parent.name == "light"


def content_of(file):
    """The model; nets of `light` get random weights, since theirs are all the same, and with these any net gives the same."""
    if file.suffix == ".safetensors":
        return sentence_encoder.content_of(file)
    model = onnx.load(str(file))
    if not is_light(file):
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


def inputs_of(session, file):
    if file.suffix == ".safetensors":
        return sentence_encoder.feeds_of(file, sentence_encoder.lines()[:4])
    source = numpy.random.default_rng(0)
    known = next((sizes for part, sizes in SIZES.items() if part in str(file)), {})
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


class Side:
    """A session in a process of its own, since threads that wait for work take the time of others."""

    def __init__(self, file, device, options):
        command = [sys.executable, __file__, str(file), "--side", "--device", device, "--seconds", str(options.seconds)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command + ["--strict"] * (options.strict and bool(device)), **pipes)

    def answer(self, question):
        print(question, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"models.py: the process that runs the model ended with {self.process.wait()}")
        return answer.strip()

    def microseconds(self):
        return float(self.answer("time"))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def be_side(file, options):
    """Answers each line of the input with the median of as many runs as the seconds allow."""
    session = session_of(file, options.device, options.strict)
    feeds = inputs_of(session, file)
    for _ in sys.stdin:
        session.run(None, feeds)
        times, end = [], time.perf_counter() + options.seconds
        while len(times) < 3 or time.perf_counter() < end:
            begin = time.perf_counter()
            session.run(None, feeds)
            times.append(time.perf_counter() - begin)
        print(median(times) * 1e6, flush=True)


def times_of(file, options):
    """Ours and ONNX Runtime's, in microseconds."""
    sides = [Side(file, device, options) for device in (options.device, "")]
    measured = [[side.microseconds() for side in sides] for _ in range(options.rounds + 1)][1:]  # the first finds caches cold
    for side in sides:
        side.end()
    return [median(each) for each in zip(*measured)]


def result_of(name, ours, peer, budget=None):
    ratio = ours / peer
    return {"name": name, "ours": ours, "peer": peer, "unit": "us", "ratio": ratio, "budget": budget, "met": budget and ratio <= budget}


def measure(name, file, options):
    theirs, ours = session_of(file, ""), session_of(file, options.device, options.strict)
    feeds = inputs_of(theirs, file)
    off = difference(ours.run(None, feeds), theirs.run(None, feeds))
    del theirs, ours
    result = result_of(name, *times_of(file, options))
    figures = f"{result['ours'] / 1e3:9.3f} ms beside {result['peer'] / 1e3:9.3f} ms, {result['ratio']:.2f}"
    print(f"{name:30} differs by {off:.1e}, {figures}", flush=True)
    return result, off <= TOLERANCE


def chosen(options):
    """Pairs of a name and a file; those of packages that are missing are named, and left out."""
    if options.files:
        return [(file.stem, file.resolve()) for file in options.files]
    pairs = [(row["name"], path_of(row)) for row in rows() if options.only in row["name"]]
    missing = [name for name, file in pairs if not file]
    if missing:
        print(f"without {', '.join(missing)}: ./dev test --full installs dependencies/pip-onnx-models.txt")
    return [(name, file) for name, file in pairs if file]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--only", default="", help="models with this in their names")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="of one side's round")
    parser.add_argument("--json", type=Path, help="where the table goes, as [{name, ours, peer, unit, ratio, budget, met}]")
    parser.add_argument("--side", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        return be_side(options.files[0], options)
    results, are_right = [], []
    for name, file in chosen(options):
        result, is_right = measure(name, file, options)
        results.append(result)
        are_right.append(is_right)
        keep(results, options)
    print(f"geometric mean {mean_of(results)['ratio']:.2f}")
    return 0 if all(are_right) else 1


def keep(results, options):
    """After each model, since a run takes minutes."""
    if options.json:
        options.json.write_text(json.dumps([*results, mean_of(results)], indent=1) + "\n")


def mean_of(results):
    means = [float(numpy.exp(numpy.mean([numpy.log(result[side]) for result in results]))) for side in ("ours", "peer")]
    return result_of("geometric_mean", *means, budget=1.0)


if __name__ == "__main__":
    sys.exit(main())
