"""Calls for tests/pytorch/run_calls, and what came of them: files of the form that run_calls.cpp describes."""

import json
import math
import mmap
import pathlib
import subprocess

import torch

LIMIT_S = 60  # without an answer: the call counts as ended


class CallsFile:
    """Writes FILE.json and FILE.bin."""

    def __init__(self, file):
        self.file, self.num_calls, self.offset = file, 0, 0
        self.lines, self.elements = open(f"{file}.json", "w"), open(f"{file}.bin", "wb")

    def add(self, row, named, weights=None, is_leaf=lambda tensor: False):
        """`named`: {argument: (type of the schema, value)}. Returns the leaves in the order of their gradients."""
        leaves = []
        call = {"row": row, "args": {name: self.argument(kind, value, is_leaf, leaves) for name, (kind, value) in named.items()}}
        if weights is not None:
            call["weights"] = [None if weight is None else self.tensor(weight) for weight in weights]
        self.lines.write(json.dumps(call) + "\n")
        self.num_calls += 1
        return leaves

    def argument(self, kind, value, is_leaf, leaves):
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            return {"tensor": self.tensor(value, is_leaf, leaves)}
        if kind in ("Tensor[]", "Tensor?[]"):
            return {"tensors": [None if one is None else self.tensor(one, is_leaf, leaves) for one in value]}
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, str):
            return {"text": value}
        if kind == "int[]":
            return {"integers": [int(one) for one in value]}
        if kind == "float[]":
            return {"reals": [real(one) for one in value]}
        if isinstance(value, bool):
            return {"boolean": value}
        if kind == "float" or isinstance(value, float):
            return {"real": real(value)}
        return {"complex": [real(value.real), real(value.imag)]} if isinstance(value, complex) else {"integer": value}

    def tensor(self, tensor, is_leaf=lambda tensor: False, leaves=None):
        flag = is_leaf(tensor)
        if flag:
            leaves.append(tensor)
        shown = tensor.detach().resolve_conj().resolve_neg()
        count = 0 if shown.numel() == 0 else 1 + sum((size - 1) * stride for size, stride in zip(shown.shape, shown.stride()))
        memory = torch.as_strided(shown, (count,), (1,), shown.storage_offset())
        entry = {"shape": list(shown.shape), "strides": list(shown.stride()), "count": count, "offset": self.offset,
                 "dtype": str(shown.dtype).removeprefix("torch."), "leaf": flag}
        self.elements.write(memory.contiguous().view(torch.uint8).numpy().tobytes() if count else b"")
        self.offset += count * shown.element_size()
        return entry

    def run(self, program, device="cpu"):
        """Yields what came of each call; {"ended": ...} for one that ended the process or took too long."""
        self.lines.close()
        self.elements.close()
        first = 0
        while first < self.num_calls:
            results = f"{self.file}.results{first}"
            how = run_once([program, self.file, results, device, str(first)])
            if not pathlib.Path(f"{results}.bin").exists():
                raise RuntimeError(f"{program} does not start: {how}")
            for outcome in read_results(results):
                yield outcome
                first += 1
            if first < self.num_calls:
                yield {"ended": how}
                first += 1


def real(value):
    value = float(value)
    return value if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def run_once(command):
    """How it ended, if badly. A call that never ends is cut off with all behind it, which run() starts again."""
    process = subprocess.Popen([str(word) for word in command], stderr=subprocess.DEVNULL)
    answers, written = pathlib.Path(f"{command[2]}.json"), -1
    while True:
        try:
            return f"the process ended with {process.wait(timeout=LIMIT_S)}"
        except subprocess.TimeoutExpired:
            size = answers.stat().st_size if answers.exists() else 0
            if size == written:
                process.kill()
                process.wait()
                return f"no answer within {LIMIT_S} s"
            written = size


def read_results(file):
    """Only whole lines: the last may be torn."""
    with open(f"{file}.bin", "rb") as binary:
        size = binary.seek(0, 2)
        elements = mmap.mmap(binary.fileno(), 0, access=mmap.ACCESS_COPY) if size else b""
    for line in pathlib.Path(f"{file}.json").read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            outcome = json.loads(line)
            for key in ("results", "gradients", "state"):
                if key in outcome:
                    outcome[key] = [read_tensor(entry, elements) for entry in outcome[key]]
            yield outcome


def read_tensor(entry, elements):
    if entry is None:
        return None
    dtype, shape = getattr(torch, entry["dtype"]), entry["shape"]
    if math.prod(shape) == 0:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(elements, dtype=dtype, count=math.prod(shape), offset=entry["offset"]).clone().reshape(shape)
