"""Operators called as schemas say and as they do not: whatever is given, an exception of a documented class, and no
crash.

The number of random calls is BACKPLANE_CASES, 2000 by default.
"""

import inspect
import os
import pathlib
import subprocess
import sys

import backplane as bp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

CASES = int(os.environ.get("BACKPLANE_CASES", "2000"))
ALWAYS_THE_SAME = "BACKPLANE_CASES" not in os.environ  # a day's run must not depend on luck; a search must
CALLS_OF_A_PROCESS = 1000
PROGRAM = pathlib.Path(__file__).with_name("random_calls.py")


@settings(
    max_examples=max(1, CASES // CALLS_OF_A_PROCESS), deadline=None, database=None, derandomize=ALWAYS_THE_SAME
)
@given(seed=st.integers(0, 2**32))
def test_no_call_ends_the_interpreter(tmp_path_factory, seed):
    log = tmp_path_factory.mktemp("calls") / "log"
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-W",
        "ignore",
        str(PROGRAM),
        str(seed),
        str(CALLS_OF_A_PROCESS),
        str(log),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    last = log.read_text().splitlines()[-1:] if log.exists() else []
    assert ended.returncode == 0, (
        f"seed {seed}, exit code {ended.returncode}, last call {last}:\n{ended.stderr[-3000:]}"
    )


def test_arguments_by_position_and_name():
    x = bp.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (
        bp.sum(x, 0).tolist()
        == bp.sum(x, dim=0).tolist()
        == bp.sum(input=x, dim=[0]).tolist()
        == x.sum(axis=0).tolist()
        == [4, 6]
    )
    assert x.sum(1, keepdims=True).shape == (2, 1)
    assert x.reshape(4).shape == x.reshape((4,)).shape == x.reshape(shape=[4]).shape == (4,)
    assert x.permute(1, 0).tolist() == x.permute((1, 0)).tolist() == x.T.tolist()
    assert bp.zeros(2, 3).shape == bp.zeros((2, 3)).shape == bp.zeros(size=[2, 3]).shape == (2, 3)
    assert bp.add(x, 1, alpha=2).tolist() == [[3, 4], [5, 6]]
    assert bp.zeros(()).shape == bp.zeros([]).shape == ()


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda x: bp.sum(), TypeError, "'input'"),
        (lambda x: bp.sum(x, 0, False, None, 5), TypeError, "positional"),
        (lambda x: bp.sum(x, dims=0), TypeError, "'dims'"),
        (lambda x: bp.sum(x, 0, dim=1), TypeError, "twice"),
        (lambda x: bp.sum(x, axis=0, dim=1), TypeError, "twice"),
        (lambda x: bp.sum(x, "a"), TypeError, "sum: dim must be an int or a list of ints or None, not str"),
        (lambda x: bp.sum([1, 2]), TypeError, "sum: input must be a Tensor, not list"),
        (lambda x: bp.sum(x, 5), (ValueError, IndexError), "sum"),
        (lambda x: bp.add(x, bp.ones(3)), ValueError, "add: shapes"),
        (lambda x: x.add_(bp.ones(3)), ValueError, "add_: shapes"),
        (lambda x: x.fill_(bp.ones(3)), ValueError, "fill_: shape"),
        (lambda x: float(x), ValueError, "float: shape"),
        (lambda x: complex(x), ValueError, "complex: shape"),
        (lambda x: bp.ones(2, device="meta").tolist(), ValueError, "tolist: a meta tensor"),
        (lambda x: bp.ones(2, device="meta").numpy(), ValueError, "numpy: a meta tensor"),
        (lambda x: bp.zeros(2, dtype="float33"), ValueError, "zeros: no type is called 'float33'"),
        (lambda x: x.__setitem__(0, bp.ones(7)), ValueError, "x[index] = value: shape"),
        (lambda x: x[bp.tensor([9])], IndexError, "x[index]: index 9 is out of range"),
        (lambda x: bp.reshape(x, 3), ValueError, "reshape"),
        (lambda x: bp.cat([x, 1]), TypeError, "cat: tensors must be a list of Tensors"),
        (lambda x: bp.cat(x), TypeError, "cat: tensors must be a list of Tensors"),
        (lambda x: bp.zeros(2, dtype="float99"), (TypeError, ValueError), "float99"),
        (lambda x: bp.zeros(2, device="acme:0"), ValueError, "acme"),
        (lambda x: bp.zeros(10**30), OverflowError, "64 bits"),
        (lambda x: bp.zeros(2**60), bp.OutOfMemoryError, "memory"),
        (lambda x: bp.zeros(-1), ValueError, "zeros"),
        (lambda x: bp.add(x, x, out=3), TypeError, "out"),
        (lambda x: x.no_such_method, AttributeError, "no_such_method"),
    ],
    ids=range(28),
)
def test_errors_name_the_operator_and_the_argument(call, error, words):
    with pytest.raises(error, match=words.replace("[", r"\[")):
        call(bp.ones(2, 2))


def test_lists_that_change_while_they_are_read():
    numbers = []

    class Clearing:
        def __index__(self):
            numbers.clear()
            return 2

        def __float__(self):
            numbers.clear()
            return 2.0

    numbers.extend([Clearing()] + [object()] * 1000)
    with pytest.raises((TypeError, ValueError)):
        bp.zeros(numbers)
    numbers.extend([Clearing()] + [1.0] * 1000)
    with pytest.raises(ValueError):
        bp.tensor(numbers)


@pytest.mark.filterwarnings("ignore:nanobind")
def test_a_tensor_whose_init_did_not_run():
    nothing = bp.Tensor.__new__(bp.Tensor)
    for call in (
        lambda: nothing.shape,
        lambda: nothing + 1,
        lambda: -nothing,
        lambda: nothing[0],
        lambda: len(nothing),
        lambda: bool(nothing),
        lambda: bp.sum(nothing),
        lambda: nothing.sum(),
        lambda: 1 - nothing,
        lambda: nothing @ nothing,
        lambda: nothing.__dlpack__(),
        lambda: nothing.requires_grad,
        lambda: setattr(nothing, "grad", None),
        lambda: bp.cat([nothing]),
        lambda: bp.ones(2).add_(nothing),
        lambda: setattr(bp.ones(2), "data", nothing),
    ):
        with pytest.raises(TypeError):
            call()
    assert hash(nothing) is not None


def test_operators_look_like_functions():
    assert (
        bp.add.__name__ == "add" and bp.add.__module__ == "backplane" and bp.add.__doc__.startswith("add(Tensor input")
    )
    assert "add(Tensor input" in bp.add.schema and inspect.isroutine(bp.add)
    import pickle

    assert pickle.loads(pickle.dumps(bp.add)) is bp.add
    with pytest.raises(TypeError):
        type(bp.add)()


def test_results_have_names():
    values, indices = found = bp.sort(bp.tensor([3, 1, 2]))
    assert found.values.tolist() == values.tolist() == [1, 2, 3] and found.indices.tolist() == indices.tolist() == [
        1,
        2,
        0,
    ]


def test_writes_into_out():
    x, out = bp.ones(3), bp.empty(3)
    assert bp.add(x, x, out=out) is out and out.tolist() == [2, 2, 2]
    assert bp.sum(x, out=bp.empty(())).item() == 3
    assert x.add_(1) is x and x.tolist() == [2, 2, 2]
