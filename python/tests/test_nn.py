"""Modules: attributes, walks, state dicts, hooks, sharing, copies, text, errors, training."""

import copy
import gc
import math
import pickle
import weakref

import pytest

import backplane as bp
from backplane import nn
from backplane.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.scale = nn.Parameter(bp.ones(4))
        self.register_buffer("steps", bp.zeros(1))
        self.register_buffer("scratch", bp.zeros(2), persistent=False)

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


def values(module):
    return {name: tensor.tolist() for name, tensor in module.state_dict().items()}


# --- Attributes and walks ------------------------------------------------------------------------------------------------------


def test_attributes_become_parts():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale", "first.weight", "first.bias", "second.0.weight", "second.0.bias"]
    assert [name for name, _ in net.named_buffers()] == ["steps", "scratch"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second", "second.0", "second.1"]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert list(net.state_dict()) == ["scale", "steps", "first.weight", "first.bias", "second.0.weight", "second.0.bias"]
    assert net.get_submodule("second.0") is net.second[0]
    assert net.get_parameter("second.0.weight") is net.second[0].weight
    assert net.get_buffer("scratch") is net.scratch
    assert set(net._parameters) == {"scale"} and set(net._modules) == {"first", "second"}
    with pytest.raises(TypeError):
        net._parameters["scale"] = None


def test_attributes_may_be_replaced_and_deleted():
    net = Net()
    net.first = nn.Linear(3, 4, bias=False)
    net.scale = None
    net.steps = bp.ones(2)
    assert list(net.state_dict()) == ["steps", "first.weight", "second.0.weight", "second.0.bias"]
    net.scale = nn.Parameter(bp.zeros(4))
    assert "scale" in net.state_dict()
    del net.scale
    assert not hasattr(net, "scale") and "scale" not in net.state_dict()
    net.scale = 3
    assert "scale" not in net.state_dict()
    net.scale = nn.Parameter(bp.zeros(4))
    assert "scale" in net.state_dict()
    net.extra = nn.Buffer(bp.ones(2))
    net.passing = nn.Buffer(bp.ones(2), persistent=False)
    assert "extra" in net.state_dict() and "passing" not in net.state_dict()


@pytest.mark.parametrize("name, value, text", [
    ("scale", bp.ones(4), "'scale' is a parameter; assign an nn.Parameter or None, not Tensor"),
    ("first", 3, "'first' is a module"),
    ("steps", 3.0, "'steps' is a buffer"),
])
def test_a_wrong_value_is_refused(name, value, text):
    with pytest.raises(TypeError, match=text):
        setattr(Net(), name, value)


def test_names_are_checked():
    net = Net()
    for register in (net.register_parameter, net.register_buffer, net.register_module, net.add_module):
        with pytest.raises(ValueError, match="no dot"):
            register("a.b", None)
        with pytest.raises(ValueError, match="empty"):
            register("", None)
        with pytest.raises(TypeError, match="must be a str"):
            register(3, None)
        with pytest.raises(TypeError, match="must be a"):
            register("other", 3)
        with pytest.raises(ValueError, match="already"):
            register("forward", None)


def test_init_of_the_base_may_be_forgotten():
    class Forgetful(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x)

    assert len(list(Forgetful().parameters())) == 2
    assert Forgetful()(bp.ones(1, 2)).shape == (1, 2)


def test_properties_go_before_parts():
    class Computed(nn.Module):
        def __init__(self):
            super().__init__()
            self.raw = nn.Parameter(bp.ones(2))

        @property
        def weight(self):
            return self.raw * 2

        @weight.setter
        def weight(self, value):
            self.raw = nn.Parameter(value.detach() / 2)

    module = Computed()
    module.weight = nn.Parameter(bp.full((2,), 6.0))
    assert module.raw.tolist() == [3.0, 3.0] and list(module.state_dict()) == ["raw"]


def test_shared_parts_come_once():
    shared = nn.Linear(2, 2)
    model = nn.Sequential(shared, nn.ReLU(), shared)
    model.add_module("tied", nn.Linear(2, 2))
    model.tied.weight = shared.weight
    assert [name for name, _ in model.named_parameters()] == ["0.weight", "0.bias", "tied.bias"]
    assert len(list(model.named_parameters(remove_duplicate=False))) == 6
    assert len(list(model.named_modules())) == 4 and len(list(model.named_modules(remove_duplicate=False))) == 5
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias", "tied.weight", "tied.bias"]
    model.double()
    assert model.tied.weight is shared.weight and shared.weight.dtype == bp.float64
    twin = copy.deepcopy(model)
    assert twin[0] is twin[2] and twin.tied.weight is twin[0].weight and twin[0] is not shared
    again = pickle.loads(pickle.dumps(model))
    assert again[0] is again[2] and again.tied.weight is again[0].weight


def test_apply_train_and_requires_grad():
    net, seen = Net(), []
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ["Linear", "Linear", "ReLU", "Sequential", "Net"]
    assert net.eval() is net and not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    with pytest.raises(TypeError, match="bool"):
        net.train(1)
    net.requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in net.parameters())


