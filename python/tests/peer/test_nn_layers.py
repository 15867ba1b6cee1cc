"""Modules beside PyTorch's: the same weights give the same results, gradients, text and state dicts."""

import re

import pytest

torch = pytest.importorskip("torch")
import backplane as bp  # noqa: E402
import torch.nn as tnn  # noqa: E402
from backplane import nn  # noqa: E402

torch.set_num_threads(1)
bp.zeros(1)  # loads the host's backend, which from_dlpack does not

F64 = torch.float64
X = {1: (3, 5), 2: (2, 4, 7), 3: (2, 4, 8, 9), 4: (2, 4, 6, 5, 7)}


def r(*shape):
    return torch.randn(*shape, dtype=F64)


def positive(*shape):
    return torch.rand(*shape, dtype=F64) * 0.8 + 0.1


def classes(count, *shape):
    return torch.randint(0, count, shape)


def signs(*shape):
    return constant(torch.randint(0, 2, shape).to(F64) * 2 - 1)


def constant(tensor):
    """One that nobody differentiates by."""
    tensor.is_constant = True
    return tensor


def case(name, *args, inputs, **keywords):
    text = ", ".join([repr(a) for a in args] + [f"{k}={v!r}" for k, v in keywords.items()])
    return pytest.param(name, args, keywords, inputs, id=f"{name}({text})"[:120])


LAYERS = [
    case("Identity", inputs=lambda: [r(3)]),
    case("Linear", 4, 3, inputs=lambda: [r(2, 5, 4)]),
    case("Linear", 4, 3, bias=False, inputs=lambda: [r(4)]),
    case("Bilinear", 3, 4, 5, inputs=lambda: [r(2, 3), r(2, 4)]),
    case("Flatten", inputs=lambda: [r(2, 3, 4)]),
    case("Flatten", 0, 1, inputs=lambda: [r(2, 3, 4)]),
    case("Unflatten", 1, (2, -1), inputs=lambda: [r(3, 6)]),
    case("CosineSimilarity", inputs=lambda: [r(3, 4), r(3, 4)]),
    case("CosineSimilarity", 0, 1e-6, inputs=lambda: [r(3, 4), r(3, 4)]),
    case("PairwiseDistance", inputs=lambda: [r(3, 4), r(3, 4)]),
    case("PairwiseDistance", 1.0, keepdim=True, inputs=lambda: [r(3, 4), r(3, 4)]),
    case("ChannelShuffle", 2, inputs=lambda: [r(1, 4, 3, 3)]),
    case("PixelShuffle", 2, inputs=lambda: [r(1, 8, 3, 3)]),
    case("PixelUnshuffle", 2, inputs=lambda: [r(1, 2, 4, 6)]),
    case("Unfold", 2, inputs=lambda: [r(2, 3, 4, 5)]),
    case("Unfold", (2, 3), 1, 1, (2, 1), inputs=lambda: [r(3, 6, 5)]),
    case("Fold", (4, 5), (2, 2), inputs=lambda: [r(2, 12, 12)]),
    case("Fold", 4, 2, padding=1, stride=2, inputs=lambda: [r(8, 9)]),
]
for name in (
    "Sigmoid",
    "Tanh",
    "Tanhshrink",
    "Softsign",
    "LogSigmoid",
    "ReLU",
    "SiLU",
    "Mish",
    "SELU",
    "Hardswish",
    "Hardsigmoid",
    "ELU",
    "CELU",
    "LeakyReLU",
    "Hardtanh",
    "ReLU6",
    "GELU",
    "Softplus",
    "Hardshrink",
    "Softshrink",
    "PReLU",
):
    LAYERS.append(case(name, inputs=lambda: [r(3, 4) * 3]))
for name in (
    "ReLU",
    "SiLU",
    "Mish",
    "SELU",
    "Hardswish",
    "Hardsigmoid",
    "ELU",
    "CELU",
    "LeakyReLU",
    "Hardtanh",
    "ReLU6",
):
    LAYERS.append(case(name, inplace=True, inputs=lambda: [r(3, 4) * 3]))
