#!/usr/bin/env python3
"""Holds every module of nn/ against its namesake in torch.nn: state, outputs, gradients, what it prints.

    tests/pytorch/compare_modules.py [--build build/release] [--module NAME] [--verbose] [--write]

Python makes the module in float64, gives its parameters and buffers random numbers, and run_modules makes ours of the same
arguments, loads the state and calls it. Compared are the keys, shapes, dtypes and order of the state_dict, what
it prints, the results, the gradients by inputs and parameters, and the state after the call. Prints a line for each
module that differs and a verdict; --write makes docs/nn.md of it. Exits 0, 1 if something differs or the page is stale,
77 without PyTorch.
"""

import argparse
import collections
import json
import pathlib
import sys
import tempfile
import warnings

from compare_rows import ROOT, torch  # exits where PyTorch is missing

import module_page
from call_files import CallsFile, real
from judge import described, largest
from modules import all_cases

RELATIVE = 1e-12
# {module: (what of it is further off, by how much, why)}
KNOWN = {
    "CELU": ("gradient", 1e-7, "PyTorch takes 1 / alpha in float32"),
    "Hardsigmoid": ("gradient", 1e-7, "PyTorch takes 1/6 in float32"),
}


class CasesFile(CallsFile):
    def add(self, case, state, inputs, weights):
        line = {"module": case.name, "args": {name: self.plain(value) for name, value in case.args.items()},
                "training": case.training, "state": {name: self.tensor(tensor) for name, tensor in state.items()},
                "inputs": [None if one is None else self.tensor(one, lambda t: t.requires_grad, []) for one in inputs],
                "weights": [None if one is None else self.tensor(one) for one in weights]}  # fmt: skip
        self.lines.write(json.dumps(line) + "\n")
        self.num_calls += 1

    def plain(self, value):
        if isinstance(value, torch.Tensor):
            return {"tensor": self.tensor(value)}
        if isinstance(value, (list, tuple)):
            return [self.plain(one) for one in value]
        if callable(value):
            return value.__name__
        return real(value) if isinstance(value, float) else value


def with_random_state(module):
    """Ones and zeros would hide what a parameter does."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
        for name, buffer in module.named_buffers():
            if name.rpartition(".")[2].startswith("running_"):
                buffer.copy_(torch.rand_like(buffer) + 0.5)
            elif buffer.dtype == torch.int64:
                buffer.fill_(3)
    return module


def listed(results):
    """Tensors of nested results, in order."""
    if isinstance(results, torch.Tensor):
        return [results]
    if isinstance(results, (list, tuple)):
        return [tensor for one in results for tensor in listed(one)]
    return []


class Peer:
    """PyTorch's side of a case."""

    def __init__(self, case, seed):
        torch.manual_seed(seed)
        self.case, self.is_known = case, False
        make = case.make or getattr(torch.nn, case.name)
        self.module = with_random_state(make(**case.args)).train(case.training)
        self.inputs = case.inputs()
        self.before = {name: tensor.clone() for name, tensor in self.module.state_dict().items()}
        # Where the input is written in place, a leaf would refuse.
        given = [one.clone() if one is not None and one.requires_grad else one for one in self.inputs]
        results = case.called(self.module, given) if case.called else self.module(*given)
        self.results = listed(results)
        self.weights = [torch.randn_like(one) if one.requires_grad else None for one in self.results]
        self.gradients = self.derived()
        self.results = [one.detach() for one in self.results]
        self.after = {name: tensor.clone() for name, tensor in self.module.state_dict().items()}

    def derived(self):
        leaves = [one for one in self.inputs if one is not None and one.requires_grad]
        leaves += [one for one in self.module.parameters() if one.requires_grad]
        pairs = [(one, weight) for one, weight in zip(self.results, self.weights) if weight is not None]
        if not pairs:
            return [None] * len(leaves)
        outputs, weights = zip(*pairs)
        gradients = torch.autograd.grad(outputs, leaves, weights, allow_unused=True)
        return [torch.zeros_like(leaf) if one is None else one for leaf, one in zip(leaves, gradients)]


def closeness(ours, theirs, relative):
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return None
    if not ours.is_floating_point():
        return ours == theirs
    return torch.isclose(ours, theirs, rtol=relative, atol=relative * largest(theirs), equal_nan=True)


