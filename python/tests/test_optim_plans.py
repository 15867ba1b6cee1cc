"""A step's calls are planned once: whatever changes between steps, the result is that of a plan made again."""

import copy
import gc
import random

import backplane as bp
import pytest
from backplane import optim

NAMES = [name for name in optim.__all__ if name not in ("LBFGS", "Optimizer", "lr_scheduler", "swa_utils")]


def made(name, dtype=bp.float32):
    bp.manual_seed(7)
    leaves = [bp.randn(3, 4, dtype=dtype).requires_grad_() for _ in range(5)]
    options = {} if name in ("ASGD",) else {"lr": 0.01}
    if name == "SGD":
        options["momentum"] = 0.9
    return leaves, getattr(optim, name)([{"params": leaves[:3]}, {"params": leaves[3:]}], **options)


def changes(choose, leaves, optimizer):
    """One of the things that a user does between two steps."""
    kind, leaf = choose.randrange(8), choose.randrange(5)
    group = optimizer.param_groups[choose.randrange(2)]
    if kind == 0:
        group["lr"] = choose.random() * 0.1
    elif kind == 1:
        optimizer.state.pop(leaves[leaf], None)
    elif kind == 2:
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    elif kind == 3:
        leaves[leaf].grad, is_single = None, leaves[leaf].dtype == bp.float32
        leaves[leaf].data = leaves[leaf].data.double() if is_single else leaves[leaf].data.float()
    elif kind == 4:
        leaves[leaf].data = bp.empty(4, 3, dtype=leaves[leaf].dtype).T.copy_(leaves[leaf].data)
    elif kind == 5:
        group["params"].reverse()
    elif kind == 6 and "momentum" in group and optimizer.__class__ is optim.SGD:
        group["momentum"] = choose.choice([0, 0.5])
    elif kind == 7 and len(group["params"]) > 1:
        other = optimizer.param_groups[1 - optimizer.param_groups.index(group)]
        other["params"].append(group["params"].pop())


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_plan_steps_as_a_new_one(name):
    sides = [made(name), made(name)]
    for step in range(40):
        for is_fresh, (leaves, optimizer) in enumerate(sides):
            choose = random.Random(step)
            if choose.random() < 0.5:
                changes(choose, leaves, optimizer)
            for i, leaf in enumerate(leaves):
                leaf.grad = None if choose.random() < 0.1 else (leaf.detach() * (i + 1) + 0.1)
            if is_fresh:
                optimizer._plans.clear()
            optimizer.step()
        for ours, theirs in zip(sides[0][0], sides[1][0]):
            assert ours.dtype == theirs.dtype and bp.equal(ours, theirs), step


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_steps_are_planned_once(name):
    leaves, optimizer = made(name)
    plans = []
    for _ in range(5):
        for leaf in leaves:
            leaf.grad = bp.ones(3, 4)
        optimizer.step()
        plans.append(dict(optimizer._plans))
    assert all(plans[-1][key] is plans[-2][key] for key in plans[-1]) and len(plans[-1]) == 2


def test_gradients_and_parameters_are_not_kept_alive():
    import weakref

    leaves, optimizer = made("SGD")
    for leaf in leaves:
        leaf.grad = bp.ones(3, 4)
    optimizer.step()
    optimizer.step()
    gradient, gone = weakref.ref(leaves[0].grad), weakref.ref(leaves[0])
    optimizer.zero_grad()
    assert gradient() is None and all(leaf.grad is None for leaf in leaves)
    del leaves, leaf, optimizer
    gc.collect()
    assert gone() is None


def test_a_group_taken_away_lets_its_parameters_go():
    import weakref

    kept, gone = (bp.ones(3, 4).requires_grad_() for _ in range(2))
    optimizer = bp.optim.SGD([{"params": [kept]}, {"params": [gone]}], lr=0.1)
    kept.grad, gone.grad = bp.ones(3, 4), bp.ones(3, 4)
    optimizer.step()
    gone.grad = None
    optimizer.state.pop(gone, None)
    optimizer.param_groups.pop()
    left = weakref.ref(gone)
    del gone
    optimizer.step()
    gc.collect()
    assert left() is None


@pytest.mark.parametrize("set_to_none", [False, True])
def test_a_frozen_parameter_is_passed_by(set_to_none):
    frozen, free = (bp.ones(2).requires_grad_() for _ in range(2))
    optimizer = bp.optim.SGD([frozen, free], lr=0.5)
    (frozen.sum() + free.sum()).backward()
    frozen.requires_grad_(False)
    optimizer.step()
    optimizer.zero_grad(set_to_none=set_to_none)
    free.sum().backward()
    optimizer.step()
    assert frozen.tolist() == [1, 1] and free.tolist() == [0, 0]
