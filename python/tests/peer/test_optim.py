"""Optimizers and schedulers walk where PyTorch's walk."""

import io
import math

import pytest
import torch

import backplane as bp

bp.device("cpu")
STEPS = 100
SHAPES = [(4, 3), (4,), (2, 3, 2), (), (1, 5)]

OPTIMIZERS = [
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "maximize": True, "momentum": 0.5, "weight_decay": 0.1}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-4, "weight_decay": 0.1}),
    ("Adam", {"amsgrad": True, "lr": 0.1}),
    ("Adam", {"maximize": True}),
    ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.01}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.7, 0.8)}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.02, "momentum": 0.8, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True}),
    ("RMSprop", {"momentum": 0.5}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.05, "etas": (0.4, 1.3), "step_sizes": (1e-4, 0.2)}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.05, "t0": 20, "weight_decay": 0.1, "lambd": 0.01}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "d": 2.0, "beta2_decay": -0.5}),
]


def both(dtype=torch.float64, shapes=SHAPES):
    torch.manual_seed(0)
    theirs = [torch.randn(shape, dtype=dtype).requires_grad_() for shape in shapes]
    ours = [ours_of(each).requires_grad_() for each in theirs]
    return theirs, ours


def ours_of(tensor):
    return bp.tensor(tensor.detach().numpy())


def gradients(theirs, step):
    """Of a loss that bends, with noise that is the same for both."""
    source = torch.Generator().manual_seed(step)
    noise = [torch.randn(each.shape, dtype=each.dtype, generator=source) for each in theirs]
    return [2 * (each.detach() - 0.5) + torch.sin(3 * each.detach().real) + 0.3 * n for each, n in zip(theirs, noise)]


def difference(theirs, ours):
    return max(
        float((a.detach() - torch.from_numpy(b.detach().numpy())).abs().max())
        for a, b in zip(theirs, ours)
        if a.numel()
    )


def walk(theirs, ours, optimizers, steps, first=0, skips=False):
    for step in range(first, first + steps):
        for place, (a, b, gradient) in enumerate(zip(theirs, ours, gradients(theirs, step))):
            is_left_out = skips and (step + place) % 3 == 0
            a.grad = None if is_left_out else gradient
            b.grad = None if is_left_out else ours_of(gradient)
        for each in optimizers:
            each.step()


def made(name, options, theirs, ours):
    return getattr(torch.optim, name)(theirs, **options), getattr(bp.optim, name)(ours, **options)


@pytest.mark.parametrize("name, options", OPTIMIZERS, ids=str)
@pytest.mark.parametrize("skips", [False, True], ids=["all", "some"])
def test_a_hundred_steps(name, options, skips):
    theirs, ours = both()
    walk(theirs, ours, made(name, options, theirs, ours), STEPS, skips=skips)
    assert difference(theirs, ours) < 1e-10


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta"])
def test_complex_parameters(name):
    theirs, ours = both(torch.complex128, [(3, 2), (2,)])
    options = {"lr": 0.05, **({"momentum": 0.9} if name in ("SGD", "RMSprop") else {})}
    walk(theirs, ours, made(name, options, theirs, ours), 30)
    assert difference(theirs, ours) < 1e-10


def test_groups_with_options_of_their_own():
    theirs, ours = both()
    groups = lambda p: [{"params": p[:2], "lr": 0.1}, {"params": iter(p[2:4]), "betas": (0.5, 0.6)}]  # noqa: E731
    optimizers = torch.optim.AdamW(groups(theirs), lr=0.01), bp.optim.AdamW(groups(ours), lr=0.01)
    walk(theirs, ours, optimizers, 20)
    for each, p in zip(optimizers, (theirs, ours)):
        each.add_param_group({"params": p[4], "weight_decay": 0.3})
    walk(theirs, ours, optimizers, 20, 20)
    assert difference(theirs, ours) < 1e-10


@pytest.mark.parametrize("name, options", OPTIMIZERS, ids=str)
def test_states_go_over_from_pytorch_and_back(name, options, tmp_path):
    theirs, ours = both()
    optimizers = made(name, options, theirs, ours)
    walk(theirs, ours, optimizers, 10)
    their, our = optimizers[0].state_dict(), optimizers[1].state_dict()
    assert set(their) == set(our) and set(their["state"]) == set(our["state"])
    for index, kept in their["state"].items():
        assert {k for k, v in kept.items() if v is not None} == {
            k for k, v in our["state"][index].items() if v is not None
        }
    assert set(their["param_groups"][0]) == set(our["param_groups"][0])

    # Theirs through a file of theirs to ours; ours through a file of ours to ours, and by values to theirs.
    torch.save(their, tmp_path / "their.pt")
    again = made(name, {}, theirs, ours)
    again[1].load_state_dict(bp.load(tmp_path / "their.pt"))
    walk(theirs, ours, (optimizers[0], again[1]), 10, 10)
    assert difference(theirs, ours) < 1e-10
    bp.save(again[1].state_dict(), tmp_path / "our")
    last = made(name, {}, theirs, ours)
    last[1].load_state_dict(bp.load(tmp_path / "our"))
    last[0].load_state_dict(torch_of(bp.load(tmp_path / "our")))
    walk(theirs, ours, last, 10, 20)
    assert difference(theirs, ours) < 1e-10


