"""x[...] against NumPy: reading, writing, and what is refused.

The number of random cases is BACKPLANE_CASES, 600 by default; 20000 take a minute.
"""

import os

import backplane as bp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CASES = int(os.environ.get("BACKPLANE_CASES", "600"))
random_cases = settings(
    max_examples=CASES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize="BACKPLANE_CASES" not in os.environ,  # a day's run must not depend on luck; a search must
)

sizes = st.integers(0, 4)
shapes = st.lists(sizes, min_size=0, max_size=4).map(tuple)


def numbers(size):
    return st.integers(-size - 1, size + 1)  # now and then outside


def bounds(size):
    return st.none() | st.integers(-size - 2, size + 2)


def slices(size):
    steps = st.sampled_from([None, 1, 1, 2, 3, -1, -2])
    return st.builds(slice, bounds(size), bounds(size), steps)


def places(size):
    """Lists and arrays of integers, mostly within."""
    inside = st.integers(-size, size - 1) if size else st.integers(0, 0)
    one = st.lists(inside, max_size=3)
    two = st.lists(st.lists(inside, min_size=2, max_size=2), min_size=1, max_size=2)
    outside = st.lists(st.integers(-6, 6), max_size=2)
    dtypes = st.sampled_from([np.int64, np.int32, np.int16, np.uint8])
    lists = one | one | two | outside
    arrays = st.builds(
        lambda data, dtype: np.abs(np.array(data)).astype(dtype) if dtype is np.uint8 else np.array(data, dtype=dtype),
        lists,
        dtypes,
    )
    return lists | arrays


def masks(shape):
    """Of the leading dimensions of `shape`, or of other sizes."""
    fitting = st.integers(1, 2).map(lambda rank: shape[:rank])
    other = st.lists(sizes, min_size=1, max_size=2).map(tuple)
    mask_shapes = fitting | fitting | fitting | other
    return mask_shapes.flatmap(
        lambda shape: st.integers(0, 2**16).map(lambda seed: np.random.default_rng(seed).random(shape) < 0.5)
    )


@st.composite
def indices(draw, shape):
    """One index of NumPy's, and the same with tensors in place of some arrays."""
    parts = []
    dim = 0
    for _ in range(draw(st.integers(0, 4))):
        size = shape[dim] if dim < len(shape) else 2
        kind = draw(
            st.sampled_from(
                [
                    "number",
                    "number",
                    "slice",
                    "slice",
                    "slice",
                    "none",
                    "ellipsis",
                    "places",
                    "places",
                    "mask",
                    "bool",
                    "scalar",
                ]
            )
        )
        if kind == "number":
            parts.append(draw(numbers(size)))
        elif kind == "slice":
            parts.append(draw(slices(size)))
        elif kind == "none":
            parts.append(None)
            continue
        elif kind == "ellipsis":
            parts.append(Ellipsis)
            dim = len(shape)
            continue
        elif kind == "places":
            parts.append(draw(places(size)))
        elif kind == "mask":
            parts.append(draw(masks(shape[dim:])))
            dim += parts[-1].ndim
            continue
        elif kind == "bool":
            parts.append(draw(st.booleans()))
            continue
        else:
            parts.append(draw(st.sampled_from([np.int64, np.int32, np.uint8]))(abs(draw(numbers(size)))))
        dim += 1
    if draw(st.integers(0, 30)) == 0:
        parts.insert(0, draw(st.sampled_from([1.5, "a", [0.5], ["a"], np.array([1.0]), {}, object()])))
    theirs = parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)
    as_tensor = draw(st.booleans())

    def ours(part):
        return bp.tensor(part) if as_tensor and isinstance(part, np.ndarray) else part

    return theirs, tuple(map(ours, theirs)) if isinstance(theirs, tuple) else ours(theirs)


@st.composite
def reading(draw):
    shape = draw(shapes)
    array = np.arange(int(np.prod(shape)), dtype=draw(st.sampled_from([np.float32, np.int64]))).reshape(shape)
    if draw(st.booleans()) and len(shape) > 1:
        array = array.swapaxes(0, -1)
    return array, *draw(indices(array.shape))


REFUSED = (IndexError, TypeError, ValueError)  # NumPy refuses some indices by one, some by another


def outcome(call):
    try:
        return call(), None
    except (*REFUSED, DeprecationWarning, OverflowError) as error:
        return None, error


def tensor_like(array):
    """A tensor over its own memory, with the array's order of dimensions."""
    order = np.argsort([-step for step in array.strides], kind="stable")
    made = bp.tensor(np.array(array.transpose(order), order="C"))
    return made.permute(np.argsort(order).tolist()) if array.ndim else made


@random_cases
@given(reading())
def test_reads_what_numpy_reads(case):
    array, theirs, ours = case
    expected, refused = outcome(lambda: np.array(array[theirs]))
    found, error = outcome(lambda: tensor_like(array)[ours])
    if refused is not None:
        assert isinstance(error, REFUSED), f"{array.shape}[{theirs!r}]: NumPy says {refused!r}, and we give {found!r}"
        return
    assert error is None, f"{array.shape}[{theirs!r}]: {error!r}, where NumPy gives {expected!r}"
    assert found.shape == expected.shape, f"{array.shape}[{theirs!r}]: {found.shape}, not {expected.shape}"
    assert found.tolist() == expected.tolist(), f"{array.shape}[{theirs!r}]"


