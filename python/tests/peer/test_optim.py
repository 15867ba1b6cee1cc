"""Optimizers walk where PyTorch's walk."""

import math

import pytest
import torch

import backplane as bp

bp.device("cpu")
for lib in (torch, bp):
    lib.set_num_threads(1)
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


def test_a_whole_training_with_everything():
    theirs, ours = both()
    optimizers = torch.optim.AdamW(theirs, lr=0.1), bp.optim.AdamW(ours, lr=0.1)
    schedulers = [lib.optim.lr_scheduler.OneCycleLR(each, 0.3, STEPS) for lib, each in zip((torch, bp), optimizers)]
    for step in range(STEPS):
        walk(theirs, ours, optimizers, 1, step)
        for each in schedulers:
            each.step()
    assert difference(theirs, ours) < 1e-10
