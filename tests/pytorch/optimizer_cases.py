"""What compare_optimizers.py tries: optimizers with options by group, and schedulers over them."""

import zlib

SHAPES = [[[3], [2, 4]], [[4, 3], [5]]]  # by group
CASES = []


def case(name, optimizer, groups, shapes=None, **more):
    """`more` may have: scheduler, metrics, steps, half, close (how close, if not the usual), skips (steps without a gradient)."""
    CASES.append(
        {
            "name": name,
            "optimizer": optimizer,
            "groups": groups,
            "shapes": shapes or SHAPES[: len(groups)],
            "seed": zlib.crc32(name.encode()),
            "steps": 100,
            "half": 50,
            "skips": False,
            "scheduler": None,
            "metrics": [],
            "exact": True,
            "close": None,
            **more,
        }
    )


VARIANTS = {
    "SGD": [{"lr": 0.05}, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}, {"lr": 0.03, "momentum": 0.8, "dampening": 0.3},
            {"lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, {"lr": 0.001, "momentum": 0.5, "maximize": True}],
    "Adam": [{}, {"lr": 0.02, "betas": [0.8, 0.95], "weight_decay": 0.1}, {"lr": 0.02, "amsgrad": True, "eps": 1e-3},
             {"lr": 0.01, "weight_decay": 0.2, "decoupled_weight_decay": True}, {"maximize": True}],
    "AdamW": [{}, {"lr": 0.02, "betas": [0.7, 0.9], "weight_decay": 0.3}, {"lr": 0.02, "amsgrad": True}, {"maximize": True}],
    "NAdam": [{}, {"lr": 0.02, "weight_decay": 0.1}, {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True},
              {"momentum_decay": 0.1, "maximize": True}],
    "RAdam": [{}, {"lr": 0.02, "weight_decay": 0.1}, {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True},
              {"betas": [0.8, 0.9], "maximize": True}],
    "Adamax": [{}, {"lr": 0.02, "weight_decay": 0.1, "betas": [0.8, 0.9]}, {"maximize": True, "eps": 1e-3}],
    "Adagrad": [{}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}, {"lr": 0.1, "initial_accumulator_value": 0.5, "maximize": True}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1}, {"eps": 1e-3, "maximize": True}],
    "RMSprop": [{}, {"momentum": 0.9, "lr": 1e-3}, {"centered": True, "weight_decay": 0.1}, {"centered": True, "momentum": 0.5, "lr": 1e-3},
                {"alpha": 0.8, "maximize": True}],
    "Rprop": [{}, {"lr": 0.05, "etas": [0.3, 1.4], "step_sizes": [1e-4, 0.5]}, {"maximize": True, "step_sizes": [1e-6, 0.01]}],
    "ASGD": [{}, {"lambd": 0.01, "alpha": 0.6, "t0": 20, "weight_decay": 0.1}, {"t0": 0, "maximize": True, "lr": 1e-3}],
    "Adafactor": [{}, {"lr": 0.05, "beta2_decay": -0.6, "weight_decay": 0.1}, {"d": 2.0, "eps": [1e-5, 1e-2], "maximize": True}],
}
for name, variants in VARIANTS.items():
    for i, options in enumerate(variants):
        case(f"{name} {i}", name, [options])
    case(f"{name}, groups", name, [variants[1], variants[0]])
    # PyTorch's Adagrad begins its sums by the constructor's option, whatever the group's. Adafactor divides by roots
    # of means that come near 0 here, where rounding grows: PyTorch is as far from itself after loading our state.
    last = variants[0] if name in ("Adagrad", "Adafactor") else variants[-1]
    shorter = {"steps": 60, "half": 30, "close": 1e-9} if name == "Adafactor" else {}
    case(f"{name}, steps without a gradient", name, [variants[1], last], skips=True, **shorter)
    if name != "Adafactor":
        for i, options in enumerate(variants):
            case(f"{name} {i}, complex", name, [options], shapes=[[[3, "complex"], [4]]], steps=40, half=20)

MATRICES = [[[4, 3], [3, 4], [4, 3]], [[6, 2]]]
for i, options in enumerate([{}, {"nesterov": False, "weight_decay": 0.0}, {"adjust_lr_fn": "match_rms_adamw", "momentum": 0.8, "ns_steps": 3},
                             {"adjust_lr_fn": "spectral_unclamped", "ns_coefficients": [3.0, -3.2, 1.2]}]):
    case(f"Muon {i}", "Muon", [options, {"lr": 0.01}], shapes=MATRICES)
case("Muon in bf16", "Muon", [{"lr": 0.01}], shapes=MATRICES[:1], exact=False, steps=4, half=2, close=1e-2)

