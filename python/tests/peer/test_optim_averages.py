"""swa_utils beside PyTorch's: averages of weights, running statistics, rates."""

import copy

import pytest

torch = pytest.importorskip("torch")
import backplane as bp  # noqa: E402
import numpy as np  # noqa: E402
from backplane.optim import swa_utils as ours  # noqa: E402
from torch.optim import swa_utils as theirs  # noqa: E402

torch.set_num_threads(1)
PAIRS = [(bp, ours), (torch, theirs)]


def networks():
    made = [lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4), lib.nn.Linear(4, 2)) for lib, _ in PAIRS]
    state = {name: bp.from_dlpack(value.detach().clone()) for name, value in made[1].state_dict().items()}
    made[0].load_state_dict(state)
    return made


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


def same_state(a, b, counts=True):
    a, b = a.state_dict(), b.state_dict()
    assert list(a) == list(b)
    for name in a:
        if counts or not name.endswith("num_batches_tracked"):
            close(a[name], b[name])


OPTIONS = {
    "swa": lambda swa: {},
    "ema": lambda swa: {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
    "one by one": lambda swa: {"avg_fn": swa.get_ema_avg_fn(0.7)},
    "mean one by one": lambda swa: {"avg_fn": swa.get_swa_avg_fn()},
    "mean": lambda swa: {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
    "own": lambda swa: {"avg_fn": lambda mean, value, count: mean * 0.25 + value * 0.75},
}


# PyTorch takes means of counters too, or fails at them; here they are copied.
@pytest.mark.parametrize(
    "name, use_buffers", [*[(name, False) for name in OPTIONS], ("one by one", True), ("mean one by one", True)]
)
def test_averages(name, use_buffers):
    torch.manual_seed(3)
    models = networks()
    averaged = [
        swa.AveragedModel(each, use_buffers=use_buffers, **OPTIONS[name](swa)) for (_, swa), each in zip(PAIRS, models)
    ]
    for _ in range(4):
        x = torch.randn(6, 3)
        for (lib, _), model in zip(PAIRS, models):
            given = x if lib is torch else bp.from_dlpack(x)
            loss = model(given).square().sum()
            model.zero_grad()
            loss.backward()
            with lib.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(parameter.grad * 0.05)
        for average, model in zip(averaged, models):
            average.update_parameters(model)
        same_state(*averaged, counts=not use_buffers)
    for average in averaged:
        average.eval()
    close(averaged[0](bp.from_dlpack(x)), averaged[1](x))


def test_the_copy_is_apart_and_is_saved():
    model = bp.nn.Linear(2, 2)
    averaged = ours.AveragedModel(model)
    averaged.update_parameters(model)
    with bp.no_grad():
        model.weight.fill_(5)
    assert averaged.module.weight.tolist() != model.weight.tolist() and int(averaged.n_averaged) == 1
    other = ours.AveragedModel(bp.nn.Linear(2, 2))
    other.load_state_dict(averaged.state_dict())
    assert other.module.weight.tolist() == averaged.module.weight.tolist() and int(other.n_averaged) == 1
    assert copy.deepcopy(averaged).module.weight.tolist() == other.module.weight.tolist()


def test_running_statistics():
    torch.manual_seed(5)
    models, batches = networks(), [torch.randn(8, 3) * (i + 1) for i in range(3)]
    models[0][1].momentum = models[1][1].momentum = 0.3
    for model in models:
        model.eval()
    ours.update_bn([(bp.from_dlpack(each), None) for each in batches], models[0])
    theirs.update_bn([(each, None) for each in batches], models[1])
    same_state(*models)
    assert models[0][1].momentum == 0.3 and not any(module.training for module in models[0].modules())


def test_what_is_wrong_is_refused_and_changes_nothing():
    model = networks()[0]
    model[1].running_mean.fill_(7)
    with pytest.raises(ValueError, match="no batch"):
        ours.update_bn([], model)
    with pytest.raises((TypeError, ValueError)):
        ours.update_bn([bp.ones(2, 3), bp.ones(2, 7)], model)
    assert model[1].running_mean.tolist() == [7] * 4 and model.training
    averaged = ours.AveragedModel(model)
    with pytest.raises(ValueError, match="averages"):
        averaged.update_parameters(bp.nn.Linear(3, 4))
    with pytest.raises(ValueError):
        ours.AveragedModel(model, avg_fn=max, multi_avg_fn=max)
    with pytest.raises(ValueError):
        ours.get_ema_multi_avg_fn(1.5)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 5])
def test_rates(epochs, strategy):
    rates = []
    for lib, swa in PAIRS:
        weights = [lib.ones(2).requires_grad_() for _ in range(2)]
        groups = [{"params": weights[:1]}, {"params": weights[1:], "lr": 0.3}]
        optimizer = lib.optim.SGD(groups, lr=0.1)
        schedule = swa.SWALR(optimizer, [0.01, 0.5], anneal_epochs=epochs, anneal_strategy=strategy)
        found = [[group["lr"] for group in optimizer.param_groups]]
        for _ in range(8):
            optimizer.step()
            schedule.step()
            found.append([group["lr"] for group in optimizer.param_groups])
        rates.append(found)
    np.testing.assert_allclose(*rates, rtol=1e-9)