def differ(ours, theirs, relative=RELATIVE):
    """What differs, as a sentence; '' for nothing. No gradient is one of zeros."""
    if ours is None and theirs is not None:
        ours = torch.zeros_like(theirs)
    if theirs is None:
        return "" if ours is None or not ours.any() else "a gradient, and PyTorch has none"
    return described(ours, theirs, closeness(ours, theirs, relative))


def compare(peer, outcome):
    """What is wrong, as a sentence; '' for nothing."""
    case = peer.case
    if "ended" in outcome:
        return outcome["ended"]
    keys = [[name, list(one.shape), str(one.dtype).removeprefix("torch.")] for name, one in peer.before.items()]
    if "keys" in outcome and outcome["keys"] != keys:
        return f"the state_dict is {outcome['keys']} instead of {keys}"
    if "error" in outcome:
        return outcome["error"]
    text = peer.module.extra_repr()
    if outcome["text"] != text:
        return f"prints '{outcome['text']}' instead of '{text}'"
    if outcome["printed"] != str(peer.module):
        return f"prints as {outcome['printed']}"
    if case.check:
        return case.check(peer.module, peer.inputs, outcome)
    for (name, theirs), ours in zip(peer.after.items(), outcome["state"]):
        if problem := differ(ours, theirs):
            return f"{name} after the call: {problem}"
    ours, theirs = outcome["results"] + outcome["gradients"], peer.results + peer.gradients
    if len(outcome["results"]) != len(peer.results) or len(ours) != len(theirs):
        return f"{len(outcome['results'])} results and {len(ours)} with gradients instead of {len(peer.results)} and {len(theirs)}"
    if case.prepare:
        theirs = case.prepare(peer.module, peer.inputs, peer.results, peer.gradients)
        ours = case.prepare(peer.module, peer.inputs, outcome["results"], outcome["gradients"])
    for index, pair in enumerate(zip(ours, theirs)):
        if problem := differ(*pair):
            what = f"result {index}" if index < len(peer.results) else f"gradient {index - len(peer.results)}"
            known, relative, _ = KNOWN.get(case.name, ("", 0, ""))
            if not known or not what.startswith(known) or differ(*pair, relative):
                return f"{what}: {problem}"
            peer.is_known = True
    return ""


def run(build, cases):
    """{module: how many cases agree}, {module: [what is wrong]}, and the modules that differ as KNOWN says."""
    torch.set_default_dtype(torch.float64)
    agree, wrong, known = collections.Counter(), {}, set()
    with tempfile.TemporaryDirectory() as folder:
        file = CasesFile(pathlib.Path(folder, "cases"))
        peers = []
        for index, case in enumerate(cases):
            peers.append(Peer(case, index))
            file.add(case, peers[-1].before, peers[-1].inputs, peers[-1].weights)
        for peer, outcome in zip(peers, file.run(build / "tests/run_modules")):
            if problem := compare(peer, outcome):
                wrong.setdefault(peer.case.name, []).append(f"{peer.case.where}: {problem}")
            else:
                agree[peer.case.name] += 1
            if peer.is_known:
                known.add(peer.case.name)
    return agree, wrong, known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--module", help="this one alone")
    parser.add_argument("--verbose", action="store_true", help="every case that differs, not the first of a module")
    parser.add_argument("--write", action="store_true", help="make docs/nn.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    agree, wrong, known = run(options.build, [case for case in all_cases() if options.module in (None, case.name)])
    for name in KNOWN.keys() & agree.keys() - known:
        wrong[name] = [f"{name}: it does not differ any more; take it out of KNOWN"]
    for problems in wrong.values():
        for problem in problems if options.verbose else problems[:1]:
            print(f"{problem}{'' if options.verbose or len(problems) == 1 else f' (and {len(problems) - 1} more)'}")
    print(f"pytorch: {len(agree.keys() | wrong.keys())} modules in {agree.total() + sum(map(len, wrong.values()))} cases; "
          f"{len(wrong)} modules differ")  # fmt: skip
    stale = not options.module and not wrong and not module_page.is_current(agree, KNOWN, RELATIVE, options.write, options.build)
    sys.exit(1 if wrong or stale else 0)


if __name__ == "__main__":
    main()
