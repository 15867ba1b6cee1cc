"""Parametrized and lazy modules beside PyTorch's."""

import copy

import pytest

torch = pytest.importorskip("torch")
import backplane as bp  # noqa: E402
import torch.nn as tnn  # noqa: E402
from backplane import nn  # noqa: E402
from backplane.nn.utils import parametrizations as ours_of  # noqa: E402
from backplane.nn.utils import parametrize  # noqa: E402
from test_nn_layers import assert_same, compare_state, over, r, run_both  # noqa: E402
from torch.nn.utils import parametrizations as theirs_of  # noqa: E402

LAYERS = {
    "Linear": ((3, 4), lambda: [r(5, 3)]),
    "Conv2d": ((3, 4, 3), lambda: [r(2, 3, 5, 5)]),
    "ConvTranspose2d": ((3, 4, 3), lambda: [r(2, 3, 5, 5)]),
}


def pair(name):
    args, inputs = LAYERS[name]
    theirs, ours = getattr(tnn, name)(*args).double(), getattr(nn, name)(*args, dtype=bp.float64)
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs, inputs


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("layer", LAYERS)
def test_weight_norm(layer, dim):
    ours, theirs, inputs = pair(layer)
    ours_of.weight_norm(ours, dim=dim), theirs_of.weight_norm(theirs, dim=dim)
    assert list(ours.state_dict()) == list(theirs.state_dict()) and repr(ours) == repr(theirs)
    for key, value in theirs.state_dict().items():
        assert_same(ours.state_dict()[key], value, key)
    run_both(ours, theirs, inputs())
    parametrize.remove_parametrizations(ours, "weight"), tnn.utils.parametrize.remove_parametrizations(theirs, "weight")
    compare_state(ours, theirs)
    run_both(ours, theirs, inputs())


@pytest.mark.parametrize("layer", LAYERS)
def test_spectral_norm(layer):
    ours, theirs, inputs = pair(layer)
    ours_of.spectral_norm(ours, n_power_iterations=2), theirs_of.spectral_norm(theirs, n_power_iterations=2)
    assert list(ours.state_dict()) == list(theirs.state_dict()) and repr(ours) == repr(theirs)
    ours.load_state_dict(theirs.state_dict())
    for training in (True, True, False):
        ours.train(training), theirs.train(training)
        run_both(ours, theirs, inputs())
    for key, value in theirs.state_dict().items():
        assert_same(ours.state_dict()[key], value, key)


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("map", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)], ids=str)
def test_orthogonal(shape, map, trivial):
    theirs, ours = tnn.Linear(*shape).double(), nn.Linear(*shape, dtype=bp.float64)
    ours.load_state_dict(theirs.state_dict())
    start = theirs.weight.detach().clone()
    if trivial and shape[0] != shape[1]:
        pytest.skip("the base is filled up with random columns")
    if not trivial and map == "householder":
        with torch.no_grad():
            theirs.weight.copy_(torch.linalg.qr(start if shape[1] >= shape[0] else start.T)[0].reshape(start.shape))
        ours.load_state_dict(theirs.state_dict())
    ours_of.orthogonal(ours, orthogonal_map=map, use_trivialization=trivial)
    theirs_of.orthogonal(theirs, orthogonal_map=map, use_trivialization=trivial)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    if not trivial and map == "householder":
        assert_same(ours.weight, theirs.weight, "weight", 1e-9)
    ours.load_state_dict(theirs.state_dict())
    run_both(ours, theirs, [r(2, shape[0])])


def test_own_parametrizations():
    class TheirSymmetric(tnn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, value):
            return value.triu()

    theirs, ours = tnn.Linear(3, 3).double(), nn.Linear(3, 3, dtype=bp.float64)
    ours.load_state_dict(theirs.state_dict())
    tnn.utils.parametrize.register_parametrization(theirs, "weight", TheirSymmetric())
    parametrize.register_parametrization(ours, "weight", Symmetric())
    run_both(ours, theirs, [r(2, 3)])
    parametrize.register_parametrization(ours, "weight", Symmetric())
    assert len(ours.parametrizations.weight) == 2
    run_both(ours, theirs, [r(2, 3)])
    wanted = r(3, 3)
    ours.weight = over(wanted + wanted.T)
    assert_same(ours.weight, wanted + wanted.T, "assigned")
    twin = copy.deepcopy(ours)
    assert_same(twin.weight, wanted + wanted.T, "copied")
    with parametrize.cached():
        assert ours.weight is ours.weight
    assert ours.weight is not ours.weight
    with pytest.raises(ValueError, match="would become"):
        parametrize.register_parametrization(ours, "bias", nn.Unflatten(0, (3, 1)))
    with pytest.raises(ValueError, match="has no parameter or buffer 'other'"):
        parametrize.register_parametrization(ours, "other", Symmetric())
    with pytest.raises(ValueError, match="'bias' of ParametrizedLinear is not parametrized"):
        parametrize.remove_parametrizations(ours, "bias")


LAZY = {
    "Linear": ((4,), (3, 5)),
    **{
        f"{kind}{rank}d": (args, (2, 6) + (7,) * rank)
        for kind, args in (("Conv", (4, 3)), ("ConvTranspose", (4, 3)), ("BatchNorm", ()), ("InstanceNorm", ()))
        for rank in (1, 2, 3)
    },
}


@pytest.mark.parametrize("name", LAZY)
def test_lazy_layers(name):
    args, shape = LAZY[name]
    theirs, ours = getattr(tnn, f"Lazy{name}")(*args).double(), getattr(nn, f"Lazy{name}")(*args).double()
    x = r(*shape)
    assert repr(ours) == repr(theirs)
    theirs(x), ours(over(x))
    assert type(ours).__name__ == type(theirs).__name__ == name and repr(ours) == repr(theirs)
    compare_state(ours, theirs)
    other = getattr(nn, f"Lazy{name}")(*args).double()
    for module in (ours, other):
        module.load_state_dict(theirs.state_dict())
        run_both(module.eval(), theirs.eval(), [x])
