#!/usr/bin/env python3
"""Samples a second of our loader and of PyTorch's, with two workers each, and their ratio: bench/peers/loader.py [--quick]

Three data sets of small samples: `tensors`, 60,000 rows of 64 numbers and a label, sliced; `function`, the same rows made by
code of one's own; `images`, 20,000 pictures of 28 by 28 bytes turned into normalized floats. Batches of 64, shuffled. The two
sides take turns, each epoch is one measurement with the workers' start in it, and the median counts. Ours with threads and
with processes; PyTorch's workers are processes. The budget is 2 times as many samples a second, of each kind of workers.
"""

import argparse
import json
import subprocess
import sys
import time
from statistics import median

from measure import BUILD, ROOT, BenchError, must_run, say

OURS = ROOT / "build/release/bin/backplane_bench_loader"
PYTHON = BUILD / "venv/bin/python"
BUDGET = 2.0


def pytorch_side():
    """Runs in the interpreter that has PyTorch: one epoch of each data set, as lines of JSON."""
    import torch
    from torch.utils.data import DataLoader, Dataset, TensorDataset

    torch.set_num_threads(1)

    class Rows(Dataset):
        def __init__(self):
            self.rows = torch.rand(60000, 64)

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, index):
            return self.rows[index], index

    class Images(Dataset):
        def __init__(self):
            self.images = torch.randint(0, 256, (20000, 1, 28, 28), dtype=torch.uint8)

        def __len__(self):
            return len(self.images)

        def __getitem__(self, index):
            return (self.images[index].float() / 255 - 0.5) / 0.25, index % 10

    sets = {"tensors": TensorDataset(torch.rand(60000, 64), torch.arange(60000)), "function": Rows(), "images": Images()}
    for name, dataset in sets.items():
        loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=2)
        start = time.perf_counter()
        count = sum(len(batch[0]) for batch in loader)
        seconds = time.perf_counter() - start
        assert count == len(dataset)
        print(json.dumps({"name": name, "value": count / seconds}))


def figures(command):
    return {line["name"]: line["value"] for line in map(json.loads, must_run("the loader's bench", command).splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--pytorch-side", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.pytorch_side:
        return pytorch_side()
    ours, peer = {}, {}
    try:
        for number in range(1 if options.quick else 5):
            say(f"loader {number + 1}")
            for name, value in figures([str(OURS)]).items():
                ours.setdefault(name, []).append(value)
            for name, value in figures([str(PYTHON), __file__, "--pytorch-side"]).items():
                peer.setdefault(name, []).append(value)
    except (BenchError, subprocess.SubprocessError) as error:
        sys.exit(f"bench: {error}")
    print(f"{'data set, workers':28}{'samples/s':>12}{'PyTorch':>12}{'ratio':>8}  at least {BUDGET:g}")
    missed = 0
    for name, values in ours.items():
        rate, other = median(values), median(peer[name.split(",")[0]])
        missed += rate < BUDGET * other
        print(f"{name:28}{rate:12,.0f}{other:12,.0f}{rate / other:8.1f}  {'met' if rate >= BUDGET * other else 'missed'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