for i, options in enumerate([{"lr": 0.1, "max_iter": 4}, {"line_search_fn": "strong_wolfe", "max_iter": 3}, {"lr": 0.5, "history_size": 2, "max_iter": 2},
                             {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 2, "max_eval": 9, "lr": 0.2}]):
    options = {"max_eval": options["max_iter"] * 5 // 4, **options}
    # Near the minimum the search ends by comparing numbers that rounding has made.
    case(f"LBFGS {i}", "LBFGS", [options], steps=8, half=3, close=1e-8)
    case(f"LBFGS {i}, complex", "LBFGS", [options], shapes=[[[3, "complex"], [2, "complex"]]], steps=6, half=2, close=1e-8)

SCHEDULERS = [
    {"name": "StepLR", "step_size": 7, "gamma": 0.7},
    {"name": "MultiStepLR", "milestones": [3, 20, 20, 71], "gamma": 0.5},
    {"name": "ExponentialLR", "gamma": 0.97},
    {"name": "ConstantLR", "factor": 0.25, "total_iters": 9},
    {"name": "LinearLR", "start_factor": 0.1, "end_factor": 0.8, "total_iters": 60},
    {"name": "PolynomialLR", "total_iters": 80, "power": 2.0},
    {"name": "CosineAnnealingLR", "T_max": 30, "eta_min": 0.001},
    {"name": "CosineAnnealingWarmRestarts", "T_0": 10, "T_mult": 2, "eta_min": 0.002},
    {"name": "CosineAnnealingWarmRestarts", "T_0": 9},
    {"name": "LambdaLR", "bases": [0.5, 0.1]},
    {"name": "MultiplicativeLR", "bases": [0.97]},
    {"name": "OneCycleLR", "max_lr": [0.1, 0.05], "total_steps": 101},
    {"name": "OneCycleLR", "max_lr": 0.1, "total_steps": 120, "three_phase": True, "anneal_strategy": "linear", "pct_start": 0.4},
    {"name": "CyclicLR", "base_lr": 0.001, "max_lr": [0.1, 0.05], "step_size_up": 11},
    {"name": "CyclicLR", "base_lr": 0.01, "max_lr": 0.1, "step_size_up": 8, "step_size_down": 13, "mode": "triangular2"},
    {"name": "CyclicLR", "base_lr": 0.01, "max_lr": 0.1, "step_size_up": 8, "mode": "exp_range", "gamma": 0.98, "cycle_momentum": False},
    {"name": "SWALR", "swa_lr": [0.02, 0.3]},
    {"name": "SWALR", "swa_lr": 0.02, "anneal_epochs": 30, "anneal_strategy": "linear"},
    {"name": "SWALR", "swa_lr": 0.02, "anneal_epochs": 0},
    {"name": "SequentialLR", "milestones": [10, 60], "schedulers": [
        {"name": "LinearLR", "total_iters": 10}, {"name": "CosineAnnealingLR", "T_max": 50}, {"name": "ExponentialLR", "gamma": 0.9}]},
    {"name": "SequentialLR", "milestones": [20], "schedulers": [
        {"name": "ConstantLR", "total_iters": 20}, {"name": "CosineAnnealingWarmRestarts", "T_0": 15}]},
    {"name": "SequentialLR", "milestones": [5, 30, 70], "schedulers": [
        {"name": "PolynomialLR", "total_iters": 9}, {"name": "StepLR", "step_size": 4}, {"name": "MultiStepLR", "milestones": [3, 8]},
        {"name": "LambdaLR", "bases": [0.2]}]},
    {"name": "ChainedScheduler", "schedulers": [{"name": "ConstantLR", "total_iters": 12}, {"name": "ExponentialLR", "gamma": 0.98},
                                                {"name": "StepLR", "step_size": 30}]},
]
for i, scheduler in enumerate(SCHEDULERS):
    name = scheduler["name"]
    case(f"{name} ({i})", "SGD", [{"lr": 0.04, "momentum": 0.5}, {"lr": 0.02, "momentum": 0.7}], scheduler=scheduler)
    # SWALR finds the rate that it began with by dividing by what is left of the annealing: by almost 0 at its end.
    case(f"{name} ({i}) over AdamW", "AdamW", [{"lr": 0.04}, {"lr": 0.02, "betas": [0.7, 0.9]}], scheduler=scheduler,
         close=1e-9 if name == "SWALR" else None)
FALLING = [1 / (1 + step % 40) for step in range(100)]
for i, options in enumerate([{"patience": 3}, {"patience": 1, "cooldown": 5, "factor": 0.5, "min_lr": [0.01, 0.001]},
                             {"mode": "max", "threshold_mode": "abs", "threshold": 0.02, "patience": 4}]):
    case(f"ReduceLROnPlateau {i}", "SGD", [{"lr": 0.04}, {"lr": 0.02}], scheduler={"name": "ReduceLROnPlateau", **options}, metrics=FALLING)
