"""Random graphs of convolutions and pointwise nodes, which become single calls, give what ONNX Runtime's CPU gives."""

import threading

import backplane_onnxruntime
import numpy
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """A graph in the making; every value is a float32 picture of known shape, or of sizes that are only known when it runs."""

    def __init__(self, seed, is_dynamic):
        self.source, self.nodes, self.constants = numpy.random.default_rng(seed), [], []
        self.shape = [int(self.source.integers(1, 3)), int(self.source.choice([1, 3, 8, 16, 20])), 9, int(self.source.integers(5, 14))]
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None if is_dynamic else size for size in self.shape])
        self.values = [("x", self.shape[1])]
        self.outputs = []

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(numpy.asarray(array, numpy.float32), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, kind, inputs, channels, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        self.values.append((name, channels))

    def convolution(self, name, channels):
        to, kernel = int(self.source.choice([1, 8, 16, 33, 40])), int(self.source.choice([1, 3]))
        groups = int(self.source.choice([1, 1, channels])) if channels > 1 else 1
        to = channels if groups > 1 else to
        weight = self.source.standard_normal((to, channels // groups, kernel, kernel)) / (channels // groups * kernel * kernel) ** 0.5
        inputs = [name, self.constant(weight)] + [self.constant(self.source.standard_normal(to))] * int(self.source.integers(2))
        pads = {"auto_pad": "SAME_UPPER"} if self.source.integers(2) else {"pads": [kernel // 2] * 4}
        self.add("Conv", inputs, to, group=groups, **pads)

    def grow(self):
        name, channels = self.values[int(self.source.integers(max(0, len(self.values) - 3), len(self.values)))]
        alike = [other for other, count in self.values if count == channels]
        kind = self.source.choice(["Conv", "Conv", "Relu", "Add", "Sum", "Mul", "scale", "swish", "Concat", "Clip", "HardSigmoid", "number"])
        if kind == "Conv":
            self.convolution(name, channels)
        elif kind in ("Relu", "HardSigmoid"):
            self.add(kind, [name], channels)
        elif kind in ("Add", "Sum", "Mul"):
            self.add(kind, [name, str(self.source.choice(alike))], channels)
        elif kind == "scale":
            self.add("Mul", [name, self.constant(self.source.standard_normal((1, channels, 1, 1)))], channels)
        elif kind == "number":
            self.add(str(self.source.choice(["Add", "Sub", "Mul", "Div"])), [name, self.constant(self.source.uniform(0.5, 2))], channels)
        elif kind == "Clip":
            self.add("Clip", [name, self.constant(-1), self.constant(2)], channels)
        elif kind == "Concat":
            self.add("Concat", [name, str(self.source.choice(alike))], 2 * channels, axis=1)
        else:
            self.add("Sigmoid", [name], channels)
            self.add("Mul", [name, self.values[-1][0]], channels)

    def model(self):
        while len(self.nodes) < 12:
            self.grow()
        given = {self.nodes[-1].output[0], *(str(each) for each in self.source.choice([node.output[0] for node in self.nodes], 2))}
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 4) for name in sorted(given)]
        graph = helper.make_graph(self.nodes, "random", [self.input], outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()


def expect_equal(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        scale = max(1, float(numpy.abs(other).max())) if other.size else 1
        numpy.testing.assert_allclose(one, other, rtol=0, atol=2e-5 * scale)


def sessions(model, device):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    ours = backplane_onnxruntime.session(model, device, options, strict=True)
    return ours, onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("is_dynamic", [False, True], ids=["known", "dynamic"])
def test_random_graphs(is_dynamic):
    for seed in range(40):
        graph = Graph(seed, is_dynamic)
        ours, theirs = sessions(graph.model(), "cpu:0")
        for size in (0, 3) if is_dynamic else (0,):
            feeds = {"x": graph.source.standard_normal([*graph.shape[:3], graph.shape[3] + size]).astype(numpy.float32)}
            expect_equal(ours.run(None, feeds), theirs.run(None, feeds))


def test_numbers_that_are_not_finite_come_out_as_they_do_there():
    weight = helper.make_tensor("w", TensorProto.FLOAT, [8, 4, 3, 3], numpy.ones(288))
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [1, 4, 6, 6]), ("y", [1, 8, 6, 6]))]
    model = helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:], [weight]), ir_version=10).SerializeToString()
    image = numpy.ones((1, 4, 6, 6), numpy.float32)
    image[0, 1, 2, 3], image[0, 0, 5, 5] = numpy.inf, -numpy.inf
    ours, theirs = sessions(model, "cpu:0")
    numpy.testing.assert_array_equal(ours.run(None, {"x": image})[0], theirs.run(None, {"x": image})[0])


