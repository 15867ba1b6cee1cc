#!/usr/bin/env python3
"""Holds optimizers and schedulers against PyTorch's: the same 100 steps, and states saved by either taken up by the other.

    tests/pytorch/compare_optimizers.py [--build build/release] [--case NAME] [--verbose]

Prints a line for each case that differs and a verdict; exits 0, 1 if one differs, 77 without PyTorch.
"""

import argparse
import collections
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import compare_rows  # leaves with 77 where there is no PyTorch
import torch
from compare_rows import ROOT
from optimizer_cases import CASES
from torch.optim import _muon, lr_scheduler, swa_utils

CLOSE = 1e-10  # relative to the largest number of a tensor
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (torch.float64, torch.float32, torch.complex128, torch.int64)}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
BF16_ITERATION = _muon._zeropower_via_newtonschulz


def exact_iteration(grad, ns_coefficients, ns_steps, eps):
    """Muon's iteration in the gradient's dtype: in bf16 two right programs agree to two digits."""
    a, b, c = ns_coefficients
    x = grad.T if grad.size(0) > grad.size(1) else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(ns_steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if grad.size(0) > grad.size(1) else x


class Problem:
    def __init__(self, case):
        generator = torch.Generator().manual_seed(case["seed"])
        self.skips, self.groups, self.parts = case["skips"], [], []
        for shapes in case["shapes"]:
            self.groups.append([])
            for shape in shapes:
                is_complex = "complex" in shape
                shape = [size for size in shape if size != "complex"] + [2] * is_complex
                value, target = (torch.randn(shape, generator=generator) for _ in range(2))
                weight = 0.5 + torch.rand(shape, generator=generator)
                part = {"value": value, "target": target, "weight": weight, "complex": is_complex, "shape": shape}
                self.parts.append(part)
                self.groups[-1].append(part)
        self.reset()

    def reset(self):
        for part in self.parts:
            value = part["value"].clone()
            part["leaf"] = (torch.view_as_complex(value).clone() if part["complex"] else value).requires_grad_()

    def as_json(self):
        tensors = ("value", "target", "weight")
        return [
            [{**{key: part[key].flatten().tolist() for key in tensors}, "complex": part["complex"], "shape": part["shape"]} for part in group]
            for group in self.groups
        ]

    def loss(self, step):
        total = torch.zeros(())
        for i, part in enumerate(self.parts):
            if self.skips and (step + i) % 5 == 4:
                continue
            p = torch.view_as_real(part["leaf"]) if part["complex"] else part["leaf"]
            total = total + (part["weight"] * (p - part["target"]).square()).sum() * 0.5 + (p * 3).sin().sum() * 0.1
        return total

    def snapshot(self):
        return [flat(part["leaf"]) for part in self.parts]


def flat(tensor):
    tensor = tensor.detach()
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).flatten().tolist()


def make_optimizer(case, problem):
    groups = [{"params": [part["leaf"] for part in group], **options} for group, options in zip(problem.groups, case["groups"])]
    if case["optimizer"] == "LBFGS":
        options = {key: value for key, value in groups[0].items() if key != "params"}
        return torch.optim.LBFGS(groups[0]["params"], **options)
    options = case["groups"][0] if len(groups) == 1 else {}
    return getattr(torch.optim, case["optimizer"])(groups, **options)


def make_scheduler(given, optimizer):
    options = {key: value for key, value in given.items() if key not in ("name", "schedulers", "bases")}
    name = given["name"]
    if "bases" in given:
        functions = [lambda epoch, base=base: base + (1 - base) / (1 + epoch) for base in given["bases"]]
        return getattr(lr_scheduler, name)(optimizer, functions if len(functions) > 1 else functions[0])
    if "schedulers" in given:
        parts = [make_scheduler(each, optimizer) for each in given["schedulers"]]
        return lr_scheduler.ChainedScheduler(parts) if name == "ChainedScheduler" else lr_scheduler.SequentialLR(optimizer, parts, **options)
    return getattr(swa_utils if name == "SWALR" else lr_scheduler, name)(optimizer, **options)


def as_json(value):
    """A state as run_optimizers reads it."""
    if isinstance(value, torch.Tensor):
        return {"tensor": flat(value), "shape": list(value.shape), "dtype": NAMES[value.dtype]}
    if isinstance(value, (dict, collections.Counter)):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(each) for each in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value if isinstance(value, (bool, int, float, str)) else None


def from_json(value):
    if isinstance(value, list):
        return [from_json(each) for each in value]
    if not isinstance(value, dict):
        return math.inf if value == "inf" else -math.inf if value == "-inf" else value
    if "tensor" not in value:
        return {int(key) if key.isdigit() else key: from_json(each) for key, each in value.items()}
    dtype = DTYPES[value["dtype"]]
    if dtype.is_complex:
        return torch.view_as_complex(torch.tensor(value["tensor"], dtype=torch.float64).reshape([*value["shape"], 2])).clone()
    return torch.tensor(value["tensor"], dtype=dtype).reshape(value["shape"])


