#!/usr/bin/env python3
"""Replays autograd's random programs in PyTorch: values, first and second derivatives, and which programs throw.

    tests/pytorch/compare_programs.py [--build build/release] [--programs 500] [--seed 1] [--verbose]

Where PyTorch works, so must we; where it refuses, we may do more. Prints each kind of difference with its shortest
program and a verdict; exits 0, 1 if a program differs, 77 without PyTorch.
"""

import argparse
import collections
import contextlib
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import compare_rows  # leaves with 77 where there is no PyTorch
import torch
import torch.nn.functional as F
from compare_rows import ROOT
from differences import COARSE
from functions import FUNCTIONS, called
from schemas import arguments_of

NAMES = {"f64": torch.float64, "f32": torch.float32, "i64": torch.int64, "boolean": torch.bool, "inf": math.inf}

# Programs that only we refuse, by our error, and why.
ALLOWED_ERRORS = {
    "made before it took part in derivatives": "a view from before the record: documented, with a way out",
    "backward through native_": "functions.py puts these together of others, which keep other tensors",
    "backward through tanhshrink": "PyTorch takes tanh off, which keeps its result",
    "backward through ndtr": "PyTorch puts it together of others, which keep other tensors",
}
# Rows that PyTorch computes on what it may have copied, so that the argument may be written afterwards.
COPYING_ROWS = {"kron"}
# How much further off PyTorch may be behind these rows: batch_norm's derivative is that far from the differences of its own
# results, where terms cancel, and of the others it knows seven digits of float64; ours is right.
INACCURATE_ROWS = {"batch_norm": 1e4, **{row: 100 for row in COARSE}}
# Rows whose derivative is not PyTorch's, or up to a choice among equals; see KNOWN in differences.py.
ALLOWED_ROWS = {"scatter", "index_put", "put", "index_copy", "nextafter"}
# Rows that PyTorch derives by their first tensor alone, without a word where the target needs a derivative too.
ONE_SIDED_ROWS = {"soft_margin_loss"}
# Rows whose results are constants to PyTorch, without a word.
UNDERIVED_ROWS = {"scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0", "airy_ai", r"\w+_polynomial_\w+"}
# Rows that no derivative is compared through.
UNHELD_ROWS = "|".join(ALLOWED_ROWS | ONE_SIDED_ROWS | UNDERIVED_ROWS)
# Rows whose second derivative is NaN in PyTorch at 0, or where a norm is; ours is finite.
FINITE_ROWS = {"copysign", "norm", "cosine_similarity", "pairwise_distance", "cdist", "normalize", "mean_variance_normalization"}
CHOOSING_ROWS = {"sort", "quantile", "kthvalue", "topk", "max_pool", "adaptive_max_pool"}

VIEWS = {
    "view": lambda a, size: a.view(size),
    "reshape": lambda a, shape: a.reshape(shape),
    "flatten": lambda a, start=0, end=-1: a.flatten(start, end),
    "transpose": lambda a, dim0, dim1: a.transpose(dim0, dim1),
    "permute": lambda a, dims: a.permute(dims),
    "slice": FUNCTIONS["slice"],
    "select": lambda a, dim, index: a.select(dim, index),
    "narrow": lambda a, dim, start, length: a.narrow(dim, start, length),
    "expand": lambda a, size: a.expand(size),
    "squeeze": lambda a, dim=None: a.squeeze() if dim is None else a.squeeze(dim),
    "unsqueeze": lambda a, dim: a.unsqueeze(dim),
    "as_strided": lambda a, size, stride, offset=None: torch.as_strided(a, size, stride, offset),
    "unfold": lambda a, dim, size, step: a.unfold(dim, size, step),
    "diagonal": lambda a, offset=0, dim1=0, dim2=1: a.diagonal(offset, dim1, dim2),
    "detach": lambda a: a.detach(),
    "split": lambda a, size, dim: a.split(size, dim),
    "chunk": lambda a, chunks, dim: a.chunk(chunks, dim),
    "unbind": lambda a, dim=0: a.unbind(dim),
    "split_with_sizes": lambda a, sizes, dim=0: a.split(sizes, dim),
}
IN_PLACE = {
    "relu_": torch.relu_,
    "elu_": F.elu_,
    "leaky_relu_": F.leaky_relu_,
    **{f"{name}_": lambda a, name=name: getattr(F, name)(a, inplace=True) for name in ("silu", "hardswish", "hardsigmoid")},
}


class LiesOtherwise(Exception):
    """A reshape copies where the other side's shows the same memory."""


