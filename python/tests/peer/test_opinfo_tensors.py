"""Tensors beside PyTorch's: Python's operators over all dtypes, numbers on both sides, views, reductions, text,
DLPack."""

import gc
import itertools
import operator
import random

import backplane as bp
import numpy as np
import pytest

torch = pytest.importorskip("torch")

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
]
BINARY = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift eq ne lt le gt ge".split()
IN_PLACE = ["i" + name.rstrip("_") for name in BINARY[:12]]
NUMBERS = [2, True, 2.5, 1 + 1j, -1, 0, np.float32(2.5), np.int64(3), np.float64(1.5), np.int8(2)]


def ours(value):
    if isinstance(value, torch.Tensor):
        return bp.from_dlpack(value.clone())
    return [ours(each) for each in value] if isinstance(value, list) else value


def name_of(dtype):
    return str(dtype).split(".")[1]


def attempt(function, *args):
    try:
        return function(*args), None
    except Exception as error:
        return None, error


def check(function, *args):
    """Both refuse, or both give one dtype, shape and values. What we allow and PyTorch does not is ours to decide."""
    expected, refused = attempt(function, *(each.clone() if isinstance(each, torch.Tensor) else each for each in args))
    found, error = attempt(function, *map(ours, args))
    if refused is not None:
        assert not isinstance(error, (SystemError, RuntimeError)) or isinstance(error, bp.Error)
        return
    if isinstance(expected, torch.Tensor) and expected.dtype == torch.complex32:
        return  # there is none here: complex64
    assert error is None, f"{function.__name__}{args}: {error!r}"
    if not isinstance(expected, torch.Tensor):
        assert found == expected
        return
    assert (found.dtype.name, found.shape) == (name_of(expected.dtype), tuple(expected.shape)), (
        f"{function.__name__}{args}"
    )
    mine, its = torch.from_dlpack(found.detach()).to(torch.complex128), expected.detach().to(torch.complex128)
    assert torch.allclose(mine, its, rtol=1e-2, equal_nan=True), f"{function.__name__}{args}: {found}, not {expected}"


def differs_on_purpose(name, a, b):
    """PyTorch compares uint8 with -1 as with 255, refuses bools where the result is clear, and takes 1j / 0 for NaN."""
    dtypes = [each.dtype for each in (a, b) if isinstance(each, torch.Tensor)]
    numbers = [each for each in (a, b) if not isinstance(each, torch.Tensor)]
    if numbers and numbers[0] == -1 and torch.uint8 in dtypes:
        return name.strip("i") in ("lt", "le", "gt", "ge", "pow", "eq", "ne") or name == "pow"
    if any(dtype.is_complex for dtype in dtypes) and name in ("pow", "truediv", "ipow", "itruediv"):
        return True
    return name in ("pow", "ipow") and all(dtype == torch.bool for dtype in dtypes)


@pytest.mark.parametrize("name", BINARY + IN_PLACE)
def test_two_tensors_of_all_dtypes(name):
    function = getattr(operator, name)
    for first, second in itertools.product(DTYPES, DTYPES):
        x, y = torch.tensor([3, 0, 1]).to(first), torch.tensor([1, 2, 1]).to(second)
        for a, b in ((x, y), (x, y[1]), (x[0], y)):
            if not differs_on_purpose(name, a, b):
                check(function, a, b)


@pytest.mark.parametrize("name", BINARY + IN_PLACE)
def test_a_tensor_and_a_number(name):
    function = getattr(operator, name)
    for dtype, number in itertools.product(DTYPES, NUMBERS):
        x = torch.tensor([3, 0, 1]).to(dtype)
        for a, b in (
            ((x, number), (x[0], number))
            if name in IN_PLACE
            else ((x, number), (number, x), (x[0], number), (number, x[0]))
        ):
            if not differs_on_purpose(name, a, b):
                check(function, a, b)