def test_zero_grad():
    net = Net()
    net(bp.ones(2, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.tolist() == [0.0] * 4
    net.zero_grad()
    assert net.scale.grad is None


# --- Moves ---------------------------------------------------------------------------------------------------------------------


def test_moves_keep_the_objects():
    net = Net()
    weight = net.first.weight
    net.register_buffer("count", bp.zeros(1, dtype=bp.int64))
    net(bp.ones(2, 3)).sum().backward()
    net.to(bp.float64)
    assert net.first.weight is weight and weight.dtype == bp.float64 and weight.grad.dtype == bp.float64
    assert net.steps.dtype == bp.float64 and net.count.dtype == bp.int64
    assert net.half().first.weight.dtype == bp.float16
    assert net.bfloat16().first.weight.dtype == bp.bfloat16
    assert net.float().first.weight.dtype == bp.float32
    assert net.to(bp.ones(1, dtype=bp.float64)).first.weight.dtype == bp.float64
    net.to("cpu", bp.float32)
    net.to(device="cpu", dtype=bp.float32, non_blocking=True)
    assert net(bp.ones(2, 3)).dtype == bp.float32
    with pytest.raises(TypeError, match="floating-point"):
        net.to(bp.int64)
    with pytest.raises(TypeError, match="not int"):
        net.to(3)
    with pytest.raises(TypeError, match="no argument 'color'"):
        net.to(color=3)


def test_moves_to_another_device():
    reference = [device for device in bp.devices() if str(device).startswith("reference:")]
    if not reference:
        pytest.skip("the reference backend is not here")
    net = Net()
    expected = net(bp.ones(2, 3)).tolist()
    weight = net.first.weight
    net.to(reference[0])
    assert net.first.weight is weight and str(weight.device) == str(reference[0]) and str(net.steps.device) == str(reference[0])
    result = net(bp.ones(2, 3).to(reference[0]))
    for mine, other in zip(result.cpu().tolist(), expected):
        assert mine == pytest.approx(other, rel=1e-5)
    result.sum().backward()
    assert str(weight.grad.device) == str(reference[0])
    net.cpu()
    assert str(weight.device).startswith("cpu") and str(weight.grad.device).startswith("cpu")


def test_meta_and_to_empty():
    layer = nn.Linear(3, 2, device="meta")
    assert str(layer.weight.device).startswith("meta")
    layer.to_empty(device="cpu")
    layer.reset_parameters()
    assert layer(bp.ones(1, 3)).shape == (1, 2)


# --- State dicts ---------------------------------------------------------------------------------------------------------------


def test_state_round_trip():
    one, other = Net(), Net()
    state = one.state_dict()
    assert not any(tensor.requires_grad for tensor in state.values())
    assert all(type(tensor) is bp.Tensor for name, tensor in state.items() if name != "steps")
    before = other.first.weight
    keys = other.load_state_dict(state)
    assert repr(keys) == "<All keys matched successfully>" and keys.missing_keys == [] and keys.unexpected_keys == []
    assert values(one) == values(other)
    assert other.first.weight is before and other.first.weight.requires_grad
    assert one.state_dict(keep_vars=True)["scale"] is one.scale
    assert list(one.first.state_dict(prefix="x.")) == ["x.weight", "x.bias"]
    with bp.no_grad():
        one.scale.add_(1)
    assert state["scale"].tolist() == [2.0] * 4  # the same memory


def test_strictness_names_what_differs():
    net = Net()
    before = values(net)
    state = net.state_dict()
    state["first.weight"] = bp.zeros(5, 3)
    del state["scale"]
    state["more"] = bp.zeros(1)
    with pytest.raises(ValueError) as caught:
        net.load_state_dict(state)
    text = str(caught.value)
    assert "does not fit the Net, and nothing was loaded" in text
    assert "'first.weight' has shape [4, 3] in the module and [5, 3] in the dict" in text
    assert "missing in the dict: scale" in text and "unknown to the module: more" in text
    assert values(net) == before
    with pytest.raises(ValueError) as caught:
        net.load_state_dict(state, strict=False)
    assert "first.weight" in str(caught.value) and "missing" not in str(caught.value)
    state["first.weight"] = bp.ones(4, 3)
    keys = net.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["scale"] and keys.unexpected_keys == ["more"]
    assert net.first.weight.tolist() == [[1.0] * 3] * 4
    with pytest.raises(TypeError, match="give a dict, not list"):
        net.load_state_dict([1])
    with pytest.raises(ValueError, match="'scale' is a str in the dict"):
        net.load_state_dict({**net.state_dict(), "scale": "no"})
    with pytest.raises(ValueError, match="'scale' is float32 in the module and complex64 in the dict"):
        net.load_state_dict({**net.state_dict(), "scale": bp.zeros(4, dtype=bp.complex64)})


def test_values_are_cast_and_arrays_taken():
    numpy = pytest.importorskip("numpy")
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": numpy.array([[1.0, 2.0]]), "bias": numpy.array([3], dtype="int64")})
    assert layer.weight.tolist() == [[1.0, 2.0]] and layer.bias.tolist() == [3.0] and layer.weight.dtype == bp.float32


def test_assign_takes_the_dicts_tensors():
    layer = nn.Linear(2, 1, device="meta")
    weight = bp.ones(1, 2)
    layer.load_state_dict({"weight": weight, "bias": bp.zeros(1)}, assign=True)
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad
    weight.fill_(5)
    assert layer.weight.tolist() == [[5.0, 5.0]]


def test_hooks_of_state_dicts():
    net, seen = Net(), []
    net.first.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append(("pre", prefix)))
    net.first.register_state_dict_post_hook(lambda module, state, prefix, _: state.update({prefix + "old": state.pop(prefix + "bias")}))
    state = net.state_dict()
    assert seen == [("pre", "first.")] and "first.old" in state and "first.bias" not in state
    other = Net()
    other.first.register_load_state_dict_pre_hook(
        lambda module, state, prefix, *rest: state.update({prefix + "bias": state.pop(prefix + "old")}))
    other.register_load_state_dict_post_hook(lambda module, keys: seen.append(keys))
    other.load_state_dict(state)
    assert other.first.bias.tolist() == net.first.bias.tolist() and len(seen) == 2 and "first.old" in state


def test_extra_state():
    class Counting(nn.Linear):
        calls = 0

        def get_extra_state(self):
            return {"calls": self.calls}

        def set_extra_state(self, state):
            self.calls = state["calls"]

    one, other = nn.Sequential(Counting(2, 2)), nn.Sequential(Counting(2, 2))
    one[0].calls = 7
    state = one.state_dict()
    assert state["0._extra_state"] == {"calls": 7}
    other.load_state_dict(state)
    assert other[0].calls == 7
    del state["0._extra_state"]
    with pytest.raises(ValueError, match="missing in the dict: 0._extra_state"):
        other.load_state_dict(state)


# --- Hooks ---------------------------------------------------------------------------------------------------------------------


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
    module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"more": kwargs["more"] and kwargs["more"] + 1}), with_kwargs=True)
    module.register_forward_hook(lambda m, args, kwargs, output: seen.append(kwargs), with_kwargs=True, always_call=True)
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
    layer(bp.ones(1, 2)).sum().backward()  # nobody wants a derivative by the input
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