class Replay:
    """A program's run: a mapping of names for eval."""

    def __init__(self, line, schemas):
        self.line, self.schemas = line, schemas
        self.steps = [step for step in line["program"].splitlines() if step]

    def forward(self):
        self.variables, self.leaves, self.retained, self.loss, self.has_copies = {}, [], {}, None, False
        self.sources, self.unheld = {}, {}
        for step in self.steps:
            under_no_grad = step.startswith("nograd: ")
            names, _, call = step.removeprefix("nograd: ").rpartition(" = ")
            if call.startswith("retain_grad("):
                retained = call[len("retain_grad(") : -1]
                self.retained[retained] = self.variables[retained]
            with torch.no_grad() if under_no_grad else contextlib.nullcontext():
                results = eval(call, {"__builtins__": {}}, self)
                if names:
                    results = list(results) if isinstance(results, (tuple, list)) else [results]
                    for name, result in zip(names.split(", "), results):
                        self.variables[name] = self.settled(name, call, result)
            self.follow(names.split(", ") if names else [], call)

    def follow(self, names, call):
        """Keeps the variables that each depends on, and those of which it does through a row of UNHELD_ROWS."""
        row, _, given = call.partition("(")
        given = [name for name in re.findall(r"\w+", given) if name in self.variables]
        sources, unheld = (set().union(*(known.get(name, ()) for name in given)) for known in (self.sources, self.unheld))
        if re.fullmatch(UNHELD_ROWS, row):
            unheld |= sources
        if row.endswith(("_", "_out")):  # so does all that shows the memory
            names = [*names, *(name for name, one in self.variables.items() if same_memory(one, self.variables[given[0]]))]
        for name in names or [row]:
            self.sources[name] = self.sources.get(name, {name}) | sources
            self.unheld[name] = self.unheld.get(name, set()) | unheld

    def settled(self, name, call, result):
        """A result as ours lies: rows make new dense memory, and views do not."""
        row = call.partition("(")[0]
        shares = [v for v in self.variables.values() if same_memory(v, result)]
        if name in self.line["views"] and self.line["views"][name] != bool(shares):
            raise LiesOtherwise
        if row in VIEWS:
            is_same = any(v is result for v in shares)  # flatten's and reshape's argument itself
            return result.view(result.shape) if is_same else result
        if not shares and result.is_contiguous() and not result._is_view():
            return result
        self.has_copies = True
        return result.clone(memory_format=torch.contiguous_format)

    def __getitem__(self, name):
        if name in self.variables:
            return self.variables[name]
        if name in NAMES:
            return NAMES[name]
        named = {"leaf": self.make_leaf, "data": self.make, "retain_grad": lambda tensor: tensor.retain_grad(), "loss": self.add_up,
                 "throws": lambda: None, **VIEWS, **IN_PLACE}
        if name in named:
            return named[name]
        if name.endswith("_out"):
            return lambda out, *args: out.copy_(self.row(name[:-4])(*args))
        if name.endswith("_"):
            return self.in_place(name)
        return self.row(name)

    def make(self, dtype, shape, values):
        if isinstance(values, int):
            count = math.prod(shape)
            values = [0.5 + 1.5 * uniform(values, element) for element in range(count)] if dtype.is_floating_point else [0] * count
        return torch.tensor(values, dtype=torch.float64).to(dtype).reshape(shape).clone()

    def make_leaf(self, dtype, shape, values):
        self.leaves.append(self.make(dtype, shape, values).requires_grad_())
        return self.leaves[-1]

    def add_up(self, *outputs):
        parts = [weighted(output, 0.37, 0.7 * k + 0.2) for k, output in enumerate(outputs)]
        self.loss = sum(parts[1:], parts[0])

    def in_place(self, name):
        if hasattr(torch.Tensor, name):
            return lambda a, *args: getattr(a, name)(*args)
        return lambda a, *args: a.copy_(self.row(name[:-1])(a, *args))

    def row(self, name):
        if name == "cast":
            return lambda a, dtype: a.to(dtype, copy=True)
        names = [one.name for one in arguments_of(self.schemas[name])]
        return lambda *args: called(name, self.schemas[name], dict(zip(names, args)))


