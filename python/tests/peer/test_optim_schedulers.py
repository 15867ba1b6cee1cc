"""Schedulers set the rates that PyTorch's set."""

import pytest
import torch

import backplane as bp

STEPS = 100
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
    theirs = [torch.ones(2, dtype=torch.float64).requires_grad_() for _ in range(3)]
    ours = [bp.ones(2, dtype=bp.float64).requires_grad_() for _ in range(3)]
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
