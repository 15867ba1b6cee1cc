"""Hooks of modules, their text, and where they say that something is wrong."""

import backplane as bp
import pytest
from backplane import nn

# --- Hooks --------------------------------------------------------------------------------------------------


def test_forward_hooks_replace():
    layer = nn.Identity()
    pre = layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    post = layer.register_forward_hook(lambda module, args, output: output * 2)
    assert layer(bp.ones(1)).tolist() == [4.0]
    pre.remove()
    assert layer(bp.ones(1)).tolist() == [2.0]
    post.remove()
    post.remove()
    assert layer(bp.ones(1)).tolist() == [1.0]
    with layer.register_forward_hook(lambda module, args, output: output * 3):
        assert layer(bp.ones(1)).tolist() == [3.0]
    assert layer(bp.ones(1)).tolist() == [1.0]
    with pytest.raises(TypeError, match="callable"):
        layer.register_forward_hook(3)


def test_hooks_with_keywords_order_and_errors():
    class Adds(nn.Module):
        def forward(self, x, *, more):
            if more is None:
                raise KeyError("more")
            return x + more

    module, seen = Adds(), []
    module.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"more": kwargs["more"] and kwargs["more"] + 1}), with_kwargs=True
    )
    module.register_forward_hook(
        lambda m, args, kwargs, output: seen.append(kwargs), with_kwargs=True, always_call=True
    )
    module.register_forward_hook(lambda m, args, output: seen.append("second"))
    module.register_forward_hook(lambda m, args, output: seen.append("first"), prepend=True)
    assert module(bp.ones(1), more=1).tolist() == [3.0]
    assert seen == ["first", {"more": 2}, "second"]
    seen.clear()
    with pytest.raises(KeyError):
        module(bp.ones(1), more=None)
    assert seen == [{"more": None}]
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(TypeError, match="None or .args, kwargs."):
        module(bp.ones(1), more=1)


def test_full_backward_hooks():
    layer, seen = nn.Linear(2, 1, bias=False), []
    layer.register_full_backward_pre_hook(lambda module, by_output: (by_output[0] * 10,))
    layer.register_full_backward_hook(lambda module, by_input, by_output: seen.append((by_input, by_output)))
    x = bp.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    (by_input,), (by_output,) = seen[0]
    assert by_output.tolist() == [[10.0]]
    assert by_input.tolist() == (layer.weight * 10).tolist() == x.grad.tolist()
    seen.clear()
    layer(bp.ones(1, 2)).sum().backward()  # nobody asks for a derivative by the input
    assert seen[0][0] == (None,) and seen[0][1][0].tolist() == [[10.0]]
    with bp.no_grad():
        layer(x)
    handle = layer.register_full_backward_hook(lambda module, by_input, by_output: (None, None, None))
    with pytest.raises(ValueError, match="returned 3 gradients for 1"):
        layer(x).sum().backward()
    handle.remove()


def test_full_backward_hooks_of_many():
    class Two(nn.Module):
        def forward(self, a, scale, b):
            return a * scale, {"kept": 1}, b + a

    module, seen = Two(), []
    module.register_full_backward_hook(lambda m, by_input, by_output: seen.append((by_input, by_output)))
    a, b = bp.ones(1, requires_grad=True), bp.ones(1, requires_grad=True)
    first, kept, last = module(a, 3, b)
    assert kept == {"kept": 1}
    (first + last * 2).sum().backward()
    by_input, by_output = seen[0]
    assert [g if g is None else g.tolist() for g in by_input] == [[5.0], None, [2.0]]
    assert [g if g is None else g.tolist() for g in by_output] == [[1.0], None, [2.0]]


# --- Text and errors ----------------------------------------------------------------------------------------


def test_text():
    assert repr(
        nn.Sequential(
            nn.Linear(3, 4), nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Dropout()]), nn.ModuleDict({"a": nn.Tanh()})
        )
    ) == (
        "Sequential(\n"
        "  (0): Linear(in_features=3, out_features=4, bias=True)\n"
        "  (1): ModuleList(\n"
        "    (0-1): 2 x ReLU()\n"
        "    (2): Dropout(p=0.5, inplace=False)\n"
        "  )\n"
        "  (2): ModuleDict(\n"
        "    (a): Tanh()\n"
        "  )\n"
        ")"
    )

    class Own(nn.Module):
        def extra_repr(self):
            return "one\ntwo"

    assert repr(Own()) == "Own(\n  one\n  two\n)"
    assert repr(nn.Parameter(bp.ones(1))).startswith("Parameter containing:\ntensor([1.]")
    assert repr(nn.ParameterList([bp.ones(2, 3), "x"])) == (
        "ParameterList(\n  (0): Parameter containing: [backplane.float32 of size 2x3]\n  (1): Object of type: str\n)"
    )