def torch_of(tree):
    if isinstance(tree, dict):
        return {key: torch_of(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(map(torch_of, tree))
    return torch.from_numpy(tree.numpy()).clone() if isinstance(tree, bp.Tensor) else tree


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"line_search_fn": "strong_wolfe"},
        {"lr": 0.3, "history_size": 3, "max_iter": 7},
        {"line_search_fn": "strong_wolfe", "max_iter": 5, "history_size": 2, "lr": 0.5},
    ],
    ids=str,
)
def test_lbfgs(options):
    theirs, ours = both()
    optimizers = made("LBFGS", options, theirs, ours)

    def closure_of(params, optimizer, lib):
        def closure():
            optimizer.zero_grad()
            loss = sum(((p * p - 1) ** 2).sum() + lib.exp(0.3 * p).sum() for p in params)
            loss.backward()
            return loss

        return closure

    for _ in range(6):
        losses = [
            float(each.step(closure_of(p, each, lib)).detach())
            for each, p, lib in zip(optimizers, (theirs, ours), (torch, bp))
        ]
        assert math.isclose(*losses, rel_tol=1e-8)
    assert difference(theirs, ours) < 1e-7
    their, our = optimizers[0].state_dict(), optimizers[1].state_dict()
    assert (
        set(their["state"][0]) - {"al"} == set(our["state"][0])
        and their["state"][0]["n_iter"] == our["state"][0]["n_iter"]
    )
    again = made("LBFGS", options, theirs, ours)[1]
    again.load_state_dict(our)
    again.step(closure_of(ours, again, bp))


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="PyTorch has no Muon")
@pytest.mark.parametrize("options", [{}, {"adjust_lr_fn": "match_rms_adamw", "nesterov": False}], ids=str)
def test_muon(options):
    theirs, ours = both(torch.float32, [(4, 3), (3, 4), (5, 5), (4, 3)])
    walk(theirs, ours, made("Muon", {"lr": 0.02, **options}, theirs, ours), 20)
    assert difference(theirs, ours) < 0.02  # of steps in bfloat16


SCHEDULERS = {
    "StepLR": [{"step_size": 7, "gamma": 0.5}],
    "MultiStepLR": [{"milestones": [5, 5, 30, 80], "gamma": 0.3}],
    "ExponentialLR": [{"gamma": 0.97}],
    "ConstantLR": [{}, {"factor": 0.2, "total_iters": 40}],
    "LinearLR": [{}, {"start_factor": 0.1, "end_factor": 0.7, "total_iters": 33}],
    "PolynomialLR": [{}, {"total_iters": 60, "power": 2.5}],
    "CosineAnnealingLR": [{"T_max": 50}, {"T_max": 13, "eta_min": 0.01}, {"T_max": 1}],
    "CosineAnnealingWarmRestarts": [{"T_0": 10}, {"T_0": 7, "T_mult": 2, "eta_min": 0.003}],
    "OneCycleLR": [
        {"max_lr": 0.5, "total_steps": 101},
        {"max_lr": [0.5, 0.2], "epochs": 11, "steps_per_epoch": 10, "three_phase": True},
        {"max_lr": 1.0, "total_steps": 150, "anneal_strategy": "linear", "pct_start": 0.1, "div_factor": 10},
    ],
    "CyclicLR": [
        {"base_lr": 0.01, "max_lr": 0.3, "step_size_up": 8},
        {"base_lr": [0.1, 0.01], "max_lr": [0.3, 0.2], "step_size_up": 5, "step_size_down": 9, "mode": "triangular2"},
        {"base_lr": 0.1, "max_lr": 0.3, "mode": "exp_range", "gamma": 0.98, "step_size_up": 10},
        {"base_lr": 0.1, "max_lr": 0.3, "scale_fn": lambda x: 1 / x, "step_size_up": 10, "cycle_momentum": False},
    ],
    "LambdaLR": [
        {"lr_lambda": lambda step: 1 / (1 + step)},
        {"lr_lambda": [lambda step: 0.9**step, lambda step: 1 + step]},
    ],
    "MultiplicativeLR": [{"lr_lambda": lambda step: 0.95 if step % 3 else 1.1}],
}


def pair(name="SGD"):
    theirs, ours = both()
    options = {"momentum": 0.9} if name == "SGD" else {}
    groups = lambda p: [{"params": p[:2], "lr": 0.1}, {"params": p[2:], "lr": 0.03}]  # noqa: E731
    return getattr(torch.optim, name)(groups(theirs), lr=0.1, **options), getattr(bp.optim, name)(
        groups(ours), lr=0.1, **options
    )