def same_memory(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def uniform(seed, element):
    mask = (1 << 64) - 1
    z = (seed * 1_000_003 + element + 1) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return ((z ^ z >> 31) >> 11) * 2.0**-53


def weighted(tensor, by_element, phase):
    """sum(tensor * weights), as the other side."""
    places = torch.arange(tensor.numel(), dtype=torch.float64).reshape(tensor.shape)
    return (tensor.to(torch.float64) * torch.cos(by_element * places + phase)).sum()


def or_zeros(gradients, like):
    return [torch.zeros_like(tensor) if gradient is None else gradient for gradient, tensor in zip(gradients, like)]


def problem_of(line, schemas):
    """(kind, sentence) of what differs; None if nothing. Throws what PyTorch does."""
    replay = Replay(line, schemas)
    replay.forward()
    first = torch.autograd.grad(replay.loss, replay.leaves, create_graph=True, allow_unused=True)
    values = {name: variable.detach() for name, variable in replay.variables.items()}
    error = line.get("error", "")
    if any(reason in error for reason in ALLOWED_ERRORS):
        return None
    if "was written in place" in error and any(re.search(rf"\b{row}\(", line["program"]) for row in COPYING_ROWS | UNDERIVED_ROWS):
        return None
    if "its result" in error and replay.has_copies:  # what PyTorch keeps is not what was written here
        return None
    if "error" in line and not line["error"].startswith("second"):
        return re.sub(r"\d+", "#", line["error"]), f"only we refuse: {line['error']}"
    coarseness = inaccuracy(line, COARSE)
    is_choosing = any(row in line["program"] for row in CHOOSING_ROWS)
    for name, theirs in values.items():
        if is_choosing and theirs.dtype == torch.int64:
            continue
        if wrong := differ(line["values"][name], theirs, line, coarseness):
            return "values", f"{name}: {wrong}"
    if is_choosing and (not line["is_smooth"] or replay.retained):
        return None
    leaves = [name for name, one in replay.variables.items() if any(one is leaf for leaf in replay.leaves)]
    for index, theirs in enumerate(or_zeros(first, replay.leaves)):
        if "kl_div(" in line["program"] and theirs.isnan().any():  # ours is finite where the target is 0
            return None
        if leaves[index] in replay.unheld["loss"]:
            continue
        if wrong := differ(line["first"][index], theirs.detach(), line, inaccuracy(line)):
            return "first derivative", f"by leaf {index}: {wrong}"
    return problem_of_second(line, replay, first) or problem_of_retained(line, replay)


def problem_of_second(line, replay, first):
    if replay.unheld["loss"]:  # the weights meet what is not held
        return None
    parts = [weighted(g, 0.91, 1.3 * k + 0.5) for k, g in enumerate(first) if g is not None]
    second = [None] * len(first)
    if parts and sum(parts).requires_grad:
        try:
            second = torch.autograd.grad(sum(parts), replay.leaves, allow_unused=True)
        except RuntimeError:  # no derivative of the derivative
            return None
    if "error" in line:
        return re.sub(r"\d+", "#", line["error"]), f"only we refuse: {line['error']}"
    for index, theirs in enumerate(or_zeros(second, replay.leaves)):
        if any(f"{row}(" in line["program"] for row in FINITE_ROWS) and theirs.isnan().any():
            return None
        if wrong := differ(line["second"][index], theirs, line, 10 * inaccuracy(line)):
            return "second derivative", f"by leaf {index}: {wrong}"
    return None


def problem_of_retained(line, replay):
    if not replay.retained:
        return None
    replay.forward()
    replay.loss.backward()
    for name, tensor in replay.retained.items():
        if name in replay.unheld["loss"] or is_view_written_later(line["program"], name):
            continue
        theirs = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
        if wrong := differ(line["retained"][name], theirs, line, inaccuracy(line)):
            return "retained gradient", f"of {name}: {wrong}"
    return None


def inaccuracy(line, rows=INACCURATE_ROWS):
    return max([1.0, *(INACCURATE_ROWS[row] for row in rows if f"{row}(" in line["program"])])


def is_view_written_later(program, name):
    """PyTorch keeps the gradient of a view's old values too, if its base is written after retain_grad."""
    made = program.partition(f"{name} = ")[2]
    later = program.partition(f"retain_grad({name})")[2]
    return made.partition("(")[0] in VIEWS and re.search(r"^(nograd: )?\w+_\(", later, re.MULTILINE) is not None


def differ(ours, theirs, line, more=1):
    ours = torch.tensor([math.nan if value is None else value for value in ours], dtype=torch.float64)
    theirs = theirs.to(torch.float64).flatten()
    if ours.shape != theirs.shape:
        return f"{ours.numel()} elements instead of {theirs.numel()}"
    allowed = (1e-3 if line["is_narrow"] else 1e-7) * more
    close = torch.isclose(ours, theirs, rtol=allowed, atol=allowed, equal_nan=True)
    if bool(close.all()):
        return None
    at = int((~close).nonzero()[0])
    return f"element {at}: {ours[at].item()!r} instead of {theirs[at].item()!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="what PyTorch refuses, and why")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "programs.json")
        subprocess.run([options.build / "tests/write_programs", file, str(options.programs), str(options.seed)], check=True)
        sys.exit(judge(file, options))


def judge(file, options):
    lines = open(file)
    schemas = json.loads(next(lines))["schemas"]
    compared, otherwise, refused, found = 0, 0, collections.Counter(), {}
    for line in map(json.loads, lines):
        if line["lies_otherwise"]:
            otherwise += 1
            continue
        try:
            problem = problem_of(line, schemas)
            compared += 1
            if line["throws"] and not problem:
                problem = "no error in PyTorch", "PyTorch does this, and so should we"
        except LiesOtherwise:
            otherwise += 1
            continue
        except Exception as error:  # what PyTorch refuses, in whatever class
            refused[re.sub(r"\d+", "#", f"{type(error).__name__}: {error}")[:150]] += 1
            continue
        if problem:
            found.setdefault(problem[0], []).append((len(line["program"]), line, problem[1]))
    for kind, all_of in sorted(found.items()):
        _, line, sentence = min(all_of, key=lambda one: one[0])
        print(f"# {kind} ({len(all_of)} times), {line['where']}\n# {sentence}\n{line['program']}")
    if options.verbose:
        for reason, count in refused.most_common():
            print(f"# {count} times PyTorch refuses: {reason}")
    print(f"pytorch: {compared} programs compared, {sum(refused.values())} that PyTorch refuses, "
          f"{otherwise} that lie otherwise in memory; {sum(map(len, found.values()))} differ")
    return 1 if found else 0


if __name__ == "__main__":
    main()
