#!/usr/bin/env python3
"""Steps of PyTorch's optimizers over 200 small parameters, as bench/pairs/optimizers.cpp takes them: one figure a line."""

import json
import statistics
import time

import torch


def small_parameters():
    shapes = [(64,), (16, 16), (32, 32), (8, 32)]
    made = [torch.randn(shapes[i % 4], requires_grad=True) for i in range(200)]
    for each in made:
        each.grad = torch.randn(each.shape)
    return made


def sample_ns(count, call):
    start = time.perf_counter_ns()
    for _ in range(count):
        call()
    return (time.perf_counter_ns() - start) / count


def median_ns(call):
    """As measure.hpp has it."""
    count = 1
    while sample_ns(count, call) * count < 10e6:
        count *= 2
    return statistics.median(sample_ns(count, call) for _ in range(9))


def report(name, optimizer):
    print(json.dumps({"name": name, "value": median_ns(optimizer.step) / 1e3, "unit": "us"}), flush=True)


def main():
    torch.set_num_threads(1)
    parameters = small_parameters()
    for kind, how in {"foreach": {"foreach": True}, "fused": {"fused": True}}.items():
        report(f"adamw_200_small_{kind}", torch.optim.AdamW(parameters, **how))
        report(f"sgd_200_small_{kind}", torch.optim.SGD(parameters, lr=1e-6, momentum=0.9, **how))
    report("nadam_200_small_foreach", torch.optim.NAdam(parameters, lr=1e-6, foreach=True))


if __name__ == "__main__":
    main()