# --- Copies --------------------------------------------------------------------------------------------------------------------


def test_deepcopy_and_pickle():
    net = Net()
    net(bp.ones(2, 3)).sum().backward()
    net.scale.requires_grad_(False)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert values(twin) == values(net) and twin.first.weight is not net.first.weight
        assert isinstance(twin.scale, nn.Parameter) and not twin.scale.requires_grad and twin.first.weight.requires_grad
        assert [name for name, _ in twin.named_buffers()] == ["steps", "scratch"]
        with bp.no_grad():
            twin.first.weight.fill_(0)
        assert values(twin) != values(net)
    assert copy.deepcopy(net).first.weight.grad.tolist() == net.first.weight.grad.tolist()
    buffer = pickle.loads(pickle.dumps(nn.Buffer(bp.ones(2), persistent=False)))
    assert isinstance(buffer, nn.Buffer) and not buffer.persistent
    number = copy.deepcopy(nn.Parameter(bp.ones(2, dtype=bp.int64), requires_grad=False))
    assert isinstance(number, nn.Parameter) and not number.requires_grad


def test_a_shallow_copy_has_attributes_of_its_own():
    net = Net()
    twin = copy.copy(net)
    assert twin.first is net.first
    del twin.first
    assert hasattr(net, "first") and "first.weight" in net.state_dict() and "first.weight" not in twin.state_dict()