@pytest.mark.parametrize("name", "neg pos abs invert truth not_ index".split())
def test_one_tensor(name):
    for dtype in DTYPES:
        for data in ([3, 0, 1], [1], 0, [[1]]):
            check(getattr(operator, name), torch.tensor(data).to(dtype))


@pytest.mark.parametrize(
    "function",
    [
        int,
        float,
        bool,
        complex,
        len,
        lambda x: x.item(),
        lambda x: x.tolist(),
        lambda x: 3 in x,
        lambda x: [each.tolist() for each in x],
        lambda x: tuple(x.shape),
        lambda x: x.numel(),
    ],
)
def test_what_comes_out(function):
    for dtype in DTYPES:
        for data in ([1], 1, [], [1, 2], [[1, 0], [2, 5]], [0], [[]]):
            x = torch.tensor(data).to(dtype)
            expected, refused = attempt(function, x)
            found, error = attempt(function, ours(x))
            assert (error is None) == (refused is None), f"{data} {dtype}: {refused!r}, and we: {error!r}"
            assert found == expected


SHAPES = [(), (1,), (3,), (2, 3), (1, 3), (2, 1), (4, 2, 3), (0,), (2, 0)]
REDUCTIONS = "sum mean prod amax amin all any argmax argmin logsumexp std var count_nonzero norm cumsum cumprod".split()


def test_reductions():
    draw = random.Random(1)
    for _ in range(600):
        name, shape = draw.choice(REDUCTIONS), draw.choice(SHAPES)
        dtype = draw.choice([torch.float32, torch.float64, torch.int64, torch.bool])
        keywords = {}
        if draw.random() < 0.6 and shape or name.startswith("cum"):
            keywords["dim"] = draw.randrange(-len(shape), len(shape)) if shape else 0
            if not name.startswith(("cum", "count")):
                keywords["keepdim"] = draw.random() < 0.5
        if name == "logsumexp" and "dim" not in keywords:
            continue
        x = (torch.rand(shape) * 4).to(dtype)
        expected, refused = attempt(lambda: getattr(torch, name)(x, **keywords))
        if refused is not None or name == "norm" and not dtype.is_floating_point:
            continue
        for found in (getattr(bp, name)(ours(x), **keywords), getattr(ours(x), name)(**keywords)):
            assert (found.dtype.name, found.shape) == (name_of(expected.dtype), tuple(expected.shape)), (
                name,
                x,
                keywords,
            )
            torch.testing.assert_close(torch.from_dlpack(found), expected, rtol=1e-4, atol=1e-5, equal_nan=True)


VIEWS = [
    ("reshape", lambda d, s: ([-1],)),
    ("flatten", lambda d, s: ()),
    ("unsqueeze", lambda d, s: (d.randint(-len(s) - 1, len(s)),)),
    ("squeeze", lambda d, s: ()),
    ("transpose", lambda d, s: (d.randrange(len(s)), d.randrange(len(s)))),
    ("t", lambda d, s: ()),
    ("expand", lambda d, s: (2, *s)),
    ("narrow", lambda d, s: (0, 0, max(0, s[0] - 1))),
    ("unbind", lambda d, s: ()),
    ("chunk", lambda d, s: (2,)),
    ("split", lambda d, s: (2,)),
    ("permute", lambda d, s: tuple(d.sample(range(len(s)), len(s)))),
    ("movedim", lambda d, s: (0, -1)),
    ("diagonal", lambda d, s: ()),
    ("repeat", lambda d, s: (2,) * len(s)),
    ("roll", lambda d, s: (1, 0)),
    ("flip", lambda d, s: (0,)),
    ("select", lambda d, s: (0, -1)),
    ("unfold", lambda d, s: (0, 1, 1)),
    ("swapaxes", lambda d, s: (0, -1)),
    ("view", lambda d, s: (-1,)),
    ("tile", lambda d, s: (2, 2)),
    ("rot90", lambda d, s: ()),
    ("tensor_split", lambda d, s: (2,)),
    ("unflatten", lambda d, s: (0, (1, -1))),
    ("hsplit", lambda d, s: (1,)),
    ("fliplr", lambda d, s: ()),
    ("mT", None),
    ("T", None),
]


