"""Writes printing/*.txt: tensors as bytes, and PyTorch's text of them without its "torch." prefix. Run it with the
interpreter that `./dev bench --peer pytorch` makes: build/peers/venv/bin/python tests/text/printing.py"""

import pathlib
import random

import torch
from torch import _tensor_str

inf, nan = float("inf"), float("nan")
random.seed(7)

# The prefix counts for line breaks, so it must go before the layout.
add_suffixes = _tensor_str._add_suffixes
_tensor_str._add_suffixes = lambda text, suffixes, *rest, **named: add_suffixes(
    text, [suffix.replace("torch.", "") for suffix in suffixes], *rest, **named)

FLOATING = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
INTEGRAL = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]


def tensor(values, dtype="float32", shape=None):
    result = torch.tensor(values, dtype=torch.float64 if dtype in FLOATING else getattr(torch, dtype))
    result = result.to(getattr(torch, dtype))
    return result if shape is None else result.reshape(shape)


def floats(count, low=-5, high=5):
    return [random.uniform(low, high) for _ in range(count)]


def complexes(count):
    return [complex(random.uniform(-3, 3), random.uniform(-3, 3)) for _ in range(count)]


def floating():
    for dtype in FLOATING:
        yield tensor([1, 2, 3], dtype), {}
        yield tensor(floats(6), dtype, (2, 3)), {}
        yield tensor([0.001, 200, -1.5], dtype), {}
        yield tensor([nan, inf, -inf, 0, -0.0, 1], dtype), {}
        yield tensor(2.5, dtype), {}
    yield tensor([1e-5, 1]), {}
    yield tensor([1e-5, 2e-5]), {}
    yield tensor([1e9, 1]), {}
    yield tensor([1, 1001]), {}
    yield tensor([1, 1000]), {}
    yield tensor([1.5, 1500]), {}
    yield tensor([1e100, -1e-100, 0], "float64"), {}
    yield tensor([nan, inf, -inf]), {}
    yield tensor([-nan, 0.5]), {}
    yield tensor([0.0, -0.0]), {}
    yield tensor([inf, 1.25]), {}
    yield tensor(0.0), {}
    yield tensor(7.0), {}
    yield tensor(1e-7), {}
    yield tensor([0.5, 1.5, 2.5, 0.00005, 0.12345]), {"precision": 0}
    yield tensor(floats(40)), {}
    yield tensor(floats(24), "float64", (2, 3, 4)), {}
    yield tensor(floats(16), "float32", (2, 2, 2, 2)), {}
    yield tensor(floats(30), "float16", (1, 30)), {}
    yield tensor([1.0, 2.0, 3.0]), {"sci_mode": True}
    yield tensor([1e-5, 1e9]), {"sci_mode": False}
    yield tensor([1.0, 1e9]), {"sci_mode": False}
    yield tensor(floats(5)), {"precision": 8}
    yield tensor(floats(5)), {"precision": 2, "linewidth": 20}
    yield tensor(floats(5)), {"linewidth": 0}


def integral():
    for dtype in INTEGRAL:
        yield tensor([0, 1, 1, 0], dtype), {}
        yield tensor([[1, 0, 1], [0, 0, 1]], dtype), {}
        yield tensor(1, dtype), {}
    for dtype in ["int8", "int16", "int32", "int64"]:
        info = torch.iinfo(getattr(torch, dtype))
        yield tensor([info.min, info.max, 0, -1], dtype), {}
    for dtype in ["uint8", "uint16", "uint32", "uint64"]:
        yield tensor([0, torch.iinfo(getattr(torch, dtype)).max], dtype), {}
    yield tensor(list(range(100)), "int64", (10, 10)), {}
    yield tensor(list(range(60)), "int32"), {}
    yield tensor(list(range(60)), "int32"), {"linewidth": 40}


def complex_numbers():
    for dtype in COMPLEX:
        yield tensor(complexes(4), dtype), {}
        yield tensor(complexes(6), dtype, (2, 3)), {}
        yield tensor([1 + 2j, -3 - 4j, 0], dtype), {}
        yield tensor([complex(nan, -inf), complex(-0.0, -0.0), 1e-6j], dtype), {}
        yield tensor(1 - 0.5j, dtype), {}
    yield tensor(complexes(20), "complex64"), {}


def empty():
    for dtype in ["float32", "float64", "int64", "bool", "complex64", "bfloat16"]:
        for shape in [(0,), (0, 3), (2, 0, 4)]:
            yield torch.empty(shape, dtype=getattr(torch, dtype)), {}


def summarized():
    yield torch.arange(2000, dtype=torch.float32), {}
    yield torch.arange(2000), {}
    yield torch.arange(1001), {}
    yield torch.arange(1000), {"linewidth": 120}
    yield torch.arange(5000, dtype=torch.float32).reshape(50, 100), {}
    yield torch.arange(4096, dtype=torch.int32).reshape(16, 4, 8, 8), {}
    yield torch.arange(1200, dtype=torch.float64).reshape(2, 600), {}
    yield torch.arange(1200, dtype=torch.float64).reshape(600, 2), {}
    yield torch.arange(30), {"threshold": 10}
    yield torch.arange(30).reshape(5, 6), {"threshold": 10, "edgeitems": 1}
    yield torch.arange(30).reshape(5, 6), {"threshold": 10, "edgeitems": 2}
    yield torch.arange(30), {"threshold": 10, "edgeitems": 0}
    yield torch.arange(30, dtype=torch.float16).reshape(5, 6), {"threshold": 10, "edgeitems": 0}
    yield torch.arange(8), {"threshold": 10, "edgeitems": 0}
    yield torch.arange(2000).to(torch.complex64), {}
    yield torch.arange(2000).reshape(1, 2000), {"edgeitems": 12}


def meta():
    yield torch.empty(2, 3, device="meta"), {}
    yield torch.empty((), device="meta", dtype=torch.int64), {}
    yield torch.empty(0, device="meta", dtype=torch.bfloat16), {}


def suffixes():
    for count in range(8, 16):
        yield tensor(floats(count), "float64"), {}
        yield tensor(floats(count), "float64"), {"linewidth": 70 + count}


def contents(value):
    """"arange" where the elements are their own indices, else the bytes."""
    if value.device.type == "meta":
        return "none"
    flat = value.reshape(-1)
    if flat.numel() > 60 and torch.equal(flat, torch.arange(flat.numel()).to(flat.dtype)):
        return "arange"
    return bytes(flat.view(torch.uint8).tolist()).hex() or "none"


folder = pathlib.Path(__file__).parent / "printing"
for group in [floating, integral, complex_numbers, empty, summarized, meta, suffixes]:
    lines = [f"# PyTorch {torch.__version__.split('+')[0]}, by printing.py"]
    for value, options in group():
        torch.set_printoptions(profile="default")
        torch.set_printoptions(**options)
        shape = ",".join(map(str, value.shape)) or "scalar"
        given = " ".join(f"{name}={setting}" for name, setting in options.items())
        lines += [f"== {str(value.dtype).removeprefix('torch.')} {shape} {given}".rstrip(), contents(value), repr(value)]
    (folder / f"{group.__name__}.txt").write_text("\n".join(lines) + "\n")
