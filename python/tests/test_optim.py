"""Optimizers and schedulers by themselves: formulas that PyTorch lacks, states, groups, and what they refuse."""

import copy
import math
import pickle

import pytest

import backplane as bp

optim = bp.optim
NAMES = [name for name in optim.__all__ if name not in ("LBFGS", "Optimizer", "lr_scheduler", "swa_utils")]


def leaf(*values, dtype=bp.float64):
    return bp.tensor(values, dtype=dtype).requires_grad_()


def matrix(seed=0.0, dtype=bp.float64):
    return bp.tensor([[0.5 + seed, -1.0, 2.0], [0.25, 1.5, -0.75 + seed]], dtype=dtype).requires_grad_()


def go_back(*params):
    for each in params:
        each.grad = None
    sum(((each - 1) ** 2).sum() for each in params).backward()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [bp.float32, bp.float64, bp.bfloat16], ids=str)
def test_a_loss_falls(name, dtype):
    params = [matrix(i / 7, dtype) for i in range(5)]
    optimizer = getattr(optim, name)(params, **({} if name == "Adadelta" else {"lr": 0.05}))
    loss = lambda: sum(float(((each - 1) ** 2).sum()) for each in params)  # noqa: E731
    before = loss()
    for _ in range(10):
        go_back(*params)
        optimizer.step()
    assert loss() < before


def test_lion_is_the_papers():
    x, m, g_of = 0.5, 0.0, lambda x: 2 * (x - 1)
    p = leaf(0.5)
    optimizer = optim.Lion([p], lr=0.03, betas=(0.8, 0.6), weight_decay=0.1)
    for _ in range(50):
        go_back(p)
        optimizer.step()
        g = g_of(x)
        x -= 0.03 * (math.copysign(1, 0.8 * m + 0.2 * g) + 0.1 * x)
        m = 0.6 * m + 0.4 * g
    assert p.tolist()[0] == pytest.approx(x, abs=1e-10)