def test_every_module_is_pickled_and_copied():
    for make in (lambda: nn.LSTM(2, 3), lambda: nn.MultiheadAttention(4, 2), lambda: nn.Transformer(4, 2, 1, 1, 8),
                 lambda: nn.BatchNorm2d(3), lambda: nn.CrossEntropyLoss(bp.ones(3)), lambda: nn.AdaptiveAvgPool2d(2),
                 lambda: nn.ZeroPad2d(1), lambda: nn.ParameterDict({"a": bp.ones(2)}), lambda: nn.MaxUnpool3d(2)):
        module = make()
        for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            assert repr(twin) == repr(module) and values(twin) == values(module)


def test_no_cycles():
    gc.collect()
    gc.disable()
    try:
        net = Net()
        gone = weakref.ref(net)
        net(bp.ones(1, 3)).sum().backward()
        with pytest.raises(ValueError):
            net(bp.ones(1, 2))
        del net
    finally:
        gc.enable()
    gc.collect()
    assert gone() is None


# --- Text and errors -----------------------------------------------------------------------------------------------------------


def test_text():
    assert repr(nn.Sequential(nn.Linear(3, 4), nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Dropout()]), nn.ModuleDict({"a": nn.Tanh()}))) == (
        "Sequential(\n"
        "  (0): Linear(in_features=3, out_features=4, bias=True)\n"
        "  (1): ModuleList(\n"
        "    (0-1): 2 x ReLU()\n"
        "    (2): Dropout(p=0.5, inplace=False)\n"
        "  )\n"
        "  (2): ModuleDict(\n"
        "    (a): Tanh()\n"
        "  )\n"
        ")")

    class Own(nn.Module):
        def extra_repr(self):
            return "one\ntwo"

    assert repr(Own()) == "Own(\n  one\n  two\n)"
    assert repr(nn.Parameter(bp.ones(1))).startswith("Parameter containing:\ntensor([1.]")
    assert repr(nn.ParameterList([bp.ones(2, 3), "x"])) == (
        "ParameterList(\n  (0): Parameter containing: [backplane.float32 of size 2x3]\n  (1): Object of type: str\n)")


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


@pytest.mark.parametrize("make", [
    lambda: nn.Linear(-1, 2), lambda: nn.Linear(2, 1 << 60), lambda: nn.Conv2d(3, 4, 3, groups=2), lambda: nn.Conv2d(3, 4, (3, 3, 3)),
    lambda: nn.Conv2d(3, 4, 0), lambda: nn.Conv2d(3, 4, 3, padding="some"), lambda: nn.Conv2d(3, 4, 3, 2, padding="same"),
    lambda: nn.Conv2d(3, 4, 3, padding_mode="odd"), lambda: nn.Dropout(1.5), lambda: nn.GroupNorm(2, 3), lambda: nn.GroupNorm(0, 3),
    lambda: nn.LayerNorm(()), lambda: nn.Embedding(3, 2, padding_idx=3), lambda: nn.Embedding(3, 2, sparse=True),
    lambda: nn.EmbeddingBag(3, 2, mode="most"), lambda: nn.LSTM(2, 3, proj_size=3), lambda: nn.GRU(2, 0), lambda: nn.RNN(2, 3, dropout=2),
    lambda: nn.RNN(2, 3, nonlinearity="gelu"), lambda: nn.MultiheadAttention(4, 3), lambda: nn.MSELoss(reduction="most"),
    lambda: nn.CrossEntropyLoss(label_smoothing=2), lambda: nn.MaxPool2d(2, padding=2), lambda: nn.MaxPool2d(0),
    lambda: nn.Hardtanh(1, -1), lambda: nn.GELU("some"), lambda: nn.Unflatten(1, ()), lambda: nn.ZeroPad2d((1, 2, 3)),
    lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [5]), lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]), lambda: nn.TripletMarginLoss(-1),
    lambda: nn.FractionalMaxPool2d(2), lambda: nn.FractionalMaxPool2d(2, output_ratio=1.5), lambda: nn.ConvTranspose1d(2, 2, 2, padding="same"),
    lambda: nn.TransformerEncoderLayer(4, 2, activation="tanh"), lambda: nn.PixelShuffle(0), lambda: nn.AvgPool2d(2, divisor_override=0),
])
def test_wrong_values_are_refused_when_a_layer_is_made(make):
    with pytest.raises(ValueError, match=".+: .+"):
        make()


