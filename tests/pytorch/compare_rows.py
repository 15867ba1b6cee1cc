#!/usr/bin/env python3
"""Holds every row of the operator table against PyTorch, forward and backward, on the row's samples.

    tests/pytorch/compare_rows.py [--build build/release] [--row NAME] [--verbose]

Prints a line for each row that differs and a verdict; exits 0, 1 if a row differs, is compared on fewer than 20 calls
or has no peer, 77 without PyTorch.
"""

import argparse
import collections
import json
import mmap
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "build/peers/venv/bin/python"  # made by ./dev bench
SKIPPED = 77
LEAST_CALLS = 20

try:
    import torch
except ImportError:
    if PEERS.exists() and pathlib.Path(sys.executable) != PEERS:
        os.execv(PEERS, [str(PEERS), *sys.argv])
    print("pytorch: skipped: there is no PyTorch here; ./dev bench --peer pytorch installs it")
    sys.exit(SKIPPED)

from call_files import read_tensor
from differences import BESIDE_NAN, COARSE, KNOWN, ON_CUTS, WITHOUT_PEER, ZERO_SIGNS
from functions import RESULTS, called, function_of
from judge import closeness, described, is_as_good
from schemas import arguments_of


def read_calls(file):
    """Yields the calls; tensors are made from the other file."""
    binary = open(f"{file}.bin", "rb")
    elements = mmap.mmap(binary.fileno(), 0, access=mmap.ACCESS_COPY)
    schemas = {}
    for line in open(f"{file}.json"):
        call = json.loads(line)
        if "schema" in call:
            schemas[call["row"]] = call["schema"]
        else:
            yield Call(call, schemas[call["row"]], elements)


class Call:
    def __init__(self, call, schema, elements, is_widened=False):
        self.call, self.schema, self.elements, self.is_widened, self.leaves = call, schema, elements, is_widened, {}
        self.name, self.dtype = call["row"], call["dtype"]
        self.where = f"{self.name} ({call['recipe']}, {call['dtype']})"
        self.is_exact = call["tolerance"] == "exact"
        self.error = call.get("error")
        self.results = [self.tensor(result) for result in call["results"]]
        self.weights = [self.tensor(weight) for weight in call.get("weights", [])]
        self.gradients = [self.tensor(gradient) for gradient in call.get("gradients", [])]
        given = zip(arguments_of(schema), call.get("args") or [])
        self.named = {one.name: self.value(one.name, argument) for one, argument in given if one.name != "device"}

    def tensor(self, entry):
        return read_tensor(entry, self.elements)

    def leaf(self, entry):
        """One leaf for each tensor in the file, which may be several arguments."""
        if entry is None or entry["offset"] in self.leaves:
            return entry and self.leaves[entry["offset"]]
        made = self.tensor(entry)
        if self.is_widened and made.dtype == torch.float32:
            made = made.double()
        if made.is_floating_point() or made.is_complex():
            made.requires_grad_()
            if made.numel():
                self.leaves[entry["offset"]] = made
            else:
                self.leaves[len(self.leaves), "empty"] = made
        return made

    def value(self, name, argument):
        if argument is None:
            return None
        kind, value = next(iter(argument.items()))
        if kind == "tensor":
            return self.tensor(value) if name.startswith("running_") else self.leaf(value)
        if kind == "tensors":
            return [self.leaf(entry) for entry in value]
        if kind == "dtype":
            return getattr(torch, value)
        return float(value) if kind == "text_number" else value

    def widened(self):
        """The same with the arguments in float64."""
        return Call(self.call, self.schema, self.elements, True)


class Refused(Exception):
    """PyTorch takes less than we do there."""


def peer_values(call):
    """PyTorch's results and derivatives, [(what, tensor)]; no derivatives where it has none."""
    try:
        results = called(call.name, call.schema, call.named)
    except (RuntimeError, IndexError, ValueError, NotImplementedError) as error:
        raise Refused(error) from None
    results = [results] if isinstance(results, torch.Tensor) else list(results)
    values = [(f"result {index}", result.detach()) for index, result in enumerate(results[: len(call.results)])]
    if call.call.get("has_no_derivative") and any(r.requires_grad and type(r.grad_fn).__name__ != "NotImplemented" for r in results):
        return values + [("derivative", None)]
    outputs = [pair for pair in zip(results, call.weights) if pair[1] is not None and pair[0].requires_grad]
    leaves = list(call.leaves.values())
    # Derivatives at NaN and the infinities are as each side's formula happens to make them.
    if not outputs or len(leaves) != len(call.gradients) or call.call["recipe"] == "specials":
        return values
    results, weights = zip(*outputs)
    weights = [weight.to(result.dtype) for result, weight in outputs]
    try:
        gradients = torch.autograd.grad(results, leaves, weights, allow_unused=True)
    except (RuntimeError, IndexError):  # scatter's, of a source that is larger than the index; cumprod's, of a single number
        return values
    gradients = [torch.zeros_like(leaf) if g is None else g for leaf, g in zip(leaves, gradients)]
    return values + [(f"derivative by tensor {index}", gradient) for index, gradient in enumerate(gradients)]


