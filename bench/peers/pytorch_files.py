"""torch.load of 90 MB of tensors, those of bench/pairs/files.cpp: prints a figure a line."""

import json
import statistics
import tempfile
import time
from pathlib import Path

import torch


def sample(load):
    start = time.perf_counter()
    load()
    return (time.perf_counter() - start) * 1e3


def report(name, load):
    load()
    print(json.dumps({"name": name, "value": statistics.median(sample(load) for _ in range(9)), "unit": "ms"}))


tensors = {}
for i in range(100):
    tensors[f"layer.{i}.weight"] = torch.randn(474, 474)
    tensors[f"layer.{i}.bias"] = torch.randn(474)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tensors.pt"
    torch.save(tensors, path)
    report("load_90mb", lambda: torch.load(path))
    report("load_90mb_mapped", lambda: torch.load(path, mmap=True))