@pytest.mark.parametrize("make", [
    lambda: nn.Linear(2.5, 2), lambda: nn.Linear("2", 2), lambda: nn.Conv1d(2, 2, 1.5), lambda: nn.Parameter([1.0]), lambda: nn.Buffer(3),
    lambda: nn.Sequential(3), lambda: nn.ModuleList(3), lambda: nn.ModuleDict(3), lambda: nn.ModuleDict({"a": 3}), lambda: nn.Module(3),
    lambda: nn.Sequential(nn.Linear), lambda: nn.LSTM(2, 3)(3), lambda: nn.LSTM(2, 3)(bp.ones(1, 1, 2), bp.ones(1, 1, 3)),
    lambda: nn.Unflatten(1, 3), lambda: nn.Linear(2, 2)(), lambda: nn.Linear(2, 2, dtype=3), lambda: nn.init.zeros_(3),
])
def test_wrong_types_are_refused(make):
    with pytest.raises(TypeError):
        make()


def test_a_module_without_forward():
    with pytest.raises(NotImplementedError, match="Module has no forward"):
        nn.Module()(1)


# --- Containers ----------------------------------------------------------------------------------------------------------------


def test_sequential():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(model) == 3 and isinstance(model[-1], nn.Linear) and list(model)[1] is model[1] and model[1] in model
    part = model[1:]
    assert isinstance(part, nn.Sequential) and list(part.state_dict()) == ["2.weight", "2.bias"] and part[1] is model[2]
    model.append(nn.Tanh()).insert(1, nn.Dropout())
    assert [type(each).__name__ for each in model] == ["Linear", "Dropout", "ReLU", "Linear", "Tanh"]
    del model[1]
    assert list(model._modules) == ["0", "1", "2", "3"]
    model[1] = nn.GELU()
    assert isinstance(model.pop(-1), nn.Tanh) and len(model) == 3
    assert len(model + model) == 6 and len(model * 2) == 6
    model.extend([nn.ReLU()])
    assert len(model) == 4
    named = nn.Sequential({"a": nn.Linear(2, 2), "b": nn.ReLU()})
    assert list(named.state_dict()) == ["a.weight", "a.bias"] and named.b is named[1]
    with pytest.raises(IndexError, match="index 4 of 4"):
        model[4]
    with pytest.raises(TypeError, match="int or a slice"):
        model["0"]
    with pytest.raises(TypeError):
        model + 3
    with pytest.raises(ValueError):
        model * 0
    assert nn.Sequential()(3) == 3


def test_lists_and_dicts():
    modules = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    modules += [nn.ReLU()]
    modules.insert(0, nn.Tanh())
    assert [name for name, _ in modules.named_children()] == list("01234") and len(modules[1:3]) == 2
    modules[1:3] = [nn.Sigmoid()]
    assert [type(each).__name__ for each in modules] == ["Tanh", "Sigmoid", "Linear", "ReLU"]
    assert modules.pop(0) is not None and len(modules) == 3
    with pytest.raises(NotImplementedError):
        modules(1)
    named = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.ReLU()})
    assert list(named) == list(named.keys()) == ["a", "b"] and "a" in named and len(named) == 2
    named["c"] = nn.Tanh()
    assert named.pop("b") is not None and [name for name, _ in named.items()] == ["a", "c"]
    named.update([("d", nn.ReLU())])
    with pytest.raises(KeyError, match="no 'x'; there are a, c, d"):
        named["x"]
    named.clear()
    assert len(named) == 0 and list(named.parameters()) == []
    parameters = nn.ParameterList([bp.ones(2), nn.Parameter(bp.zeros(1))])
    parameters.append(bp.ones(3))
    assert len(list(parameters.parameters())) == 3 and isinstance(parameters[0], nn.Parameter)
    assert list(parameters.state_dict()) == ["0", "1", "2"]
    table = nn.ParameterDict({"x": bp.ones(2)})
    table["y"] = bp.zeros(1)
    table.update({"z": 3})
    assert list(table.state_dict()) == ["x", "y"] and table.get("q") is None and "z" in table
    assert len(table | {"w": bp.ones(1)}) == 4 and len(table) == 3 and table.popitem() == ("z", 3)


