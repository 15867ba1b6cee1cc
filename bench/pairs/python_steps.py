#!/usr/bin/env python3
"""What a Python program pays for a call and for training steps, one figure a line: python_steps.py backplane, or torch.

Both packages have the same names, so that both sides run these very lines; each is measured by the interpreter that has it.
"""

import importlib
import json
import statistics
import sys
import time

package = importlib.import_module(sys.argv[1])
nn, optim = (importlib.import_module(f"{sys.argv[1]}.{part}") for part in ("nn", "optim"))


def sample_ns(count, call):
    start = time.perf_counter_ns()
    for _ in range(count):
        call()
    return (time.perf_counter_ns() - start) / count


def report(name, call):
    """As measure.hpp has it."""
    count = 1
    while sample_ns(count, call) * count < 10e6:
        count *= 2
    us = statistics.median(sample_ns(count, call) for _ in range(15)) / 1e3
    print(json.dumps({"name": f"python_{name}", "value": us, "unit": "us"}), flush=True)


def step_of(network, optimizer, x, y):
    def step():
        loss = nn.functional.cross_entropy(network(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def mlp():
    network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    return step_of(network, optimizer, package.rand(32, 64), package.randint(0, 10, (32,)))


def digits():
    """The network of pairs/training.cpp, which the main job had when its budget was set."""
    network = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 16, 10),
    )
    optimizer = optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    return step_of(network, optimizer, package.rand(32, 1, 8, 8), package.randint(0, 10, (32,)))


def wider_digits():
    """The network of examples/python/digits.py, its optimizer and its batch: five times the multiplications."""
    network = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 16, 10),
    )
    optimizer = optim.AdamW(network.parameters(), lr=2e-3, weight_decay=0.01)
    return step_of(network, optimizer, package.rand(64, 1, 8, 8), package.randint(0, 10, (64,)))


def main():
    package.manual_seed(1)
    one = package.ones(1)
    report("add_1_element", lambda: one + one)
    report("mlp_step", mlp())
    report("digits_step", digits())
    report("wider_digits_step", wider_digits())


if __name__ == "__main__":
    main()