def our_values(call):
    gradients = [torch.zeros_like(leaf) if g is None else g for leaf, g in zip(call.leaves.values(), call.gradients)]
    return call.results + gradients


def compare(call):
    """What is wrong, as a sentence; None if nothing."""
    theirs = peer_values(call)
    if call.error:
        return f"refused: {call.error}"
    if theirs[-1] == ("derivative", None):
        return "no derivative, and PyTorch has one"
    if len(theirs) < len(call.results):
        return f"{len(call.results)} results instead of {len(theirs)}"
    prepare = RESULTS.get(call.name, lambda call, values: values)
    peers, exact = prepare(call, [value for _, value in theirs]), None
    for index, (mine, (what, _), peer) in enumerate(zip(prepare(call, our_values(call)), theirs, peers)):
        tolerance = "exact" if call.is_exact and what.startswith("result") else "accumulation"
        close = closeness(mine, peer, tolerance)
        if close is not None and not close.all() and mine.dtype == torch.float32 and tolerance != "exact":
            exact = exact or prepare(call, [value for _, value in peer_values(call.widened())])
            as_good = is_as_good(mine, peer, exact[index], tolerance)
            close = close if as_good is None else close | as_good
        if close is not None and what.startswith("derivative") and call.name in ON_CUTS and mine.is_complex():
            close = close | (on_cut(call) & closeness(-mine, peer, tolerance))
        if close is not None and what.startswith("result") and call.name in BESIDE_NAN and mine.is_complex():
            close = close | peer.isnan()
        wrong = described(mine, peer, close)
        if wrong and not is_known(call, what, mine, peer, close):
            return f"{what}: {wrong}"
    return None


def on_cut(call):
    z = next(iter(call.leaves.values())).detach()
    beside, along = (z.real, z.imag) if ON_CUTS[call.name] else (z.imag, z.real)
    return (beside == 0) & (along.abs() > 1)


def is_known(call, what, ours, theirs, close):
    if any(call.name == row and (not recipe or call.call["recipe"] == recipe) and what.startswith(part)
           for row, recipe, part, _ in KNOWN):  # fmt: skip
        return True
    if close is None:
        return False
    relative = COARSE.get(call.name, 0) if ours.dtype == torch.float64 else 0
    return (relative > 0 or call.name in ZERO_SIGNS) and bool(
        (close | torch.isclose(ours, theirs, rtol=relative, atol=relative, equal_nan=True)).all())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--row", help="this one alone")
    parser.add_argument("--verbose", action="store_true", help="every call that differs, not the first of a row")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "calls")
        subprocess.run([options.build / "tests/write_calls", file], check=True)
        sys.exit(judge(file, options))


def judge(file, options):
    compared, backwards, refused, wrong = *(collections.Counter() for _ in range(3)), {}
    for call in read_calls(file):
        if call.name in WITHOUT_PEER or (options.row and call.name != options.row):
            continue
        if function_of(call.name) is None:
            wrong.setdefault(call.name, [f"{call.name}: PyTorch has no function of this name; add it to functions.py"])
            continue
        try:
            problem = compare(call)
        except Refused:
            refused[call.name] += 1
            continue
        except TypeError as error:
            problem = f"the arguments are not PyTorch's: {str(error).splitlines()[0]}"
        compared[call.name] += 1
        backwards[call.name] += bool(call.gradients)
        if problem:
            wrong.setdefault(call.name, []).append(f"{call.where}: {problem}")
    for name in compared | refused:
        if compared[name] < LEAST_CALLS:
            wrong.setdefault(name, []).append(f"{name}: {compared[name]} calls; at least {LEAST_CALLS}")
    for problems in wrong.values():
        for problem in problems if options.verbose else problems[:1]:
            print(f"{problem}{'' if options.verbose or len(problems) == 1 else f' (and {len(problems) - 1} more)'}")
    print(f"pytorch: {len(compared)} rows on {sum(compared.values())} calls, {sum(backwards.values())} of them backward, "
          f"{sum(refused.values())} more that PyTorch refuses; "
          f"{len(wrong)} rows differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    main()