def test_errors_begin_with_the_path():
    class Outer(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.encoder = nn.ModuleDict({"layer": nn.ModuleList([nn.Identity(), inner])})

        def forward(self, x):
            return self.encoder["layer"][1](x)

    model = Outer(nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 2)))
    with pytest.raises(ValueError) as caught:
        model(bp.ones(2, 3))
    assert str(caught.value).startswith("encoder.layer.1.1: linear: ")
    with pytest.raises(TypeError, match="^encoder.layer.1.0: linear: input must be a Tensor"):
        model("x")
    with pytest.raises(ValueError) as caught:
        nn.Linear(3, 4)(bp.ones(2, 2))
    assert str(caught.value).startswith("linear: ")
    model.encoder["layer"][1].register_forward_hook(lambda *args: None)
    with pytest.raises(ValueError, match="^encoder.layer.1.1: "):
        model(bp.ones(2, 3))

    class Odd(nn.Module):
        def forward(self, x):
            raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        Outer(Odd())(bp.ones(1))
    assert caught.value.args == ("mine",)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Linear(-1, 2),
        lambda: nn.Linear(2, 1 << 60),
        lambda: nn.Conv2d(3, 4, 3, groups=2),
        lambda: nn.Conv2d(3, 4, (3, 3, 3)),
        lambda: nn.Conv2d(3, 4, 0),
        lambda: nn.Conv2d(3, 4, 3, padding="some"),
        lambda: nn.Conv2d(3, 4, 3, 2, padding="same"),
        lambda: nn.Conv2d(3, 4, 3, padding_mode="odd"),
        lambda: nn.Dropout(1.5),
        lambda: nn.GroupNorm(2, 3),
        lambda: nn.GroupNorm(0, 3),
        lambda: nn.LayerNorm(()),
        lambda: nn.Embedding(3, 2, padding_idx=3),
        lambda: nn.Embedding(3, 2, sparse=True),
        lambda: nn.EmbeddingBag(3, 2, mode="most"),
        lambda: nn.LSTM(2, 3, proj_size=3),
        lambda: nn.GRU(2, 0),
        lambda: nn.RNN(2, 3, dropout=2),
        lambda: nn.RNN(2, 3, nonlinearity="gelu"),
        lambda: nn.MultiheadAttention(4, 3),
        lambda: nn.MSELoss(reduction="most"),
        lambda: nn.CrossEntropyLoss(label_smoothing=2),
        lambda: nn.MaxPool2d(2, padding=2),
        lambda: nn.MaxPool2d(0),
        lambda: nn.Hardtanh(1, -1),
        lambda: nn.GELU("some"),
        lambda: nn.Unflatten(1, ()),
        lambda: nn.ZeroPad2d((1, 2, 3)),
        lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [5]),
        lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]),
        lambda: nn.TripletMarginLoss(-1),
        lambda: nn.FractionalMaxPool2d(2),
        lambda: nn.FractionalMaxPool2d(2, output_ratio=1.5),
        lambda: nn.ConvTranspose1d(2, 2, 2, padding="same"),
        lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh"),
        lambda: nn.PixelShuffle(0),
        lambda: nn.AvgPool2d(2, divisor_override=0),
    ],
)
def test_wrong_values_are_refused_when_a_layer_is_made(make):
    with pytest.raises(ValueError, match=".+: .+"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Linear(2.5, 2),
        lambda: nn.Linear("2", 2),
        lambda: nn.Conv1d(2, 2, 1.5),
        lambda: nn.Parameter([1.0]),
        lambda: nn.Buffer(3),
        lambda: nn.Sequential(3),
        lambda: nn.ModuleList(3),
        lambda: nn.ModuleDict(3),
        lambda: nn.ModuleDict({"a": 3}),
        lambda: nn.Module(3),
        lambda: nn.Sequential(nn.Linear),
        lambda: nn.LSTM(2, 3)(3),
        lambda: nn.LSTM(2, 3)(bp.ones(1, 1, 2), bp.ones(1, 1, 3)),
        lambda: nn.Unflatten(1, 3),
        lambda: nn.Linear(2, 2)(),
        lambda: nn.Linear(2, 2, dtype=3),
        lambda: nn.init.zeros_(3),
    ],
)
def test_wrong_types_are_refused(make):
    with pytest.raises(TypeError):
        make()


def test_a_module_without_forward():
    with pytest.raises(NotImplementedError, match="Module has no forward"):
        nn.Module()(1)