@pytest.mark.parametrize("size", [1, 3, 5, 9])
@pytest.mark.parametrize("beta", [0.75, 0.5])
@pytest.mark.parametrize("behind_a_convolution", [False, True])
def test_channels_are_normalized_by_their_neighbours(size, beta, behind_a_convolution):
    """Behind a convolution the channels lie last."""
    source = numpy.random.default_rng(size)
    weight = numpy_helper.from_array(source.standard_normal((11, 4, 1, 1)).astype(numpy.float32), "w")
    nodes = [helper.make_node("LRN", ["c"], ["y"], alpha=0.7, beta=beta, bias=1.5, size=size)]
    nodes.insert(0, helper.make_node("Conv", ["x", "w"], ["c"]) if behind_a_convolution else helper.make_node("Neg", ["x"], ["c"]))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, None, 3, 5]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [weight] if behind_a_convolution else [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()
    feeds = {"x": source.standard_normal((2, 4, 3, 5)).astype(numpy.float32)}
    ours, theirs = sessions(model, "cpu:0")
    expect_equal(ours.run(None, feeds), theirs.run(None, feeds))


def model_of(nodes, constants, shape, ndim=None):
    ndim = ndim or len(shape)
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * ndim)]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [numpy_helper.from_array(array, name) for name, array in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()


def unoptimized(model):
    """ONNX Runtime would join some of these nodes itself."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    ours = backplane_onnxruntime.session(model, "cpu:0", options, strict=True)
    return ours, onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def add_scales(source, nodes, constants, channels, ndim):
    """Behind the last node a few that multiply or add constants of channels, and perhaps limits."""

    def constant(shape):
        constants[f"k{len(constants)}"] = source.uniform(0.5, 2, shape).astype(numpy.float32)
        return f"k{len(constants) - 1}"

    for _ in range(int(source.integers(1, 5))):
        value, kind = nodes[-1].output[0], str(source.choice(["Add", "Mul", "Sub", "Div", "BatchNormalization"]))
        if kind == "BatchNormalization":
            inputs, attributes = [value, *(constant([channels]) for _ in range(4))], {"epsilon": 0.1}
        else:
            wide = [channels] + [1] * (ndim - 2)
            shape = [[], [1], wide, [1, *wide]][int(source.integers(4))]
            inputs, attributes = [value, constant(shape)], {}
            if kind != "Div" and source.integers(2):
                inputs.reverse()
        nodes.append(helper.make_node(kind, inputs, [f"v{len(nodes)}"], **attributes))
    if source.integers(2):
        nodes.append(helper.make_node("Relu", [nodes[-1].output[0]], [f"v{len(nodes)}"]))
    nodes[-1].output[0] = "y"


@pytest.mark.parametrize("kind", ["Conv", "depthwise", "line", "ConvTranspose", "none"])
def test_constants_behind_a_convolution_become_part_of_it(kind):
    for seed in range(30):
        source = numpy.random.default_rng(seed)
        channels, to = int(source.integers(1, 20)), int(source.integers(8, 40))
        shape, ndim = ([2, channels, 9], 3) if kind == "line" else ([2, channels, 5, 6], 4)
        size = {"Conv": [to, channels, 3, 3], "depthwise": [channels, 1, 3, 3], "line": [to, channels, 3], "ConvTranspose": [channels, to, 2, 3]}.get(kind)
        constants, nodes = {}, [helper.make_node("Abs", ["x"], ["v0"])]
        if size:
            constants["weight"] = source.standard_normal(size).astype(numpy.float32) / channels**0.5
            to = channels if kind == "depthwise" else to
            inputs = ["v0", "weight"]
            if source.integers(2):
                constants["bias"] = source.standard_normal(to).astype(numpy.float32)
                inputs.append("bias")
            attributes = {"strides": [2, 3]} if kind == "ConvTranspose" else {"group": channels if kind == "depthwise" else 1}
            nodes.append(helper.make_node("ConvTranspose" if kind == "ConvTranspose" else "Conv", inputs, ["v1"], **attributes))
        add_scales(source, nodes, constants, to if size else channels, ndim)
        feeds = {"x": source.standard_normal(shape).astype(numpy.float32)}
        ours, theirs = unoptimized(model_of(nodes, constants, shape))
        expect_equal(ours.run(None, feeds), theirs.run(None, feeds))


def test_a_factor_that_is_not_finite_stays_behind_the_sums():
    """Zeros of a weight times infinity would be NaN."""
    weight = numpy.ones((8, 4, 1, 1), numpy.float32)
    weight[:, 1:] = 0
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Mul", ["c", "k"], ["y"])]
    ours, theirs = unoptimized(model_of(nodes, {"w": weight, "k": numpy.float32([numpy.inf])}, [1, 4, 3, 3]))
    feeds = {"x": numpy.ones((1, 4, 3, 3), numpy.float32)}
    numpy.testing.assert_array_equal(ours.run(None, feeds)[0], theirs.run(None, feeds)[0])


@pytest.mark.parametrize("kernel", [(3, 3), (3,)], ids=["pictures", "lines"])
def test_ranks_may_be_known_only_when_a_model_runs(kernel):
    source = numpy.random.default_rng(3)
    weight = numpy_helper.from_array(source.standard_normal((8, 4, *kernel)).astype(numpy.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Add", ["other", "c"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "other", "y")]
    graph = helper.make_graph(nodes, "g", values[:2], values[2:], [weight])
    ours, theirs = sessions(helper.make_model(graph, ir_version=10).SerializeToString(), "cpu:0")
    picture, rest = source.standard_normal((2, 4, *[7] * len(kernel))).astype(numpy.float32), [5] * len(kernel)
    for shape in ([2, 8, *rest], [8, *[1] * len(kernel)], [1], [], [3, 2, 8, *rest], [2, 1, *rest]):
        feeds = {"x": picture, "other": source.standard_normal(shape).astype(numpy.float32)}
        expect_equal(ours.run(None, feeds), theirs.run(None, feeds))
    with pytest.raises(Exception, match="Conv"):
        ours.run(None, {"x": picture[0, 0], "other": feeds["other"]})


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("behind_a_convolution", [False, True])
def test_pictures_are_resized_in_either_order(mode, behind_a_convolution):
    source = numpy.random.default_rng(3)
    weight = source.standard_normal((12, 4, 1, 1)).astype(numpy.float32)
    first = helper.make_node("Conv", ["x", "w"], ["c"]) if behind_a_convolution else helper.make_node("Neg", ["x"], ["c"])
    constants = {"w": weight} if behind_a_convolution else {}
    for scales in [[1, 1, 2, 2], [1, 1, 1.5, 1]] + [[1, 1.5, 2.3, 0.7]] * (mode == "nearest"):
        nodes = [first, helper.make_node("Resize", ["c", "", "s"], ["y"], mode=mode)]
        ours, theirs = unoptimized(model_of(nodes, constants | {"s": numpy.float32(scales)}, [2, 4, 6, 5]))
        feeds = {"x": source.standard_normal((2, 4, 6, 5)).astype(numpy.float32)}
        expect_equal(ours.run(None, feeds), theirs.run(None, feeds))


@pytest.mark.parametrize("kind", ["MaxPool", "places", "AveragePool", "Pad", "shuffle"])
@pytest.mark.parametrize("behind_a_convolution", [False, True])
def test_windows_padding_and_shuffles_in_either_order(kind, behind_a_convolution):
    """With any padding, also behind alone, and rounding up; behind a convolution the channels lie last."""
    for seed in range(40):
        source = numpy.random.default_rng(seed)
        shape = [2, 4, int(source.integers(5, 12)), int(source.integers(5, 12))]
        weight = source.standard_normal((12, 4, 1, 1)).astype(numpy.float32)
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"]) if behind_a_convolution else helper.make_node("Neg", ["x"], ["c"])]
        constants, channels = ({"w": weight}, 12) if behind_a_convolution else ({}, 4)
        kernel = [int(n) for n in source.integers(2, 5, 2)]
        window = {"kernel_shape": kernel, "strides": [int(n) for n in source.integers(1, 4, 2)], "ceil_mode": int(source.integers(2))}
        if source.integers(3):
            window["pads"] = [int(source.integers(0, size)) for size in kernel * 2]
        if kind == "Pad":
            constants["p"], constants["v"] = source.integers(-1, 3, 8), numpy.float32(2.5)
            nodes.append(helper.make_node("Pad", ["c", "p", "v"], ["y"]))
        elif kind == "shuffle":
            groups = int(source.choice([2, 4]))
            constants["s"] = numpy.int64([2, groups, channels // groups, *shape[2:]])
            constants["e"] = numpy.int64([2, channels, *shape[2:]])
            nodes.append(helper.make_node("Reshape", ["c", "s"], ["r"]))
            nodes.append(helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1, 3, 4]))
            nodes.append(helper.make_node("Reshape", ["t", "e"], ["y"]))
        elif kind == "places":
            nodes.append(helper.make_node("MaxPool", ["c"], ["v", "i"], **window))
            nodes.append(helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT))
            nodes.append(helper.make_node("Add", ["v", "f"], ["y"]))
        else:
            nodes.append(helper.make_node(kind, ["c"], ["y"], **window, **({"count_include_pad": seed % 2} if kind == "AveragePool" else {})))
        ours, theirs = unoptimized(model_of(nodes, constants, shape))
        feeds = {"x": source.standard_normal(shape).astype(numpy.float32)}
        expect_equal(ours.run(None, feeds), theirs.run(None, feeds))


@pytest.mark.parametrize("exponent", [2, [2], [[0.5]], -1, 3, [1, 2, 3, 0], float("inf")], ids=str)
def test_constant_exponents(exponent):
    constants = {"e": numpy.array(exponent, numpy.float32)}
    ours, theirs = unoptimized(model_of([helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Pow", ["a", "e"], ["y"])], constants, [4], max(1, constants["e"].ndim)))
    feeds = {"x": numpy.float32([0.25, 1, 3, 0])}
    numpy.testing.assert_allclose(ours.run(None, feeds)[0], theirs.run(None, feeds)[0], rtol=1e-6)


@pytest.mark.parametrize("indices", [0, -1, [2], [-3], [[1]], [0, 2, 2], [[1, -1], [0, -3]], [[0, 2], [1, 1]], []], ids=str)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_constant_indices_pick_from_inputs_of_any_size(indices, axis):
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Gather", ["a", "i"], ["y"], axis=axis)]
    constants = {"i": numpy.array(indices, numpy.int64)}
    ours, theirs = unoptimized(model_of(nodes, constants, [None] * 3, 2 + constants["i"].ndim))
    for shape in ([3, 4, 5], [4, 3, 3], [1, 3, 7] if axis else [3, 1, 7], [3, 4, 5]):
        shape[axis] = max(3, shape[axis])
        feeds = {"x": numpy.random.default_rng(1).standard_normal(shape).astype(numpy.float32)}
        expect_equal(ours.run(None, feeds), theirs.run(None, feeds))


def test_sizes_of_resized_pictures_are_computed_in_float32():
    """Ten times 0.7 is 7 there, and less in float64."""
    nodes = [helper.make_node("Resize", ["x", "", "s"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric")]
    for scale in (0.1, 0.3, 0.6, 0.7, 1.1, 1.2, 1.4):
        for size in (10, 20, 30, 35, 70):
            ours, theirs = unoptimized(model_of(nodes, {"s": numpy.float32([1, 1, scale, 1])}, [1, 1, size, 2]))
            feeds = {"x": numpy.arange(2 * size, dtype=numpy.float32).reshape(1, 1, size, 2)}
            assert ours.run(None, feeds)[0].shape == theirs.run(None, feeds)[0].shape, (scale, size)


@pytest.mark.parametrize("weights_are_constant", [False, True])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_run_again_and_again(kind, weights_are_constant):
    """What is made of constant weights is made once."""
    source = numpy.random.default_rng(4)
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    weights = {
        "w": source.standard_normal((2, gates * 5, 3)), "r": source.standard_normal((2, gates * 5, 5)), "b": source.standard_normal((2, gates * 10))
    }
    weights = {name: array.astype(numpy.float32) for name, array in weights.items()}
    attributes = {"linear_before_reset": 1} if kind == "GRU" else {}
    node = helper.make_node(kind, ["x", "w", "r", "b"], ["y"], hidden_size=5, direction="bidirectional", **attributes)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 2, 3])]
    constants = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    if not weights_are_constant:
        inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in weights.items()]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)], constants if weights_are_constant else [])
    ours, theirs = unoptimized(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString())
    for _ in range(3):
        feeds = {"x": source.standard_normal((4, 2, 3)).astype(numpy.float32)}
        if not weights_are_constant:
            feeds |= {name: source.standard_normal(array.shape).astype(numpy.float32) for name, array in weights.items()}
        expect_equal(ours.run(None, feeds), theirs.run(None, feeds))


def test_two_sessions_in_four_threads():
    graphs = [Graph(seed, False) for seed in (5, 6)]
    pairs = [(graph, *sessions(graph.model(), "cpu:0")) for graph in graphs]
    feeds = [{"x": graph.source.standard_normal(graph.shape).astype(numpy.float32)} for graph in graphs]
    wanted = [theirs.run(None, feed) for (_, _, theirs), feed in zip(pairs, feeds, strict=True)]
    wrong = []

    def work(place):
        try:
            for _ in range(25):
                expect_equal(pairs[place][1].run(None, feeds[place]), wanted[place])
        except Exception as error:  # noqa: BLE001: told below, by the test's own thread
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(place % 2,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