def test_lamb_is_the_papers():
    x, m, v = [0.5, -2.0], [0.0, 0.0], [0.0, 0.0]
    p = leaf(*x)
    optimizer = optim.LAMB([p], lr=0.03, betas=(0.8, 0.6), weight_decay=0.1, eps=1e-4)
    for step in range(1, 51):
        go_back(p)
        optimizer.step()
        g = [2 * (a - 1) for a in x]
        m = [0.8 * a + 0.2 * b for a, b in zip(m, g)]
        v = [0.6 * a + 0.4 * b * b for a, b in zip(v, g)]
        u = [a / (1 - 0.8**step) / (math.sqrt(b / (1 - 0.6**step)) + 1e-4) + 0.1 * c for a, b, c in zip(m, v, x)]
        x = [a - 0.03 * math.hypot(*x) / math.hypot(*u) * b for a, b in zip(x, u)]
    assert p.tolist() == pytest.approx(x, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_few_calls_and_leaves_others_alone(name):
    params = [matrix(i) for i in range(9)]
    before = [each.tolist() for each in params]
    optimizer = getattr(optim, name)(params)
    go_back(*params)
    params[3].grad = None
    seen = []
    update = type(optimizer)._update
    optimizer._update = lambda group, batch: (seen.append(len(batch.params)), update(optimizer, group, batch))
    optimizer.step()
    assert seen == [8] and params[3].tolist() == before[3] and params[4].tolist() != before[4]
    assert params[3] not in optimizer.state and all(each.is_leaf and each.requires_grad for each in params)
    go_back(*params)
    optimizer.step()  # with one that is a step behind
    assert sum(seen[1:]) == 9 and len(seen) <= 3


@pytest.mark.parametrize("name", NAMES)
def test_strided_empty_and_mixed_parameters(name):
    params = [
        bp.ones(3, 2, dtype=bp.float64).mT.clone().requires_grad_(),
        bp.zeros(0, 3).requires_grad_(),
        matrix(),
        matrix(dtype=bp.float32),
        bp.ones(2, 3, dtype=bp.float64).detach().T.requires_grad_(),
    ]
    optimizer = getattr(optim, name)(params)
    alone = [bp.tensor(each.tolist(), dtype=each.dtype).reshape(each.shape).requires_grad_() for each in params]
    single = [getattr(optim, name)([each]) for each in alone]
    for _ in range(3):
        go_back(*params)
        go_back(*alone)
        optimizer.step()
        for each in single:
            each.step()
    for a, b in zip(params, alone):
        assert a.dtype == b.dtype and float((a - b).abs().sum()) < 1e-5


@pytest.mark.parametrize("name", [*NAMES, "LBFGS"])
def test_states_are_pickled_copied_and_saved(name, tmp_path):
    p = matrix()
    optimizer = getattr(optim, name)([p])

    def step(p, optimizer):
        def closure():
            go_back(p)
            return ((p - 1) ** 2).sum()

        optimizer.step(closure)

    step(p, optimizer)
    copies = []
    for clone in (copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        copies.append(clone((p, optimizer)))
    other = getattr(optim, name)([bp.tensor(p.tolist(), dtype=p.dtype).requires_grad_()])
    bp.save(optimizer.state_dict(), tmp_path / "state")
    other.load_state_dict(bp.load(tmp_path / "state"))
    copies.append((other.param_groups[0]["params"][0], other))
    step(p, optimizer)
    for q, again in copies:
        step(q, again)
        assert q.tolist() == p.tolist(), name


def test_loading_changes_nothing_if_it_is_refused():
    p, q = matrix(), leaf(1.0, 2.0)
    optimizer = optim.Adam([p, q])
    go_back(p, q)
    optimizer.step()
    good = optimizer.state_dict()
    before = {k: {n: t.tolist() for n, t in v.items()} for k, v in good["state"].items()}

    def changed(**entries):
        made = copy.deepcopy(good)
        for path, value in entries.items():
            keys = [int(key) if key.isdecimal() else key for key in path.split("__")]
            at = made
            for key in keys[:-1]:
                at = at[key]
            at[keys[-1]] = value
        return made

    for bad in (
        changed(state__0__exp_avg=bp.ones(4)),
        changed(param_groups__0__lr=-1.0),
        changed(param_groups__0__params=[0]),
        changed(state__0__step=-1.0),
        changed(state__0__step=float("nan")),
        changed(param_groups__0__betas=(2.0, 0.5)),
        changed(param_groups=[]),
        changed(state__1__exp_avg=bp.ones(2, dtype=bp.complex64)),
        {"state": {0: {"momentum_buffer": bp.ones(2, 3)}}, "param_groups": good["param_groups"]},
    ):
        with pytest.raises(ValueError, match="Adam"):
            optimizer.load_state_dict(bad)
    for bad in (
        None,
        {},
        [],
        {"state": 1, "param_groups": []},
        changed(state__0="x"),
        changed(state__0__step="x"),
        changed(param_groups__0="x"),
    ):
        with pytest.raises((TypeError, ValueError)):
            optimizer.load_state_dict(bad)
    assert {k: {n: t.tolist() for n, t in v.items()} for k, v in optimizer.state_dict()["state"].items()} == before
    assert optimizer.param_groups[0]["lr"] == 1e-3


def test_what_a_constructor_refuses():
    p = matrix()
    for call, error in [
        (lambda: optim.SGD([]), ValueError),
        (lambda: optim.SGD(p), TypeError),
        (lambda: optim.SGD([1]), TypeError),
        (lambda: optim.SGD([p * 2]), ValueError),
        (lambda: optim.SGD([p, p]), ValueError),
        (lambda: optim.SGD([{"params": [p]}, {"params": [p]}]), ValueError),
        (lambda: optim.SGD([{"lr": 1}]), ValueError),
        (lambda: optim.SGD([{"params": {p}}]), TypeError),
        (lambda: optim.SGD([bp.arange(3)]), ValueError),
        (lambda: optim.SGD("ab"), TypeError),
        (lambda: optim.SGD([p], lr="x"), TypeError),
        (lambda: optim.SGD([p], lr=-1), ValueError),
        (lambda: optim.SGD([p], lr=float("nan")), ValueError),
        (lambda: optim.SGD([p], nesterov=True), ValueError),
        (lambda: optim.Adam([p], betas=(1.0, 0.9)), ValueError),
        (lambda: optim.Adam([p], betas=0.9), ValueError),
        (lambda: optim.Adam([p], differentiable=True), ValueError),
        (lambda: optim.Muon([leaf(1.0)]), ValueError),
        (lambda: optim.Muon([p], adjust_lr_fn="x"), ValueError),
        (lambda: optim.LBFGS([{"params": [p]}, {"params": [leaf(1.0)]}]), ValueError),
        (lambda: optim.LBFGS([p], line_search_fn="x"), ValueError),
        (lambda: optim.LBFGS([p]).step(None), TypeError),
        (lambda: optim.LBFGS([p]).step(lambda: "x"), TypeError),
        (lambda: optim.SGD([p]).step(3), TypeError),
        (lambda: optim.Rprop([p], etas=(1.5, 2)), ValueError),
        (lambda: optim.Adadelta([p], rho=2), ValueError),
    ]:
        with pytest.raises(error):
            call()


def test_rates_are_checked_at_each_step_before_anything_changes():
    p, q = matrix(), matrix(1.0)
    optimizer = optim.SGD([{"params": p}, {"params": q}], lr=0.1)
    go_back(p, q)
    before = p.tolist()
    optimizer.param_groups[1]["lr"] = -1
    with pytest.raises(ValueError, match="lr is -1"):
        optimizer.step()
    assert p.tolist() == before


@pytest.mark.parametrize("name", ["SGD", "Adam", "Lion", "NAdam"])
def test_a_step_that_fails_is_not_counted(name):
    p = bp.zeros(1).expand(3).requires_grad_()  # whose elements share memory
    optimizer = getattr(optim, name)([p], lr=1.0, **({"momentum": 0.9} if name == "SGD" else {}))
    p.grad = bp.ones(3)
    for _ in range(2):
        with pytest.raises(ValueError, match="memory"):
            optimizer.step()
    assert p.tolist() == [0.0] * 3 and optimizer.state[p].get("momentum_buffer") is None
    assert float(optimizer.state[p].get("step", 0)) == 0


def test_names_and_rates_as_tensors():
    p = matrix()
    optimizer = optim.Adam([("w", p)], lr=bp.tensor(0.1))
    go_back(p)
    optimizer.step()
    assert optimizer.param_groups[0]["param_names"] == ["w"] and optimizer.state_dict()["param_groups"][0][
        "param_names"
    ] == ["w"]


def test_hooks_and_closures():
    p, calls = matrix(), []
    optimizer = optim.SGD([p], lr=0.1)
    before = optimizer.register_step_pre_hook(lambda *args: calls.append("before"))
    optimizer.register_step_post_hook(lambda *args: calls.append("after"))

    def closure():
        calls.append(bp.is_grad_enabled() if hasattr(bp, "is_grad_enabled") else True)
        go_back(p)
        return 3.5

    with bp.no_grad():
        assert optimizer.step(closure) == 3.5
    assert calls == [True, "before", "after"]
    before.remove()
    optimizer.step()
    assert calls == [True, "before", "after", "after"]


def test_zero_grad():
    p = matrix()
    optimizer = optim.SGD([p])
    go_back(p)
    kept = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [[0] * 3] * 2 and kept.tolist() == [[0] * 3] * 2
    optimizer.zero_grad()
    assert p.grad is None
    optimizer.step()


def test_what_is_kept_follows_a_parameter_that_moves():
    p = matrix(dtype=bp.float32)
    optimizer = optim.Adam([p])
    go_back(p)
    optimizer.step()
    p.grad = None
    p.data = p.data.double()
    go_back(p)
    optimizer.step()
    assert optimizer.state[p]["exp_avg"].dtype == bp.float64 and p.dtype == bp.float64


def test_a_subclass_with_a_step_of_its_own():
    class Plain(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with bp.no_grad():
                for group in self.param_groups:
                    for each in group["params"]:
                        each.add_(each.grad, alpha=-group["lr"])

    p = leaf(3.0)
    optimizer = Plain([p], 0.25)
    schedule = optim.lr_scheduler.StepLR(optimizer, 1)
    go_back(p)
    optimizer.step()
    schedule.step()
    assert p.tolist() == [2.0] and optimizer.param_groups[0]["lr"] == 0.025
    with pytest.raises(NotImplementedError):
        optim.Optimizer([p], {}).step()


def test_what_schedulers_refuse():
    of, optimizer, other = optim.lr_scheduler, optim.SGD([leaf(1.0)], lr=0.1, momentum=0.5), optim.SGD([leaf(1.0)])
    for call, error in [
        (lambda: of.StepLR(1, 2), TypeError),
        (lambda: of.StepLR(optimizer, 0), ValueError),
        (lambda: of.StepLR(optimizer, 2.5), ValueError),
        (lambda: of.StepLR(other, 2, last_epoch=3), ValueError),
        (lambda: of.LambdaLR(optimizer, 3), TypeError),
        (lambda: of.LambdaLR(optimizer, [abs, abs]), ValueError),
        (lambda: of.OneCycleLR(optimizer, 1.0), ValueError),
        (lambda: of.OneCycleLR(optimizer, 1.0, 0), ValueError),
        (lambda: of.OneCycleLR(optim.Adagrad([leaf(1.0)]), 1.0, 9), ValueError),
        (lambda: of.CyclicLR(optimizer, 0.1, 0.2, mode="x"), ValueError),
        (lambda: of.SequentialLR(optimizer, [], []), ValueError),
        (lambda: of.SequentialLR(optimizer, [of.StepLR(optimizer, 1)], [1]), ValueError),
        (lambda: of.SequentialLR(optimizer, [of.StepLR(optimizer, 1), of.StepLR(other, 1)], [1]), ValueError),
        (lambda: of.ChainedScheduler([]), ValueError),
        (lambda: of.ReduceLROnPlateau(optimizer, factor=1.0), ValueError),
        (lambda: of.ReduceLROnPlateau(optimizer, "x"), ValueError),
        (lambda: of.LinearLR(optimizer, 0), ValueError),
        (lambda: of.StepLR(optimizer, 1).load_state_dict({}), ValueError),
        (lambda: of.StepLR(optimizer, 1).load_state_dict(1), TypeError),
        (lambda: of.StepLR(optimizer, 1).load_state_dict(of.ExponentialLR(optimizer, 0.5).state_dict()), ValueError),
    ]:
        with pytest.raises(error):
            call()
    schedule = of.OneCycleLR(optimizer, 1.0, 3)
    for _ in range(3):
        schedule.step()
    with pytest.raises(ValueError, match="cycle of 3"):
        schedule.step()


def test_the_state_of_a_scheduler_goes_through_a_file(tmp_path):
    of, optimizer = optim.lr_scheduler, optim.SGD([leaf(1.0)], lr=0.1)
    schedule = of.SequentialLR(optimizer, [of.LinearLR(optimizer), of.MultiStepLR(optimizer, [3, 5])], [4])
    for _ in range(6):
        schedule.step()
    bp.save(schedule.state_dict(), tmp_path / "state")
    again = optim.SGD([leaf(1.0)], lr=0.1)
    other = of.SequentialLR(again, [of.LinearLR(again), of.MultiStepLR(again, [3, 5])], [4])
    other.load_state_dict(bp.load(tmp_path / "state"))
    again.param_groups[0]["lr"] = optimizer.param_groups[0]["lr"]
    for _ in range(5):
        schedule.step()
        other.step()
        assert schedule.get_last_lr() == other.get_last_lr()
