#!/usr/bin/env python3
"""Holds files against PyTorch: what torch.save writes is read here bit for bit, and safetensors both ways.

    tests/pytorch/compare_files.py [--build build/release]

safetensors' reader and writer are those of this file, a few lines of json, struct and bytes. Prints a line for each file that
differs and a verdict; exits 0, 1 if one differs, 77 without PyTorch.
"""

import argparse
import collections
import io
import json
import pathlib
import pickle
import struct
import subprocess
import sys
import tempfile

from compare_rows import ROOT, torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
          "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"]  # fmt: skip
FORMAT_NAMES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint16": "U16",
                "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
                "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}  # fmt: skip


def counted(dtype, *shape):
    """Every bit pattern is a value."""
    dtype = getattr(torch, dtype)
    numel = torch.Size(shape).numel()
    if dtype == torch.bool:
        return (torch.arange(numel) % 3 == 0).reshape(shape)
    return torch.randint(0, 256, (numel * dtype.itemsize,), dtype=torch.uint8).view(dtype).reshape(shape)


def bytes_of(tensor):
    dense = tensor.detach().resolve_conj().contiguous()
    if dense.numel() == 0:
        return b""
    return bytes(dense.reshape(-1).view(torch.uint8).tolist())


class Teller:
    """Says of a value what read_files says of it."""

    def __init__(self):
        self.storages = {}

    def of(self, value):
        if isinstance(value, torch.Tensor):
            key = value.untyped_storage()._cdata
            return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape), "strides": list(value.stride()),
                    "bytes": bytes_of(value).hex(), "storage": self.storages.setdefault(key, len(self.storages))}  # fmt: skip
        if isinstance(value, float):
            return {"float": float.hex(value)}
        if isinstance(value, dict):
            return {"dict": [[str(key), self.of(each)] for key, each in value.items()]}
        if isinstance(value, (list, tuple)):
            return [self.of(each) for each in value]
        if isinstance(value, (torch.dtype, torch.device)):
            return str(value)
        return value


def trained():
    """A model, and an optimizer with a state for each parameter."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 5, 5])
    for _ in range(3):
        model(torch.randn(5, 4)).square().sum().backward()
        optimizer.step()
        scheduler.step()
    return model, optimizer, scheduler


def checkpoints():
    """(name, value): what is saved."""
    model, optimizer, scheduler = trained()
    base = torch.arange(24.0)
    yield "dtypes", {name: counted(name, 3, 5) for name in DTYPES}
    yield "scalars_and_nothing", {name: [counted(name), counted(name, 0, 4)] for name in DTYPES}
    yield "views", {"base": base, "half": base[12:], "t": base.view(4, 6).t(), "every_third": base[1::3],
                    "expanded": base[:1].expand(3, 2), "window": base.unfold(0, 4, 2), "empty": base[24:]}  # fmt: skip
    yield "parameters", {"p": torch.nn.Parameter(torch.randn(3)), "frozen": torch.nn.Parameter(torch.randn(2), requires_grad=False),
                         "leaf": torch.randn(2, requires_grad=True)}  # fmt: skip
    yield "channels_last", torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    yield "plain", {"a": [1, -1, 2**40, -(2**62), 255, 256, 65536], "b": (1.5, float("inf"), -0.0, 1e-310), 3: None, -7: True,
                    "text": "ü\n", "long": "x" * 1000, "": {}, "nested": {"a": {"b": [[], (), {}]}}, "size": torch.Size([2, 3]),
                    "dtype": torch.bfloat16, "device": torch.device("cuda", 1), "cpu": torch.device("cpu"),
                    "ordered": collections.OrderedDict(z=1, a=2)}  # fmt: skip
    yield "state_dict", model.state_dict()
    yield "training", {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(),
                       "rng": torch.get_rng_state(), "epoch": 3}  # fmt: skip
    shared = [1, 2]
    yield "shared_lists", [shared, shared, {"again": shared}]
    yield "many", {f"layer.{i}.weight": torch.full((3,), float(i)) for i in range(500)}


def refused():
    """(name, value, part of the sentence)"""
    yield "module", torch.nn.Linear(2, 2), "names 'torch.nn.modules.linear.Linear'"
    yield "conjugate", torch.randn(2, dtype=torch.complex64).conj(), "a conjugated or negated view"
    yield "sparse", torch.eye(3).to_sparse(), "names 'torch._utils._rebuild_sparse_tensor'"
    yield "set", {1, 2}, "not loaded here"
    yield "bytes", b"x", "not loaded here"
    yield "path", pathlib.PurePosixPath("x"), "names 'pathlib"
    yield "deep", nested(400), "nested deeper than 200"


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def write_safetensors(path, tensors):
    header, values = {"__metadata__": {"format": "pt"}}, io.BytesIO()
    for name, tensor in tensors.items():
        begin = values.tell()
        values.write(bytes_of(tensor))
        kind = FORMAT_NAMES[str(tensor.dtype).removeprefix("torch.")]
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [begin, values.tell()]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + values.getvalue())


def read_safetensors(path):
    """{name: (dtype, shape, bytes)}, by the words of the format's own page."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    assert header.pop("__metadata__") == {"format": "pt"} and length % 8 == 0
    values, end = data[8 + length :], 0
    for entry in sorted(header.values(), key=lambda each: each["data_offsets"]):
        assert entry["data_offsets"][0] == end, "a gap"
        end = entry["data_offsets"][1]
    assert end == len(values)
    return {name: (each["dtype"], each["shape"], values[slice(*each["data_offsets"])]) for name, each in header.items()}


