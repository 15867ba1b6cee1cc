"""Writes promotion.txt with PyTorch's answers. Run it with the interpreter that `./dev bench --peer pytorch` makes:
build/peers/venv/bin/python tests/text/promotion.py > tests/text/promotion.txt"""

import itertools

import torch

NAMES = """bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128
float8_e4m3fn float8_e5m2""".split()
NUMBERS = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}


def answer(function, *arguments):
    try:
        return str(function(*arguments)).removeprefix("torch.")
    except (RuntimeError, TypeError):
        return "error"


def tensor(name, zero_dim):
    return torch.empty([] if zero_dim else [2], dtype=getattr(torch, name), device="meta")


print(f"# PyTorch {torch.__version__.split('+')[0]}, by promotion.py")
for a, b in itertools.product(NAMES, repeat=2):
    print("promote", a, b, answer(torch.promote_types, getattr(torch, a), getattr(torch, b)))
for a, b in itertools.product(NAMES, repeat=2):
    print("can_cast", a, b, answer(torch.can_cast, getattr(torch, a), getattr(torch, b)))
for a, b in itertools.product(NAMES, repeat=2):
    print("with_zero_dim", a, b, answer(torch.result_type, tensor(a, False), tensor(b, True)))
for default in "float32", "float64":
    torch.set_default_dtype(getattr(torch, default))
    for a, (number, value) in itertools.product(NAMES, NUMBERS.items()):
        print("with_number", default, a, number, answer(torch.result_type, tensor(a, False), value))
    for a, (number, value) in itertools.product(NAMES, NUMBERS.items()):
        print("zero_dim_with_number", default, a, number, answer(torch.result_type, tensor(a, True), value))
    for (a, value), (b, other) in itertools.product(NUMBERS.items(), repeat=2):
        print("numbers", default, a, b, answer(torch.result_type, value, other))
