"""Calls operators with random arguments of right and wrong types: `python random_calls.py SEED COUNT LOG`.

Each call is written to the log before it is made, so that a crash is told by the last line. Any exception but those
that the
package documents ends the program with its traceback.
"""

import random
import re
import resource
import sys

import backplane as bp
import numpy as np

DOCUMENTED = (TypeError, ValueError, IndexError, OverflowError, BufferError, bp.Error)
DTYPES = [
    bp.float32,
    bp.float32,
    bp.float64,
    bp.int64,
    bp.int32,
    bp.uint8,
    bp.bool,
    bp.float16,
    bp.bfloat16,
    bp.complex64,
    bp.int8,
    bp.uint16,
    bp.uint64,
    bp.float8_e4m3fn,
    bp.complex128,
]
SHAPES = [
    (),
    (1,),
    (3,),
    (2, 3),
    (3, 3),
    (2, 2),
    (0,),
    (2, 0),
    (1, 3, 4),
    (2, 3, 4),
    (2, 3, 4, 4),
    (1, 1, 5, 5),
    (2, 1, 3, 1, 2),
    (4,),
]
WORDS = [
    "mean",
    "sum",
    "none",
    "linear",
    "nearest",
    "reflect",
    "constant",
    "left",
    "floor",
    "ij,jk->ik",
    "",
    "reduce",
    "\0",
    "é" * 300,
]
INTEGERS = [0, 1, 2, 3, -1, -2, 4, 5, 7, -3, 64, -100, 2**31, -(2**31), 2**62, -(2**63), 2**63 - 1]
REALS = [0.0, 1.0, -1.0, 0.5, 1e-5, 2.5, 1e30, -1e300, float("inf"), float("-inf"), float("nan")]
# Their time grows with the number itself, as asked; others answer at once.
SLOW = {"linalg_matrix_power", "polygamma", "rand_philox"}


class Odd:
    """Says that it is a number, and then is none."""

    def __index__(self):
        raise ValueError("no index after all")

    def __float__(self):
        raise ValueError("no float after all")


class Makers:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def tensor(self):
        choice = self.random
        shape, dtype = choice.choice(SHAPES), choice.choice(DTYPES)
        if choice.random() < 0.03:
            return bp.empty(shape, dtype=dtype, device="meta")
        count = int(np.prod(shape))
        values = [
            choice.choice([0, 1, 2, 3, -1, 5]) if choice.random() < 0.9 else choice.choice(REALS) for _ in range(count)
        ]
        made = bp.tensor(np.array(values, dtype=np.float64)).reshape(shape)
        made = (
            made.nan_to_num(0, 0, 0).to(dtype) if not (dtype.is_floating_point or dtype.is_complex) else made.to(dtype)
        )
        kind = choice.random()
        if kind < 0.15 and made.ndim >= 2:
            made = made.transpose(0, 1)
        elif kind < 0.2 and made.ndim and made.shape[0]:
            made = made[::2]
        elif kind < 0.3 and dtype in (bp.float32, bp.float64, bp.complex64):
            made.requires_grad_()
        return made

    def integer(self):
        return self.random.choice(INTEGERS[:11] if self.random.random() < 0.9 else INTEGERS)

    def of(self, kind):
        choice = self.random
        if kind.endswith("[]"):
            return [self.of(kind[:-2]) for _ in range(choice.choice([0, 1, 1, 2, 2, 3, 4]))]
        if kind.endswith("?"):
            return None if choice.random() < 0.4 else self.of(kind[:-1])
        return {
            "Tensor": self.tensor,
            "int": self.integer,
            "bool": lambda: choice.random() < 0.5,
            "float": lambda: choice.choice(REALS),
            "Scalar": lambda: choice.choice([self.integer(), choice.choice(REALS), 1j, True]),
            "str": lambda: choice.choice(WORDS),
            "Dtype": lambda: choice.choice(DTYPES),
            "Device": lambda: "cpu",
            "Generator": bp.Generator,
        }[kind]()

    def wrong(self):
        kinds = [
            "Tensor",
            "int",
            "bool",
            "float",
            "Scalar",
            "str",
            "Dtype",
            "Generator",
            "Tensor[]",
            "int[]",
            "float[]",
        ]
        odd = [
            None,
            Odd(),
            [Odd()],
            object(),
            {},
            {1: 2},
            b"bytes",
            "cpu",
            "acme:7",
            int,
            np.float32(2),
            np.array([1, 2]),
            np.int64(3),
            [None],
            [[1]],
            10**30,
            range(2),
            slice(1),
            lambda: 0,
            bp.Tensor.__new__(bp.Tensor),
            [bp.Tensor.__new__(bp.Tensor)],
        ]
        return self.of(self.random.choice(kinds)) if self.random.random() < 0.5 else self.random.choice(odd)

    def argument(self, kind):
        return self.wrong() if self.random.random() < 0.08 else self.of(kind)


def arguments_of(schema):
    """(name, kind, keyword alone, has a default) of each."""
    inside = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    alone, found = False, []
    for part in re.split(r",\s*(?![^\[]*\])", inside):
        if part == "*":
            alone = True
        elif part:
            kind, name = part.split("=")[0].split()
            found.append((name, kind, alone, "=" in part))
    return found


def one_call(makers, name, function):
    args, keywords = [], {}
    for argument, kind, alone, has_default in arguments_of(function.schema):
        if has_default and (alone or makers.random.random() < 0.5):
            if makers.random.random() < 0.4:
                keywords[argument] = makers.argument(kind)
        elif keywords or alone:
            keywords[argument] = makers.argument(kind)
        else:
            args.append(makers.argument(kind))
    chance = makers.random.random()
    if chance < 0.02:
        args.append(makers.wrong())
    elif chance < 0.04:
        keywords[makers.random.choice(["no_such", "out", "dim", "axis", "requires_grad", "dtype"])] = makers.wrong()
    elif chance < 0.06 and args:
        args.pop()
    return args, keywords


def show(value):
    if isinstance(value, bp.Tensor):
        try:
            return f"tensor({list(value.shape)}, {value.dtype.name}, {value.stride()}, grad={value.requires_grad})"
        except TypeError:
            return "tensor(not made)"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(show, value)) + "]"
    return repr(value)


def main(seed, count, log):
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    makers = Makers(seed)
    operators = [(name, op) for name, op in bp._core.operators.items() if name.removesuffix("_") not in SLOW]
    worked = 0
    with open(log, "w", buffering=1) as out:
        for number in range(count):
            name, function = operators[number % len(operators)]
            args, keywords = one_call(makers, name, function)
            out.write(
                f"{number} {name}({', '.join(map(show, args))}, { ({k: show(v) for k, v in keywords.items()}) })\n"
            )
            try:
                result = function(*args, **keywords)
                worked += 1
            except DOCUMENTED as error:
                if not str(error) and not isinstance(error, MemoryError):
                    raise AssertionError(f"{name}: an exception without a sentence") from error
                continue
            made = [result] if isinstance(result, bp.Tensor) else result or []
            for each in made:
                if isinstance(each, bp.Tensor):
                    repr(each)
            if number % 7 == 0:
                floating = [each for each in made if each.requires_grad]
                try:
                    if floating:
                        bp.backward([each.real.sum() for each in floating])
                except DOCUMENTED:
                    pass
    print(worked, "of", count, "calls worked")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