def options_of(optimizer):
    return [
        value
        for group in optimizer.param_groups
        for value in (group["lr"], group.get("momentum", 0), *group.get("betas", ()))
    ]


def compare(optimizers, schedulers, steps=STEPS, metrics=None):
    for step in range(steps):
        assert options_of(optimizers[1]) == pytest.approx(options_of(optimizers[0]), rel=1e-12, abs=1e-15), step
        assert schedulers[1].get_last_lr() == pytest.approx(
            [float(each) for each in schedulers[0].get_last_lr()], rel=1e-12, abs=1e-15
        )
        for optimizer, scheduler in zip(optimizers, schedulers):
            optimizer.step()
            scheduler.step(*(() if metrics is None else (metrics[step],)))


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize(
    "name, options", [(name, options) for name, all in SCHEDULERS.items() for options in all], ids=str
)
def test_rates(name, options, optimizer):
    optimizers = pair(optimizer)
    compare(
        optimizers,
        [getattr(lib.optim.lr_scheduler, name)(each, **options) for lib, each in zip((torch, bp), optimizers)],
    )


@pytest.mark.parametrize(
    "name, options", [(name, options) for name, all in SCHEDULERS.items() for options in all], ids=str
)
def test_schedulers_go_on_from_their_states(name, options):
    optimizers = pair()
    make = lambda lib, each: getattr(lib.optim.lr_scheduler, name)(each, **options)  # noqa: E731
    schedulers = [make(lib, each) for lib, each in zip((torch, bp), optimizers)]
    compare(optimizers, schedulers, 40)
    again = pair()[1]
    scheduler = make(bp, again)
    again.load_state_dict(optimizers[1].state_dict())
    scheduler.load_state_dict(schedulers[1].state_dict())
    compare((optimizers[0], again), (schedulers[0], scheduler), 10)
    # And from PyTorch's.
    last = pair()[1]
    scheduler = make(bp, last)
    last.load_state_dict({"state": {}, "param_groups": optimizers[0].state_dict()["param_groups"]})
    scheduler.load_state_dict(schedulers[0].state_dict())
    compare((optimizers[0], last), (schedulers[0], scheduler), 40)


@pytest.mark.parametrize("milestones", [[10, 40], [1, 2], [20, 90]], ids=str)
def test_sequences(milestones):
    optimizers, schedulers = pair(), []
    for lib, each in zip((torch, bp), optimizers):
        of = lib.optim.lr_scheduler
        parts = [
            of.LinearLR(each, total_iters=9),
            of.CosineAnnealingLR(each, T_max=30),
            of.ExponentialLR(each, gamma=0.9),
        ]
        schedulers.append(of.SequentialLR(each, parts, milestones))
    compare(optimizers, schedulers)


@pytest.mark.parametrize(
    "names",
    [
        ("ConstantLR", "StepLR", "LambdaLR"),
        ("PolynomialLR", "CosineAnnealingWarmRestarts", "MultiStepLR"),
        ("StepLR", "ConstantLR", "CosineAnnealingLR"),
    ],
    ids=str,
)
def test_other_sequences(names):
    optimizers, schedulers = pair(), []
    for lib, each in zip((torch, bp), optimizers):
        of = lib.optim.lr_scheduler
        schedulers.append(
            of.SequentialLR(each, [getattr(of, name)(each, **SCHEDULERS[name][0]) for name in names], [15, 50])
        )
    compare(optimizers, schedulers)


def test_chains():
    optimizers, schedulers = pair(), []
    for lib, each in zip((torch, bp), optimizers):
        of = lib.optim.lr_scheduler
        schedulers.append(
            of.ChainedScheduler(
                [of.ConstantLR(each, factor=0.1, total_iters=20), of.ExponentialLR(each, gamma=0.9)], each
            )
        )
    compare(optimizers, schedulers)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "max", "patience": 3, "factor": 0.5},
        {"threshold_mode": "abs", "threshold": 0.3, "patience": 2, "cooldown": 4, "min_lr": [0.001, 0.01]},
    ],
    ids=str,
)
def test_plateaus(options):
    optimizers = pair()
    schedulers = [
        lib.optim.lr_scheduler.ReduceLROnPlateau(each, **options) for lib, each in zip((torch, bp), optimizers)
    ]
    metrics = torch.randn(STEPS, generator=torch.Generator().manual_seed(3)).tolist()
    metrics[50] = float("nan")
    compare(optimizers, schedulers, metrics=metrics)


def test_a_whole_training_with_everything():
    theirs, ours = both()
    optimizers = torch.optim.AdamW(theirs, lr=0.1), bp.optim.AdamW(ours, lr=0.1)
    schedulers = [lib.optim.lr_scheduler.OneCycleLR(each, 0.3, STEPS) for lib, each in zip((torch, bp), optimizers)]
    for step in range(STEPS):
        walk(theirs, ours, optimizers, 1, step)
        for each in schedulers:
            each.step()
    assert difference(theirs, ours) < 1e-10
    buffer = io.BytesIO()
    torch.save(optimizers[0].state_dict(), buffer)