class Run:
    """Steps of one case in PyTorch."""

    def __init__(self, case):
        _muon._zeropower_via_newtonschulz = exact_iteration if case["exact"] else BF16_ITERATION
        self.case, self.problem, self.steps = case, Problem(case), []
        self.optimizer = make_optimizer(case, self.problem)
        self.scheduler = make_scheduler(case["scheduler"], self.optimizer) if case["scheduler"] else None

    def step(self, at):
        def closure():
            self.optimizer.zero_grad()
            loss = self.problem.loss(at)
            loss.backward()
            return loss

        self.optimizer.step(closure)
        if isinstance(self.scheduler, lr_scheduler.ReduceLROnPlateau):
            self.scheduler.step(self.case["metrics"][at])
        elif self.scheduler:
            self.scheduler.step()
        self.steps.append({"params": self.problem.snapshot(), "rates": [self.rates(group) for group in self.optimizer.param_groups]})

    @staticmethod
    def rates(group):
        return [float(group["lr"]), *(as_json(group[name]) for name in ("momentum", "betas") if name in group)]

    def state(self):
        return {
            "optimizer": as_json(self.optimizer.state_dict()),
            "scheduler": as_json(self.scheduler.state_dict()) if self.scheduler else None,
            "params": self.problem.snapshot(),
        }

    def load_optimizer(self, saved):
        with torch.no_grad():
            for part, values in zip(self.problem.parts, saved["params"]):
                real = torch.view_as_real(part["leaf"]) if part["complex"] else part["leaf"]
                real.copy_(torch.tensor(values).reshape(real.shape))
        self.optimizer.load_state_dict(from_json(saved["optimizer"]))


def numbers_of(value):
    if isinstance(value, list):
        return [number for each in value for number in numbers_of(each)]
    return [float(value)]


def distance(ours, theirs):
    """The greatest distance, relative to the largest number."""
    ours, theirs = numbers_of(ours), numbers_of(theirs)
    if len(ours) != len(theirs):
        return math.inf
    scale = max((abs(number) for number in theirs), default=0) or 1
    gaps = [abs(a - b) / scale for a, b in zip(ours, theirs)]
    return math.inf if any(math.isnan(gap) for gap in gaps) else max(gaps, default=0)


def first_difference(ours, theirs, close):
    """None, or the first step that differs and by how much."""
    for at, (mine, other) in enumerate(zip(ours, theirs)):
        for what in ("rates", "params"):
            for a, b in zip(mine[what], other[what]):
                if not (gap := distance(a, b)) <= close:
                    return f"step {at}, {what}: {gap:.2g}"
    return None if len(ours) == len(theirs) else f"{len(ours)} steps and {len(theirs)}"


def keys_of(state):
    return {index: set(kept) for index, kept in state["state"].items()}, [set(group) for group in state["param_groups"]]


def missing_keys(ours, theirs):
    """Of states and options, what PyTorch has and we don't; `al` is room that LBFGS computes in."""
    (our_states, our_groups), (their_states, their_groups) = keys_of(ours), keys_of(theirs)
    lacks = [kept - our_states.get(index, set()) - {"al"} for index, kept in their_states.items()]
    lacks += [group - mine for group, mine in zip(their_groups, our_groups)]
    return sorted(set().union(*lacks))


def judge(case, found, run, state):
    """Sentences about what differs."""
    if "error" in found:
        return [found["error"]]
    half, close = case["half"], case["close"] or CLOSE
    compared = {
        "steps": (found["straight"], run.steps),
        "steps after loading its own state": (found["own"], run.steps[half:]),
        "steps after loading PyTorch's state": (found["theirs"], run.steps[half:]),
    }
    if not case["scheduler"]:  # theirs keep functions of Python's in their states
        taken_up = Run({**case, "scheduler": None})
        taken_up.load_optimizer(found["state"])
        for at in range(half, case["steps"]):
            taken_up.step(at)
        compared["PyTorch's steps after loading our state"] = (taken_up.steps, run.steps[half:])
    sentences = [f"{what}: {gap}" for what, pair in compared.items() if (gap := first_difference(*pair, close))]
    if lacks := missing_keys(found["state"]["optimizer"], state["optimizer"]):
        sentences.append(f"the state lacks {', '.join(lacks)}")
    return sentences


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--case", default="")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    torch.set_default_dtype(torch.float64)  # PyTorch keeps some numbers of its states in the default dtype
    torch.set_num_threads(1)
    cases = [case for case in CASES if args.case in case["name"]]
    runs = []
    for case in cases:
        run = Run(case)
        state = None
        for at in range(case["steps"]):
            if at == case["half"]:
                state = json.loads(json.dumps(run.state()))
            run.step(at)
        runs.append((run, state))
    with tempfile.TemporaryDirectory() as folder:
        given, written = pathlib.Path(folder, "cases"), pathlib.Path(folder, "found")
        with open(given, "w") as lines:
            for case, (run, state) in zip(cases, runs):
                print(json.dumps({**case, "params": Problem(case).as_json(), "state": state}), file=lines)
        subprocess.run([pathlib.Path(args.build, "tests/run_optimizers"), given, written], check=True)
        found = [json.loads(line) for line in open(written)]
    num_wrong = 0
    for case, line, (run, state) in zip(cases, found, runs):
        sentences = judge(case, line, run, state)
        num_wrong += bool(sentences)
        for sentence in sentences:
            print(f"{case['name']}: {sentence}")
        if args.verbose and not sentences:
            print(f"{case['name']}: alike")
    print(f"pytorch: {len(cases)} optimizers and schedulers, {num_wrong} differ")
    return 1 if num_wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