LAYERS += [
    case("ELU", 0.5, inputs=lambda: [r(9)]),
    case("CELU", 2.0, inputs=lambda: [r(9)]),
    case("LeakyReLU", 0.3, inputs=lambda: [r(9)]),
    case("Hardtanh", -0.5, 2.0, inputs=lambda: [r(9)]),
    case("GELU", "tanh", inputs=lambda: [r(9)]),
    case("Softplus", 2.0, 3.0, inputs=lambda: [r(9)]),
    case("Softplus", 2, 3, inputs=lambda: [r(9)]),
    case("Hardshrink", 0.1, inputs=lambda: [r(9)]),
    case("Softshrink", 0.2, inputs=lambda: [r(9)]),
    case("Threshold", 0.1, 20.0, inputs=lambda: [r(9)]),
    case("Threshold", 0.1, 20, True, inputs=lambda: [r(9)]),
    case("PReLU", 4, 0.1, inputs=lambda: [r(2, 4, 3)]),
    case("GLU", inputs=lambda: [r(3, 4)]),
    case("GLU", 0, inputs=lambda: [r(4, 3)]),
    case("Softmax", 1, inputs=lambda: [r(3, 4)]),
    case("LogSoftmax", -1, inputs=lambda: [r(3, 4)]),
    case("Softmin", 0, inputs=lambda: [r(3, 4)]),
    case("Softmax2d", inputs=lambda: [r(2, 3, 4, 5)]),
]
for rank, size in ((1, (7,)), (2, (8, 9)), (3, (6, 5, 7))):
    image = lambda *shape: lambda: [r(*shape)]  # noqa: E731
    one, batch = image(4, *size), image(2, 4, *size)
    for x in (one, batch):
        LAYERS += [
            case(f"Conv{rank}d", 4, 6, 3, inputs=x),
            case(f"ConvTranspose{rank}d", 4, 6, 3, inputs=x),
            case(f"MaxPool{rank}d", 2, inputs=x),
            case(f"MaxPool{rank}d", 2, return_indices=True, inputs=x),
            case(f"AvgPool{rank}d", 2, inputs=x),
            case(f"AdaptiveAvgPool{rank}d", 3, inputs=x),
            case(f"AdaptiveMaxPool{rank}d", 3, inputs=x),
            case(f"AdaptiveMaxPool{rank}d", (2,) * rank, return_indices=True, inputs=x),
            case(f"ConstantPad{rank}d", 1, 3.5, inputs=x),
            case(f"ZeroPad{rank}d", 2, inputs=x),
            case(f"ReflectionPad{rank}d", 2, inputs=x),
            case(f"ReplicationPad{rank}d", tuple(range(1, 2 * rank + 1)), inputs=x),
            case(f"CircularPad{rank}d", 2, inputs=x),
            case(f"InstanceNorm{rank}d", 4, inputs=x),
            case(f"InstanceNorm{rank}d", 4, affine=True, track_running_stats=True, inputs=x),
        ]
    LAYERS += [
        case(f"Conv{rank}d", 4, 6, 3, stride=2, padding=1, groups=2, bias=False, inputs=batch),
        case(f"Conv{rank}d", 4, 6, (2,) * rank, 1, (1,) * rank, (2,) * rank, inputs=batch),
        case(f"Conv{rank}d", 4, 6, 4, padding="same", inputs=batch),
        case(f"Conv{rank}d", 4, 6, 3, padding="same", dilation=2, padding_mode="circular", inputs=batch),
        case(f"Conv{rank}d", 4, 6, 2, padding="valid", inputs=batch),
        case(f"Conv{rank}d", 4, 6, 3, padding=1, padding_mode="replicate", inputs=batch),
        case(f"Conv{rank}d", 4, 6, 3, padding=2, padding_mode="reflect", inputs=batch),
        case(
            f"ConvTranspose{rank}d", 4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False, inputs=batch
        ),
        case(f"ConvTranspose{rank}d", 4, 6, 2, dilation=2, inputs=batch),
        case(f"MaxPool{rank}d", 3, 2, 1, 2, ceil_mode=True, inputs=batch),
        case(f"AvgPool{rank}d", 3, 2, 1, True, False, inputs=batch),
        case(f"LPPool{rank}d", 2, 3, inputs=image(2, 4, *size)),
        case(f"LPPool{rank}d", 3.0, 2, stride=1, ceil_mode=True, inputs=lambda size=size: [positive(2, 4, *size)]),
        case(f"BatchNorm{rank}d", 4, inputs=batch),
        case(f"BatchNorm{rank}d", 4, momentum=None, inputs=batch),
        case(f"BatchNorm{rank}d", 4, eps=1e-3, affine=False, inputs=batch),
        case(f"BatchNorm{rank}d", 4, track_running_stats=False, bias=False, inputs=batch),
        case(
            f"MaxUnpool{rank}d",
            2,
            inputs=lambda rank=rank, size=size: list(
                getattr(tnn, f"MaxPool{rank}d")(2, return_indices=True)(r(2, 4, *(2 * (each // 2) for each in size)))
            ),
        ),
    ]
LAYERS += [
    case("AvgPool2d", 3, divisor_override=5, inputs=lambda: [r(2, 4, 8, 9)]),
    case("AdaptiveAvgPool2d", (None, 3), inputs=lambda: [r(2, 4, 8, 9)]),
    case("AdaptiveMaxPool3d", (None, 3, None), inputs=lambda: [r(2, 4, 6, 5, 7)]),
    case("BatchNorm1d", 4, inputs=lambda: [r(5, 4)]),
    case("SyncBatchNorm", 4, inputs=lambda: [r(5, 4)]),
    case("LayerNorm", 4, inputs=lambda: [r(3, 4)]),
    case("LayerNorm", (3, 4), 1e-3, inputs=lambda: [r(2, 3, 4)]),
    case("LayerNorm", [4], elementwise_affine=False, inputs=lambda: [r(2, 3, 4)]),
    case("LayerNorm", 4, bias=False, inputs=lambda: [r(2, 3, 4)]),
    case("RMSNorm", 4, inputs=lambda: [r(2, 3, 4)]),
    case("RMSNorm", (3, 4), 1e-3, False, inputs=lambda: [r(2, 3, 4)]),
    case("GroupNorm", 2, 4, inputs=lambda: [r(3, 4, 5)]),
    case("GroupNorm", 1, 4, affine=False, inputs=lambda: [r(3, 4)]),
    case("GroupNorm", 2, 4, bias=False, inputs=lambda: [r(3, 4, 5, 2)]),
    case("LocalResponseNorm", 2, inputs=lambda: [r(3, 4, 5)]),
    case("LocalResponseNorm", 3, 1e-2, 0.5, 2.0, inputs=lambda: [r(3, 4, 5, 2)]),
    case(
        "FractionalMaxPool2d", 2, output_size=(3, 4), _random_samples=positive(2, 4, 2), inputs=lambda: [r(2, 4, 8, 9)]
    ),
    case(
        "FractionalMaxPool2d",
        2,
        output_ratio=0.6,
        return_indices=True,
        _random_samples=positive(2, 4, 2),
        inputs=lambda: [r(2, 4, 8, 9)],
    ),
    case(
        "FractionalMaxPool3d",
        (2, 1, 3),
        output_ratio=(0.5, 0.6, 0.4),
        _random_samples=positive(2, 4, 3),
        inputs=lambda: [r(2, 4, 8, 9, 10)],
    ),
    case("Embedding", 10, 3, inputs=lambda: [classes(10, 4, 5)]),
    case("Embedding", 10, 3, padding_idx=2, inputs=lambda: [classes(10, 4, 5)]),
    case("Embedding", 10, 3, padding_idx=-1, max_norm=1.0, scale_grad_by_freq=True, inputs=lambda: [classes(10, 4, 5)]),
    case("EmbeddingBag", 10, 3, inputs=lambda: [classes(10, 4, 5)]),
    case("EmbeddingBag", 10, 3, mode="sum", inputs=lambda: [classes(10, 7), torch.tensor([0, 2, 2])]),
    case("EmbeddingBag", 10, 3, mode="max", padding_idx=3, inputs=lambda: [classes(10, 4, 5)]),
    case(
        "EmbeddingBag",
        10,
        3,
        mode="mean",
        include_last_offset=True,
        inputs=lambda: [classes(10, 7), torch.tensor([0, 2, 7])],
    ),
    case("EmbeddingBag", 10, 3, max_norm=0.8, norm_type=1.0, inputs=lambda: [classes(10, 4, 5)]),
    case("Upsample", (5, 7), inputs=lambda: [r(1, 2, 3, 4)]),
    case("Upsample", scale_factor=2, mode="bilinear", inputs=lambda: [r(1, 2, 3, 4)]),
    case("Upsample", scale_factor=(1.5, 2.3), mode="bilinear", align_corners=False, inputs=lambda: [r(1, 2, 3, 4)]),
    case("Upsample", scale_factor=2.5, mode="bicubic", align_corners=True, inputs=lambda: [r(1, 2, 3, 4)]),
    case("Upsample", scale_factor=1.7, mode="nearest-exact", inputs=lambda: [r(1, 2, 5)]),
    case("Upsample", size=5, mode="linear", inputs=lambda: [r(1, 2, 3)]),
    case("Upsample", scale_factor=2, mode="trilinear", inputs=lambda: [r(1, 2, 3, 4, 2)]),
    case("Upsample", scale_factor=1.3, mode="bicubic", recompute_scale_factor=True, inputs=lambda: [r(1, 2, 5, 4)]),
    case("UpsamplingNearest2d", scale_factor=2, inputs=lambda: [r(1, 2, 3, 4)]),
    case("UpsamplingBilinear2d", size=(5, 6), inputs=lambda: [r(1, 2, 3, 4)]),
]
for name, first in (
    ("Dropout", 0.3),
    ("Dropout1d", 0.0),
    ("Dropout2d", 0.0),
    ("Dropout3d", 0.0),
    ("AlphaDropout", 0.0),
    ("FeatureAlphaDropout", 0.0),
    ("Dropout", 1.0),
    ("AlphaDropout", 1.0),
):
    if first in (0.0, 1.0):
        shape = {"Dropout1d": (2, 3, 4), "Dropout2d": (2, 3, 4, 5), "Dropout3d": (2, 3, 4, 5, 6)}.get(name, (2, 3))
        LAYERS.append(case(name, first, inputs=lambda shape=shape: [r(*shape)]))

for name in ("RNN", "LSTM", "GRU"):
    more = [{"nonlinearity": "relu"}] if name == "RNN" else []
    more += (
        [{"proj_size": 2}, {"proj_size": 2, "num_layers": 2, "bidirectional": True, "batch_first": True}]
        if name == "LSTM"
        else []
    )
    for options in [{}, {"bias": False}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True}, *more]:
        LAYERS.append(case(name, 4, 5, **options, inputs=lambda: [r(3, 2, 4)]))
        LAYERS.append(case(name, 4, 5, **options, inputs=lambda: [r(3, 4)]))
        directions = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        batch = 3 if options.get("batch_first") else 2

        def with_states(name=name, directions=directions, batch=batch, out=options.get("proj_size", 5)):
            hidden, cell = r(directions, batch, out), r(directions, batch, 5)
            return [r(3, 2, 4), (hidden, cell) if name == "LSTM" else hidden]

        LAYERS.append(case(name, 4, 5, **options, inputs=with_states))
    for options in [{}, {"bias": False}]:
        LAYERS.append(case(f"{name}Cell", 4, 5, **options, inputs=lambda: [r(3, 4)]))
        LAYERS.append(
            case(
                f"{name}Cell",
                4,
                5,
                **options,
                inputs=lambda name=name: [r(4), (r(5), r(5)) if name == "LSTM" else r(5)],
            )
        )
LAYERS.append(case("RNNCell", 4, 5, nonlinearity="relu", inputs=lambda: [r(3, 4)]))

for options in [
    {},
    {"bias": False},
    {"add_bias_kv": True, "add_zero_attn": True},
    {"kdim": 6, "vdim": 4},
    {"batch_first": True},
]:

    def three(options=options):
        return [r(3, 2, 8), r(3, 2, options.get("kdim", 8)), r(3, 2, options.get("vdim", 8))]

    LAYERS.append(case("MultiheadAttention", 8, 2, **options, inputs=three))
for options in [{}, {"norm_first": True, "activation": "gelu"}, {"batch_first": True, "bias": False}]:
    LAYERS.append(case("TransformerEncoderLayer", 8, 2, 16, 0.0, **options, inputs=lambda: [r(3, 2, 8)]))
    LAYERS.append(case("TransformerDecoderLayer", 8, 2, 16, 0.0, **options, inputs=lambda: [r(3, 2, 8), r(3, 2, 8)]))
    LAYERS.append(case("Transformer", 8, 2, 2, 1, 16, 0.0, **options, inputs=lambda: [r(3, 2, 8), r(3, 2, 8)]))


def over(tensor):
    """The same values as a tensor of ours."""
    return bp.from_dlpack(tensor.detach().clone())


def map_tensors(function, value):
    if isinstance(value, (torch.Tensor, bp.Tensor)):
        return function(value)
    if (
        isinstance(value, (tuple, list))
        and not isinstance(value, str)
        and any(isinstance(each, (torch.Tensor, bp.Tensor, tuple)) for each in value)
    ):
        return type(value)(map_tensors(function, each) for each in value)
    return value


def tensors_of(value):
    if isinstance(value, (torch.Tensor, bp.Tensor)):
        return [value]
    return [one for each in value or () for one in tensors_of(each)] if isinstance(value, (tuple, list)) else []


def assert_same(ours, theirs, what, tolerance=1e-12):
    assert tuple(ours.shape) == tuple(theirs.shape), what
    ours = torch.from_dlpack(ours.detach().contiguous())
    assert ours.dtype == theirs.dtype, what
    torch.testing.assert_close(
        ours, theirs.detach(), rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda text: f"{what}: {text}"
    )


def both(name, args, keywords):
    torch.manual_seed(0)
    theirs = getattr(tnn, name)(*args, **keywords).double()
    with torch.no_grad():
        for parameter in theirs.parameters():  # norms begin as ones and zeros, which would hide mistakes
            parameter.add_(torch.randn_like(parameter) * 0.3)
    ours = getattr(nn, name)(
        *map_tensors(over, args), **{k: map_tensors(over, v) for k, v in keywords.items()}
    ).double()
    return ours, theirs


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name, args, keywords, inputs", LAYERS)
def test_layer(name, args, keywords, inputs, training):
    check_layer(name, args, keywords, inputs, training)


def check_layer(name, args, keywords, inputs, training):
    """Compares all that a layer of these arguments shows."""
    ours, theirs = both(name, args, keywords)
    ours.train(training), theirs.train(training)
    compare_state(ours, theirs)
    if name not in ("RReLU",):
        assert re.sub(r"device=\S+", "", repr(ours)) == repr(theirs)
    ours.load_state_dict(theirs.state_dict())
    for _ in range(2 if training and list(theirs.buffers()) else 1):  # twice, for what running statistics become
        given = inputs()
        run_both(ours, theirs, given)
    for key, value in theirs.state_dict().items():
        assert_same(ours.state_dict()[key], value, f"state {key}")


def run_both(ours, theirs, given, **keywords):
    def is_active(x):
        return x.is_floating_point() and not getattr(x, "is_constant", False)

    def leaf(x):
        return x.clone().requires_grad_() if is_active(x) else x

    their_inputs = map_tensors(leaf, tuple(given))
    our_inputs = map_tensors(lambda x: over(x).requires_grad_() if is_active(x) else over(x), tuple(given))
    inplace = getattr(theirs, "inplace", False)  # a leaf that requires grad is not written
    their_result = theirs(*(map_tensors(lambda x: x * 1, their_inputs) if inplace else their_inputs), **keywords)
    our_result = ours(
        *(map_tensors(lambda x: x * 1, our_inputs) if inplace else our_inputs),
        **{k: map_tensors(over, v) for k, v in keywords.items()},
    )
    their_outputs, our_outputs = tensors_of(their_result), tensors_of(our_result)
    assert len(our_outputs) == len(their_outputs)
    for i, (a, b) in enumerate(zip(our_outputs, their_outputs)):
        assert_same(a, b, f"output {i}")
    wanted = [(a, b) for a, b in zip(our_outputs, their_outputs) if b.requires_grad]
    ours.zero_grad(), theirs.zero_grad()
    if not wanted:
        return
    weights = [torch.randn_like(b) for _, b in wanted]
    torch.autograd.backward([b for _, b in wanted], weights)
    bp.backward([a for a, _ in wanted], [over(w) for w in weights])
    for i, (a, b) in enumerate(zip(tensors_of(our_inputs), tensors_of(their_inputs))):
        if b.grad is not None:
            # PyTorch's derivative of hardsigmoid is a sixth in 32 bits.
            assert_same(
                a.grad, b.grad, f"gradient by input {i}", 1e-7 if isinstance(theirs, tnn.Hardsigmoid) else 1e-11
            )
    for (path, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters()):
        assert (a.grad is None) == (b.grad is None), path
        if b.grad is not None:
            assert_same(a.grad, b.grad, f"gradient by {path}", 1e-11)


def compare_state(ours, theirs):
    mine, other = ours.state_dict(), theirs.state_dict()
    assert list(mine) == list(other)
    for key in other:
        assert tuple(mine[key].shape) == tuple(other[key].shape), key
        assert mine[key].dtype.name == str(other[key].dtype).removeprefix("torch."), key
    assert [key for key, _ in ours.named_parameters()] == [key for key, _ in theirs.named_parameters()]
    assert [key for key, _ in ours.named_buffers()] == [key for key, _ in theirs.named_buffers()]
    assert [key for key, _ in ours.named_modules()] == [key for key, _ in theirs.named_modules()]