# --- Training ------------------------------------------------------------------------------------------------------------------


def test_an_mlp_learns():
    bp.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    points = bp.rand(200, 2) * 2 - 1
    classes = ((points[:, 0] * points[:, 1]) > 0).to(bp.int64)
    loss_of, losses = nn.CrossEntropyLoss(), []
    for _ in range(300):
        loss = loss_of(model(points), classes)
        losses.append(loss.item())
        model.zero_grad()
        loss.backward()
        with bp.no_grad():
            for parameter in model.parameters():
                parameter -= 0.8 * parameter.grad
    assert losses[-1] < 0.25 * losses[0], losses[::50]
    assert all(type(parameter) is nn.Parameter for parameter in model.parameters())


def test_running_statistics_and_modes():
    norm = nn.BatchNorm1d(2)
    norm(bp.tensor([[1.0, 2.0], [3.0, 6.0]]))
    assert norm.num_batches_tracked.item() == 1
    assert norm.running_mean.tolist() == pytest.approx([0.2, 0.4])
    norm.eval()
    before = values(norm)
    norm(bp.ones(2, 2))
    assert values(norm) == before
    norm.reset_running_stats()
    assert norm.running_mean.tolist() == [0.0, 0.0] and norm.num_batches_tracked.item() == 0


def test_dropout_draws_in_training_alone():
    bp.manual_seed(1)
    for layer, shape in ((nn.Dropout(0.25), (10000,)), (nn.Dropout1d(0.25), (100, 100, 3)), (nn.Dropout2d(0.25), (100, 100, 2, 2)),
                         (nn.Dropout3d(0.25), (100, 100, 1, 2, 2))):
        result = layer(bp.ones(*shape))
        assert abs((result == 0).to(bp.float32).mean().item() - 0.25) < 0.03
        assert result.max().item() == pytest.approx(1 / 0.75)
        assert layer.eval()(bp.ones(*shape)).min().item() == 1
    channels = nn.Dropout2d(0.5)(bp.ones(4, 8, 5, 5)).flatten(2)
    assert (channels.min(-1).values == channels.max(-1).values).all().item()
    for layer in (nn.AlphaDropout(0.2), nn.FeatureAlphaDropout(0.2)):
        result = layer(bp.randn(500, 200))
        assert abs(result.mean().item()) < 0.02 and abs(result.std().item() - 1) < 0.02
    x = bp.ones(100)
    assert nn.Dropout(0.5, inplace=True)(x) is x and x.min().item() == 0


def test_utilities():
    layer = nn.Linear(2, 2)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (6,) and vector.requires_grad
    nn.utils.vector_to_parameters(bp.arange(6, dtype=bp.float32), layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0]] and layer.bias.tolist() == [4.0, 5.0]
    with pytest.raises(ValueError, match="shape .7."):
        nn.utils.vector_to_parameters(bp.zeros(7), layer.parameters())
    assert nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item() == 0
    layer(bp.ones(1, 2)).sum().backward()
    layer.bias.grad = bp.tensor([math.inf, 0.0])
    with pytest.raises(ValueError, match="not finite|norm of order"):
        nn.utils.clip_grad_norm_(layer.parameters(), 1.0, error_if_nonfinite=True)


def test_gumbel_softmax():
    bp.manual_seed(2)
    logits = bp.tensor([0.0, math.log(3.0)]).expand(4000, 2).clone().requires_grad_()
    hard = F.gumbel_softmax(logits, hard=True)
    assert set(hard.detach().flatten().tolist()) <= {0.0, 1.0}
    assert abs(hard.detach()[:, 1].mean().item() - 0.75) < 0.03
    (hard * bp.tensor([1.0, 2.0])).sum().backward()
    assert logits.grad.abs().sum().item() > 0


def test_old_reductions_warn():
    with pytest.warns(UserWarning, match="size_average and reduce are old"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning):
        assert F.l1_loss(bp.ones(2), bp.zeros(2), reduce=False).shape == (2,)