@st.composite
def writing(draw):
    array, theirs, ours = draw(reading())
    found, refused = outcome(lambda: np.array(array[theirs]))
    kind = draw(st.sampled_from(["number", "same", "same", "broadcast", "longer", "list", "wrong", "itself"]))
    shape = found.shape if refused is None else (2,)
    if kind == "number":
        value = draw(st.sampled_from([7, True, np.int64(9)]))
    elif kind == "broadcast":
        value = np.arange(100, 100 + int(np.prod(shape[1:]))).reshape(shape[1:])
    elif kind == "longer" and shape:  # NumPy takes no list for a single element
        value = np.arange(100, 100 + int(np.prod(shape))).reshape((1, 1) + shape)
    elif kind == "wrong":
        value = np.arange(100, 105)
    elif kind == "itself":
        value = None
    else:
        value = np.arange(100, 100 + int(np.prod(shape))).reshape(shape)
    if kind == "list" and value.ndim:
        value = value.tolist()
    return array, theirs, ours, value


@random_cases
@given(writing(), st.booleans())
def test_writes_what_numpy_writes(case, as_tensor):
    array, theirs, ours, value = case
    expected, found = array.copy(order="K"), tensor_like(array)

    def write_theirs():
        expected[theirs] = expected[..., ::-1] if value is None and expected.ndim else 5 if value is None else value

    def write_ours():
        own = value
        if value is None:
            own = found[..., ::-1] if found.ndim else 5
        elif as_tensor and isinstance(value, np.ndarray):
            own = bp.tensor(value)
        found[ours] = own

    _, refused = outcome(write_theirs)
    _, error = outcome(write_ours)
    if "requires a 0 or 1-dimensional input" in str(refused):
        return  # NumPy alone drops no dimensions of size 1 where a mask is written
    if refused is not None:
        assert isinstance(error, REFUSED), f"{array.shape}[{theirs!r}] = {value!r}: NumPy says {refused!r}"
        assert found.tolist() == array.tolist(), "a refused write changed something"
        return
    if error is not None and array[theirs].size == 0:
        return  # NumPy takes values of any shape for no place at all
    assert error is None, f"{array.shape}[{theirs!r}] = {value!r}: {error!r}"
    assert found.tolist() == expected.tolist(), f"{array.shape}[{theirs!r}] = {value!r}"


# --- Single cases -----------------------------------------------------------------------------------------------------


def test_numbers_and_slices_are_views():
    x = bp.zeros(3, 4)
    x[1][2] = 5
    x[:, 0][::2] = 7
    x[None, ..., None][0, 2, 3, 0] = 9
    assert x.tolist() == [[7, 0, 0, 0], [0, 0, 5, 0], [7, 0, 0, 9]]
    assert x[0].shares_storage(x) and x[...].shares_storage(x) and x[()].shares_storage(x)
    assert not x[[0]].shares_storage(x) and not x[::-1].shares_storage(x)


def test_views_are_recorded():
    x = bp.ones(3, 4, requires_grad=True)
    y = x * 1
    y[0, 1:3] = 0
    y[:, ::-1][2] = 3.0  # a copy: y stays
    (y[1:, [0, 0, 2]] * 2).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0, 0], [4, 0, 2, 0], [4, 0, 2, 0]]
    x.grad = None
    x[::-2, None, -1].sum().backward()
    assert x.grad.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]


def test_written_values_get_their_derivative():
    x, value = bp.zeros(4), bp.tensor([1.0, 2.0], requires_grad=True)
    x[::-3] = value
    x[[1, 2]] = value * 2
    (x * bp.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert x.tolist() == [2, 2, 4, 1]
    assert value.grad.tolist() == [1020, 201]


def test_a_leaf_that_requires_grad_is_not_written():
    x = bp.zeros(3, requires_grad=True)
    with pytest.raises(ValueError):
        x[0] = 1
    with bp.no_grad():
        x[0] = 1
    assert x.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    "index", [3, -4, (0, 0, 0), (..., ...), 1.0, "a", [5], ([0, 1], [0, 1, 2]), bp.tensor([True]), object()]
)
def test_wrong_indices_are_index_errors(index):
    x = bp.zeros(3, 2)
    with pytest.raises((IndexError, TypeError) if index in ("a",) else IndexError):
        x[index]
    with pytest.raises((IndexError, TypeError) if index in ("a",) else IndexError):
        x[index] = 1


def test_deleting_is_refused():
    x = bp.zeros(3)
    with pytest.raises(TypeError):
        del x[0]


def test_indices_whose_methods_change_the_tensor():
    x = bp.zeros(3, 4)

    class Shrinking:
        def __index__(self):
            x.data = bp.zeros(1)
            return 2

    with pytest.raises(IndexError):
        x[Shrinking(), 3]
    y = bp.zeros(3, 4)

    class Shorter:
        def __index__(self):
            y.data = bp.zeros(2)
            return 1

    assert y[slice(Shorter(), None)].shape == (1,)


def test_meta_tensors_have_views_too():
    x = bp.empty(3, 4, device="meta")
    assert x[1:, None, ::2].shape == (2, 1, 2) and x[0, 0].shape == ()


def test_iterates_and_contains():
    x = bp.arange(6).reshape(3, 2)
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    assert 4 in x and 7 not in x and bp.tensor(5) in x
    assert len(x) == 3 and list(reversed(x.tolist()))[0] == [4, 5]
    with pytest.raises(TypeError):
        iter(bp.tensor(1))
    with pytest.raises(TypeError):
        len(bp.tensor(1))
    with pytest.raises(TypeError):
        "a" in x