def test_views():
    draw = random.Random(2)
    for _ in range(600):
        (name, arguments), shape = draw.choice(VIEWS), draw.choice(SHAPES)
        x = torch.rand(shape)
        try:
            args = arguments(draw, shape) if arguments else ()
        except (ValueError, IndexError):
            continue
        call = (lambda t: getattr(t, name)(*args)) if arguments else (lambda t: getattr(t, name))
        expected, refused = attempt(call, x)
        if refused is not None or name in ("T", "mT") and x.ndim < 2:  # PyTorch warns of these
            continue
        found, mine = call(ours(x)), ours(x)
        for one, other in zip(
            found if isinstance(found, tuple) else [found], expected if isinstance(expected, tuple) else [expected]
        ):
            assert one.shape == tuple(other.shape) and one.tolist() == other.tolist(), (name, shape, args)
            if one.numel() and name not in ("reshape", "flatten", "view"):
                assert (
                    (one.stride() == other.stride())
                    or 1 in one.shape
                    or name in ("repeat", "roll", "flip", "tile", "rot90", "fliplr")
                )
        assert mine.shape == tuple(x.shape)


def test_text_is_pytorchs():
    draw = random.Random(3)
    for _ in range(300):
        shape = draw.choice(SHAPES + [(40, 3), (2000,), (3, 40, 40)])
        x = torch.rand(shape) * 10 ** draw.randint(-6, 8)
        dtype = draw.choice([torch.float32, torch.float32, torch.int64, torch.bool, torch.float64, torch.complex64])
        x = (x if draw.random() < 0.7 else x.round()).to(dtype)
        # Their name of the dtype is longer, and may stand in a line of its own.
        assert repr(ours(x)).split() == repr(x).replace("dtype=torch.", "dtype=").split(), x


# --- DLPack -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", DTYPES + [torch.uint16, torch.uint32, torch.uint64, torch.float8_e5m2, torch.float8_e4m3fn], ids=str
)
def test_memory_is_shared_with_torch(dtype):
    theirs = torch.tensor([[0, 1], [1, 0]]).to(dtype)
    mine = bp.from_dlpack(theirs)
    assert (
        mine.dtype.name == name_of(dtype)
        and mine.data_ptr() == theirs.data_ptr()
        and mine.float().tolist() == [[0, 1], [1, 0]]
    )
    try:
        back = torch.from_dlpack(mine.T)
    except (RuntimeError, BufferError) as error:
        assert "float8" in str(dtype) or "uint" in str(dtype), error
        return
    assert back.data_ptr() == theirs.data_ptr() and back.stride() == (1, 2) and back.dtype == dtype


def test_writes_are_seen_on_both_sides():
    theirs = torch.zeros(3, 4)
    mine = bp.from_dlpack(theirs[:, 1:3])
    mine[0] = 5
    theirs[2, 2] = 7
    assert theirs[0].tolist() == [0, 5, 5, 0] and mine[2].tolist() == [0, 7] and mine.stride() == (4, 1)


def test_torch_tensors_that_require_grad_are_refused():
    with pytest.raises((BufferError, RuntimeError)):
        bp.from_dlpack(torch.ones(2, requires_grad=True))
    with pytest.raises((BufferError, RuntimeError)):
        torch.from_dlpack(bp.ones(2, requires_grad=True))


def test_memory_lives_as_long_as_torch_needs_it():
    mine = bp.ones(1000)
    theirs = torch.from_dlpack(mine)
    del mine
    gc.collect()
    assert theirs.sum().item() == 1000
    mine = bp.from_dlpack(torch.ones(1000))
    gc.collect()
    assert mine.sum().item() == 1000
    assert bp.tensor(torch.ones(2)).tolist() == bp.as_tensor(torch.ones(2)).tolist() == [1, 1]
    assert torch.as_tensor(bp.ones(2)).tolist() == torch.tensor(bp.ones(2).numpy()).tolist() == [1, 1]
