"""State dicts and copies of modules."""

import copy
import gc
import pickle
import weakref

import backplane as bp
import pytest
from backplane import nn
from test_nn import Net, values

# --- State dicts --------------------------------------------------------------------------------------------


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
    net.first.register_state_dict_post_hook(
        lambda module, state, prefix, _: state.update({prefix + "old": state.pop(prefix + "bias")})
    )
    state = net.state_dict()
    assert seen == [("pre", "first.")] and "first.old" in state and "first.bias" not in state
    other = Net()
    other.first.register_load_state_dict_pre_hook(
        lambda module, state, prefix, *rest: state.update({prefix + "bias": state.pop(prefix + "old")})
    )
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


# --- Copies -------------------------------------------------------------------------------------------------


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
    for make in (
        lambda: nn.LSTM(2, 3),
        lambda: nn.MultiheadAttention(4, 2),
        lambda: nn.Transformer(4, 2, 1, 1, 8),
        lambda: nn.BatchNorm2d(3),
        lambda: nn.CrossEntropyLoss(bp.ones(3)),
        lambda: nn.AdaptiveAvgPool2d(2),
        lambda: nn.ZeroPad2d(1),
        lambda: nn.ParameterDict({"a": bp.ones(2)}),
        lambda: nn.MaxUnpool3d(2),
    ):
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
