#!/usr/bin/env python3
"""Holds networks under Autocast and runs of GradScaler against PyTorch's.

    tests/pytorch/compare_amp.py [--build build/release]

A network's values and gradients are as near to those in float64 as PyTorch's under bfloat16, and gradients have the weights'
dtypes; scales are the same numbers after each step. Exits 0, 1 if something differs, 77 without PyTorch.
"""

import argparse
import json
import mmap
import pathlib
import subprocess
import sys
import tempfile

from compare_rows import ROOT, torch  # first: it finds PyTorch
from call_files import read_tensor
from torch.nn import functional as F

SLACK = 2e-3  # of an error, besides twice PyTorch's own: half a step of bfloat16
SAME_LOSS = 2e-2  # of two trainings in float16


def mlp(t):
    out = F.linear(F.relu(F.linear(t["x"], t["w1"], t["b1"])), t["w2"], t["b2"])
    return {"out": out, "loss": F.cross_entropy(out, t["target"])}


def convolutions(t):
    maps = F.conv2d(t["x"], t["w1"], t["b1"])
    mean, variance = (made(6, dtype=t["scale"].dtype) for made in (torch.zeros, torch.ones))
    normed = F.batch_norm(maps, mean, variance, t["scale"], t["shift"], training=True)
    out = F.linear(F.max_pool2d(F.relu(normed), 2).flatten(1), t["w2"])
    return {"maps": maps, "out": out, "loss": F.mse_loss(out, t["target"])}


def attention(t):
    x = t["x"]
    normed = F.layer_norm(x, (16,), t["scale"], t["shift"])
    heads = F.linear(normed, t["qkv"]).reshape(2, 6, 3, 2, 8).permute(2, 0, 3, 1, 4)
    attended = F.scaled_dot_product_attention(*heads)
    y = x + F.linear(attended.permute(0, 2, 1, 3).reshape(2, 6, 16), t["w_out"])
    out = y + F.linear(F.gelu(F.linear(y, t["w1"])), t["w2"])
    return {"attended": attended, "out": out, "loss": (out.softmax(-1) * out).mean()}


NETWORKS = {"mlp": mlp, "convolutions": convolutions, "attention": attention}


def run_network(kind, constants, weights, dtype, casts):
    """{what: tensor}: results, and gradients by "d NAME"."""
    given = {name: value.to(dtype) if value.is_floating_point() else value for name, value in constants.items()}
    leaves = {name: value.to(dtype).clone().requires_grad_() for name, value in weights.items()}
    with torch.autocast("cpu", torch.bfloat16, enabled=casts):
        results = NETWORKS[kind]({**given, **leaves})
    results["loss"].backward()
    return {**{name: value.detach() for name, value in results.items()}, **{f"d {name}": leaf.grad for name, leaf in leaves.items()}}


def error_of(value, exact):
    return float((value.double() - exact).norm() / exact.norm().clamp_min(1e-12))


def compare_network(line, tensors):
    constants, weights = tensors(line["constants"]), tensors(line["weights"])
    ours = {**tensors(line["results"]), **{f"d {name}": value for name, value in tensors(line["gradients"]).items()}}
    theirs = run_network(line["network"], constants, weights, torch.float32, True)
    exact = run_network(line["network"], constants, weights, torch.float64, False)
    for what, value in ours.items():
        if what.startswith("d ") and value.dtype != weights[what[2:]].dtype:
            yield f"the gradient by {what[2:]} is {value.dtype}"
        own, peer = error_of(value, exact[what]), error_of(theirs[what], exact[what])
        if not own <= 2 * peer + SLACK:
            yield f"{what} is off by {own:.1e} of its norm, and PyTorch's by {peer:.1e}"


def compare_scaler(line):
    weight = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", **line["scaler"])
    steps = zip(line["overflows"], line["unscales"], line["scales"], line["trackers"], line["weights"])
    for step, (overflows, unscales, *ours) in enumerate(steps):
        optimizer.zero_grad()
        scaler.scale((weight * (float("inf") if overflows else 0.5)).sum()).backward()
        if unscales:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        theirs = [scaler.get_scale(), scaler.state_dict()["_growth_tracker"], float(weight.detach()[0])]
        if ours[:2] != theirs[:2] or abs(ours[2] - theirs[2]) > 1e-5 * abs(theirs[2]):
            yield f"scaler {line['scaler']}: scale, tracker and weight are {ours} after step {step}, and PyTorch's {theirs}"
            return


def compare_training(line, tensors):
    constants, leaves = tensors(line["constants"]), {name: value.requires_grad_() for name, value in tensors(line["weights"]).items()}
    optimizer = torch.optim.SGD(leaves.values(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", **line["training"])
    for step, (loss_here, scale_here) in enumerate(zip(line["losses"], line["scales"])):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = mlp({**constants, **leaves})["loss"]
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() != scale_here or abs(float(loss.detach()) - loss_here) > SAME_LOSS:
            yield (f"training: loss and scale are {loss_here} and {scale_here} after step {step}, and PyTorch's "
                   f"{float(loss.detach())} and {scaler.get_scale()}")
            return
    if not line["losses"][-1] < 0.1 * line["losses"][0]:
        yield f"training: the loss went from {line['losses'][0]} to {line['losses'][-1]} alone"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "amp")
        subprocess.run([options.build / "tests/write_amp", file], check=True)
        sys.exit(judge(file))


def judge(file):
    binary = open(f"{file}.bin", "rb")
    elements = mmap.mmap(binary.fileno(), 0, access=mmap.ACCESS_COPY)
    tensors = lambda entries: {name: read_tensor(entry, elements) for name, entry in entries.items()}
    lines = [json.loads(line) for line in open(f"{file}.json")]
    problems = []
    for line in lines:
        if "network" in line:
            problems += [f"{line['network']}: {problem}" for problem in compare_network(line, tensors)]
        elif "scaler" in line:
            problems += compare_scaler(line)
        else:
            problems += compare_training(line, tensors)
    for problem in problems:
        print(problem)
    print(f"pytorch: {len(lines)} networks and runs of scalers under Autocast, {len(problems)} differences")
    return 1 if problems else 0


if __name__ == "__main__":
    main()