def tensors_in(told):
    """All of them, in order."""
    if isinstance(told, dict) and "bytes" in told:
        yield told
    for each in told.values() if isinstance(told, dict) else told if isinstance(told, list) else []:
        yield from tensors_in(each)


def problem_with_copy(path, told, names):
    """What read_files wrote as safetensors, read again."""
    written = read_safetensors(path)
    expected = {name: (FORMAT_NAMES[each["dtype"]], each["shape"], bytes.fromhex(each["bytes"]))
                for name, each in zip(names, tensors_in(told)) if each["dtype"] in FORMAT_NAMES}  # fmt: skip
    return None if written == expected else f"{path.name} differs"


def problem_of(path, expected, told):
    if "error" in told:
        return f"is refused: {told['error']}"
    if told["is"] != json.loads(json.dumps(expected)):
        return f"differs:\n  ours   {str(told['is'])[:600]}\n  theirs {str(expected)[:600]}"
    names = [key for key, _ in told["is"]["dict"]] if path.suffix == ".safetensors" else map(str, range(10**6))
    return problem_with_copy(path.with_name(path.name + ".again"), told["is"], names)


def same_floats(told):
    """Ours as Python writes them: C leaves zeros out."""
    return {"float": float.hex(float.fromhex(told["float"]))} if "float" in told else told


def write_all(folder):
    """[(path, what it says or None, part of the sentence or None)]"""
    files = []
    for name, value in checkpoints():
        for protocol in (2, 4):
            path = folder / f"{name}_{protocol}.pt"
            torch.save(value, path, pickle_protocol=protocol)
            files.append((path, Teller().of(torch.load(path, weights_only=False)), None))
    for name, value, sentence in refused():
        torch.save(value, folder / f"{name}.pt")
        files.append((folder / f"{name}.pt", None, sentence))
    torch.save({"a": torch.ones(2)}, folder / "old.pt", _use_new_zipfile_serialization=False)
    files.append((folder / "old.pt", None, "before PyTorch 1.6"))
    (folder / "pickle.pt").write_bytes(pickle.dumps({"a": 1}))
    files.append((folder / "pickle.pt", None, "is not a whole zip archive"))
    tensors = {f"{name}.{i}": counted(name, 8 // (i + 1), i) for name in FORMAT_NAMES for i in range(3)}
    tensors = dict(sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize))
    write_safetensors(folder / "dtypes.safetensors", tensors)
    files.append((folder / "dtypes.safetensors", tensors, None))
    return files


def problem_of_safetensors(tensors, told):
    if "error" in told:
        return f"is refused: {told['error']}"
    ours = {name: (each["dtype"], each["shape"], each["bytes"]) for name, each in told["is"]["dict"]}
    theirs = {name: (str(each.dtype).removeprefix("torch."), list(each.shape), bytes_of(each).hex()) for name, each in tensors.items()}
    return None if ours == theirs else "differs"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    options = parser.parse_args()
    torch.manual_seed(26)
    num_differing = 0
    with tempfile.TemporaryDirectory() as folder:
        files = write_all(pathlib.Path(folder))
        command = [options.build / "tests/read_files", *(path for path, _, _ in files)]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        for (path, expected, sentence), line in zip(files, lines, strict=True):
            told = json.loads(line, object_hook=same_floats)
            if sentence is not None:
                problem = None if sentence in told.get("error", "") else f"expected '{sentence}', and got {str(told)[:300]}"
            elif path.suffix == ".safetensors":
                problem = problem_of_safetensors(expected, told) or problem_with_copy(
                    path.with_name(path.name + ".again"), told["is"], [key for key, _ in told["is"]["dict"]])  # fmt: skip
            else:
                problem = problem_of(path, expected, told)
            if problem:
                num_differing += 1
                print(f"{path.name}: {problem}")
    print(f"files: {len(files)} compared, {num_differing} differ")
    return 1 if num_differing else 0


if __name__ == "__main__":
    sys.exit(main())
