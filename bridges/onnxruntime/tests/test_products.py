"""Products by constant matrices, which are packed, and what stands behind them, give what ONNX Runtime's CPU gives."""

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_fused import expect_equal, sessions, unoptimized

LEADING = {"rows": [5], "batches": [2, 3, 7], "one": [1], "vector": [], "many": [61], "none": [0]}


class Chain:
    """Nodes behind each other, the first of them a product of x by a constant."""

    def __init__(self, seed, leading, knows_rank):
        self.source, self.nodes, self.constants, self.other = numpy.random.default_rng(seed), [], [], None
        self.leading, self.knows_rank = leading, knows_rank
        self.each, self.results = (int(self.source.choice(sizes)) for sizes in ([1, 3, 8, 33, 300], [1, 7, 8, 20, 32, 65]))
        self.x = self.source.standard_normal([*leading, self.each]).astype(numpy.float32)
        (self.gemm if len(leading) == 1 and self.source.integers(2) else self.matmul)()
        for _ in range(int(self.source.integers(0, 4))):
            self.scale()
        if self.source.integers(2):
            self.add_other()
        if self.source.integers(2):
            self.add(*((["Relu"], ["Clip", self.constant(-0.5), self.constant(0.75)])[int(self.source.integers(2))]))
        self.nodes[-1].output[0] = "y"

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(numpy.asarray(array, numpy.float32), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, kind, *others, is_second=False, **attributes):
        inputs = [self.nodes[-1].output[0] if self.nodes else "x", *others]
        self.nodes.append(helper.make_node(kind, inputs[::-1] if is_second else inputs, [f"v{len(self.nodes)}"], **attributes))

    def weight(self, shape):
        return self.constant(self.source.standard_normal(shape) / self.each**0.5)

    def matmul(self):
        self.add("MatMul", self.weight([self.each, self.results]))

    def gemm(self):
        turned = int(self.source.integers(2))
        summands = [[], [self.results], [1], [1, self.results], [*self.leading, 1], [*self.leading, self.results]]
        inputs = [self.weight([self.results, self.each] if turned else [self.each, self.results])]
        if self.source.integers(3):
            inputs.append(self.constant(self.source.standard_normal(summands[int(self.source.integers(len(summands)))])))
        attributes = {"alpha": 0.5, "beta": 1.75} if self.source.integers(2) else {}
        self.add("Gemm", *inputs, transB=turned, **attributes)

    def scale(self):
        kinds = ["Add", "Mul", "Sub", "Div"] + ["BatchNormalization"] * (len(self.leading) == 1)
        kind, shapes = str(self.source.choice(kinds)), [[], [1], [self.results]] + [[1, self.results]] * bool(self.leading)
        if kind == "BatchNormalization":
            return self.add(kind, *(self.constant(self.source.uniform(0.5, 2, self.results)) for _ in range(4)), epsilon=0.1)
        number = self.source.uniform(0.5, 2, shapes[int(self.source.integers(len(shapes)))])
        return self.add(kind, self.constant(number), is_second=kind != "Div" and bool(self.source.integers(2)))

    def add_other(self):
        shapes = [[*self.leading, self.results], [self.results], [2, *self.leading, self.results] if self.leading != [0] else [0, self.results]]
        self.other = self.source.standard_normal(shapes[int(self.source.integers(3))]).astype(numpy.float32)
        self.add(str(self.source.choice(["Add", "Sum"])), "other", is_second=bool(self.source.integers(2)))

    def feeds(self):
        return {"x": self.x} | ({} if self.other is None else {"other": self.other})

    def model(self):
        shapes = {name: [None] * array.ndim if self.knows_rank else None for name, array in self.feeds().items()}
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
        graph = helper.make_graph(self.nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10).SerializeToString()


@pytest.mark.parametrize("leading", LEADING.values(), ids=list(LEADING))
@pytest.mark.parametrize("knows_rank", [True, False], ids=["rank", "no_rank"])
def test_what_stands_behind_a_product_becomes_part_of_it(leading, knows_rank):
    for seed in range(60):
        chain = Chain(seed, leading, knows_rank)
        ours, theirs = unoptimized(chain.model())
        expect_equal(ours.run(None, chain.feeds()), theirs.run(None, chain.feeds()))


def product(constant, **more):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"], name="scores"), helper.make_node("Mul", ["p", "k"], ["y"])]
    constants = [numpy_helper.from_array(constant, "w"), numpy_helper.from_array(numpy.float32(more.get("factor", 1)), "k")]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
    return helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:], constants), ir_version=10).SerializeToString()


def test_numbers_that_are_not_finite_come_out_as_they_do_there():
    weight = numpy.ones((4, 40), numpy.float32)
    weight[1:, ::2] = 0
    x = numpy.ones((3, 4), numpy.float32)
    x[1, 2], x[2, 3] = numpy.inf, numpy.nan
    for factor in (2, numpy.inf):
        ours, theirs = unoptimized(product(weight, factor=factor))
        numpy.testing.assert_array_equal(ours.run(None, {"x": x})[0], theirs.run(None, {"x": x})[0])


@pytest.mark.parametrize("factors", [{"beta": 0.0}, {"alpha": float("inf")}, {"alpha": 0.0}, {"beta": float("inf")}], ids=str)
def test_factors_of_a_gemm_that_are_none(factors):
    """What beta 0 is multiplied with does not count, NaN neither; zeros of a matrix times an infinite alpha would be NaN."""
    weight = numpy.ones((4, 16), numpy.float32)
    weight[1:, ::2] = 0
    bias = numpy.full(16, numpy.nan if factors.get("beta") == 0 else 2, numpy.float32)
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"], **factors)]
    constants = [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
    model = helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:], constants), ir_version=10).SerializeToString()
    ours, theirs = unoptimized(model)
    feeds = {"x": numpy.ones((3, 4), numpy.float32)}
    numpy.testing.assert_array_equal(ours.run(None, feeds)[0], theirs.run(None, feeds)[0])


def test_a_size_that_does_not_fit_is_said_with_both():
    ours, _ = sessions(product(numpy.ones((4, 40), numpy.float32)), "cpu:0")
    with pytest.raises(Exception, match=r"MatMul 'scores': the input has shape \[3, 5\]; its last dimension must be 4"):
        ours.run(None, {"x": numpy.ones((3, 5), numpy.float32)})
    assert ours.run(None, {"x": numpy.ones((3, 4), numpy.float32)})[0].tolist() == [[4] * 40] * 3
