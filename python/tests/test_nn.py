"""Modules of Python: attributes, walks, moves, containers, training."""

import copy
import math
import pickle

import backplane as bp
import pytest
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


# --- Attributes and walks -----------------------------------------------------------------------------------


def test_attributes_become_parts():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale",
        "first.weight",
        "first.bias",
        "second.0.weight",
        "second.0.bias",
    ]
    assert [name for name, _ in net.named_buffers()] == ["steps", "scratch"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "second", "second.0", "second.1"]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    assert list(net.state_dict()) == [
        "scale",
        "steps",
        "first.weight",
        "first.bias",
        "second.0.weight",
        "second.0.bias",
    ]
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


@pytest.mark.parametrize(
    "name, value, text",
    [
        ("scale", bp.ones(4), "'scale' is a parameter; assign an nn.Parameter or None, not Tensor"),
        ("first", 3, "'first' is a module"),
        ("steps", 3.0, "'steps' is a buffer"),
    ],
)
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


# --- Moves --------------------------------------------------------------------------------------------------


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
    assert (
        net.first.weight is weight
        and str(weight.device) == str(reference[0])
        and str(net.steps.device) == str(reference[0])
    )
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


# --- Containers ---------------------------------------------------------------------------------------------


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


# --- Training -----------------------------------------------------------------------------------------------


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
    for layer, shape in (
        (nn.Dropout(0.25), (10000,)),
        (nn.Dropout1d(0.25), (100, 100, 3)),
        (nn.Dropout2d(0.25), (100, 100, 2, 2)),
        (nn.Dropout3d(0.25), (100, 100, 1, 2, 2)),
    ):
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
