"""Tensors as objects of Python's: making them, arithmetic, numbers, text, copies, forms by PyTorch's names."""

import copy
import gc
import math
import operator
import pickle

import backplane as bp
import numpy as np
import pytest

DTYPES = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
]


# --- Making -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data, dtype, shape",
    [
        (1, "int64", ()),
        (2.5, "float32", ()),
        (True, "bool", ()),
        (1j, "complex64", ()),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        ([1, 2.5], "float32", (2,)),
        ([True, 2], "int64", (2,)),
        ([1, 2j], "complex64", (2,)),
        ([(1, 2), [3, 4]], "int64", (2, 2)),
        (range(3), "int64", (3,)),
        ([range(2), range(2)], "int64", (2, 2)),
        (np.float16(2), "float16", ()),
        (np.uint32(7), "uint32", ()),
        ([np.float64(1), np.int8(2)], "float32", (2,)),
        (np.ones((2, 3)), "float64", (2, 3)),
        ([np.ones(2), np.zeros(2)], "float64", (2, 2)),
        (np.ones(3)[::-1], "float64", (3,)),
        (np.ones(3, dtype=">f4"), "float32", (3,)),
        (np.broadcast_to(np.ones(1), (3,)), "float64", (3,)),
        (2**63, "uint64", ()),
        ([-1, 2], "int64", (2,)),
        (memoryview(b"ab"), "int64", (2,)),
        (np.array(5), "int64", ()),
        (np.ones((2, 0)), "float64", (2, 0)),
        (np.bool_(True), "bool", ()),
    ],
    ids=str,
)
def test_tensor_of(data, dtype, shape):
    made = bp.tensor(data)
    assert (made.dtype.name, made.shape) == (dtype, shape)
    if not isinstance(data, (bytes, memoryview)):
        assert made.tolist() == np.array(data).astype(dtype).reshape(shape).tolist()


@pytest.mark.parametrize(
    "data, error",
    [
        ([[1], [1, 2]], ValueError),
        ([1, [2]], ValueError),
        ([[1], 2], ValueError),
        ("abc", TypeError),
        (b"ab", TypeError),
        (None, TypeError),
        ([None], TypeError),
        ({1}, TypeError),
        ({1: 2}, TypeError),
        (object(), TypeError),
        (np.array(["a"]), TypeError),
        (np.array([None]), TypeError),
        (np.zeros(2, dtype="M8[s]"), TypeError),
        (2**64, OverflowError),
        ([[["a"]]], TypeError),
    ],
    ids=repr,
)
def test_no_tensor_of(data, error):
    with pytest.raises(error):
        bp.tensor(data)


def test_lists_without_end():
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError):
        bp.tensor(endless)


def test_options_of_tensor():
    x = bp.tensor([1.7, 2.2], dtype=bp.int64)
    assert (
        x.tolist() == [1, 2]
        and bp.tensor([1], dtype=float).dtype == bp.float32
        and bp.tensor([1], dtype="float16").dtype == bp.float16
    )
    assert (
        bp.tensor([1.0], requires_grad=True).requires_grad
        and bp.tensor(np.ones(1), dtype=np.dtype("int8")).dtype == bp.int8
    )
    source = bp.ones(2)
    made = bp.tensor(source)
    made[0] = 5
    assert source.tolist() == [1, 1]
    assert bp.as_tensor(source).shares_storage(source) and bp.asarray(source).shares_storage(source)
    assert not bp.asarray(source, copy=True).shares_storage(source)
    with pytest.raises(ValueError):
        bp.asarray(source, dtype=bp.int8, copy=False)
    with pytest.raises(ValueError):
        bp.tensor([1], requires_grad=True)
    for wrong in (dict(dtype=3), dict(device=3)):
        with pytest.raises(TypeError):
            bp.tensor([1], **wrong)


# --- Arithmetic -------------------------------------------------------------------------------------------------------


def test_operators_write_in_place():
    x = bp.tensor([5.0, 7.0])
    y = x
    x += 1
    x *= 2
    x -= 4
    x /= 2
    x //= 1
    x %= 5
    x **= 2
    assert x is y and x.tolist() == [16, 1]
    i = j = bp.tensor([6, 3])
    i <<= 1
    i >>= 1
    i &= 2
    i |= 1
    i ^= 1
    assert i is j and i.tolist() == [2, 2]
    with pytest.raises(ValueError):
        i += bp.ones(3, 2)
    with pytest.raises(TypeError):
        i += "a"


@pytest.mark.parametrize("name", "add sub mul truediv floordiv mod pow eq ne lt le gt ge".split())
def test_numbers_and_arrays_on_both_sides(name):
    function = getattr(operator, name)
    array = np.array([1.0, 2.0, 4.0])
    x = bp.tensor(array)
    for other in (2, 2.5, True, np.float64(2.5), np.int32(3), np.array([3.0, 2.0, 1.0]), np.array(2.0)):
        for found, expected in (
            (function(x, other), function(array, other)),
            (function(other, x), function(other, array)),
        ):
            assert type(found) is bp.Tensor
            assert found.tolist() == pytest.approx(np.asarray(expected).tolist())
    assert (np.ones((2, 3)) @ bp.ones(3, 2, dtype=bp.float64)).tolist() == [[3, 3], [3, 3]]


def test_others_answer_for_themselves():
    class Other:
        def __radd__(self, other):
            return "radd"

        def __rmatmul__(self, other):
            return "rmatmul"

        def __eq__(self, other):
            return "eq"

    x = bp.ones(2)
    assert x + Other() == "radd" and x @ Other() == "rmatmul" and (x == Other()) == "eq"
    assert (x == None) is False and (x != None) is True and (x == "a") is False  # noqa: E711
    for call in (
        lambda: x + None,
        lambda: "a" + x,
        lambda: x < None,
        lambda: x @ 2,
        lambda: x + [1, 2],
        lambda: pow(x, 2, 3),
    ):
        with pytest.raises(TypeError):
            call()


def test_matmul_of_all_ranks():
    r = np.random.default_rng(0)
    for a, b in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((3,), (5, 3, 4)),
    ):
        left, right = r.random(a), r.random(b)
        found = bp.tensor(left) @ bp.tensor(right)
        assert np.allclose(found.numpy(), left @ right) and found.shape == (left @ right).shape
        assert np.allclose(bp.matmul(bp.tensor(left), bp.tensor(right)).numpy(), left @ right)
    with pytest.raises(ValueError, match="matmul"):
        bp.ones(2, 3) @ bp.ones(2, 3)


# --- Numbers and text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_come_out(dtype):
    one = bp.tensor([[1]]).to(getattr(bp, dtype))
    assert (
        one.item() == 1
        and float(one) == 1
        and int(one) == 1
        and complex(one) == 1
        and bool(one)
        and one.tolist() == [[1]]
    )
    kind = bool if dtype == "bool" else complex if "complex" in dtype else int if "int" in dtype else float
    assert type(one.item()) is kind and type(one.tolist()[0][0]) is kind
    if kind in (int, bool):
        assert operator.index(one) == 1 and [5, 6][one] == 6
    else:
        with pytest.raises(TypeError):
            operator.index(one)
    two = bp.ones(2).to(getattr(bp, dtype))
    for call in (two.item, lambda: float(two), lambda: int(two), lambda: bool(two), lambda: complex(two)):
        with pytest.raises((ValueError, TypeError)):
            call()


def test_numbers_that_do_not_fit():
    with pytest.raises(TypeError):
        float(bp.tensor(1 + 1j))
    with pytest.raises(OverflowError):
        int(bp.tensor(math.inf))
    with pytest.raises(ValueError):
        int(bp.tensor(math.nan))
    with pytest.raises((ValueError, bp.Error)):
        bp.empty((), device="meta").item()
    assert bp.tensor(2**64 - 1, dtype=bp.uint64).item() == 2**64 - 1


def test_text():
    x = bp.tensor([[1.5, 2.0], [3.0, math.nan]])
    assert repr(x) == "tensor([[1.5000, 2.0000],\n        [3.0000,    nan]])"
    assert repr(bp.tensor([1.0], requires_grad=True)) == "tensor([1.], requires_grad=True)"
    assert "grad_fn" in repr(bp.tensor([1.0], requires_grad=True) * 2)
    assert (
        f"{bp.tensor(2.5):.2f}" == "2.50" and f"{bp.tensor([1])}" == "tensor([1])" and str(bp.tensor(1)) == "tensor(1)"
    )
    assert "meta" in repr(bp.empty(2, device="meta")) and "float16" in repr(bp.ones(1, dtype=bp.float16))
    before = bp.get_printoptions()
    try:
        bp.set_printoptions(precision=2, sci_mode=False)
        assert repr(bp.tensor([1.23456])) == "tensor([1.23])"
        bp.set_printoptions(threshold=3, edgeitems=1)
        assert "..." in repr(bp.arange(10))
        bp.set_printoptions(profile="full")
        assert "..." not in repr(bp.arange(2000))
        for wrong in (dict(precision=-1), dict(profile="none")):
            with pytest.raises(ValueError):
                bp.set_printoptions(**wrong)
        with pytest.raises(TypeError):
            bp.set_printoptions(precision="a")
    finally:
        bp.set_printoptions(**before)


# --- Attributes, copies -----------------------------------------------------------------------------------------------


def test_attributes():
    x = bp.ones(2, 3, dtype=bp.float64)
    assert (x.shape, x.ndim, x.itemsize, x.nbytes, x.numel(), x.stride(), x.stride(0), x.dim()) == (
        (2, 3),
        2,
        8,
        48,
        6,
        (3, 1),
        3,
        2,
    )
    assert x.device == bp.device("cpu") and x.device is x.device and x.dtype is bp.float64 and not x.is_meta
    assert (
        x.T.shape == x.mT.shape == x.t().shape == (3, 2)
        and x.real is x
        and x.is_contiguous()
        and not x.T.is_contiguous()
    )
    z = bp.tensor([[1 + 2j, 3j]])
    assert z.imag.tolist() == [[2, 3]] and z.mH.tolist() == z.H.tolist() == [[1 - 2j], [-3j]]
    assert x.imag.tolist() == [[0, 0, 0], [0, 0, 0]] and x.imag.dtype is x.dtype
    with pytest.raises(ValueError):
        x.imag.fill_(1)  # a write that x would not see
    z.real.fill_(7)
    assert z.tolist() == [[7 + 2j, 7 + 3j]]
    for name in ("shape", "dtype", "device", "T", "is_leaf", "grad_fn"):
        with pytest.raises(AttributeError):
            setattr(x, name, 1)
    for name, value in (("requires_grad", 1), ("data", 1), ("grad", 1)):
        with pytest.raises(TypeError):
            setattr(x, name, value)
    for call in (
        lambda: x.size(2),
        lambda: x.stride(5),
        lambda: bp.ones(2, 2, 2).H,
        lambda: bp.ones(2, 2, 2).t(),
    ):
        with pytest.raises((ValueError, IndexError)):
            call()
    x.own = 5
    assert x.own == 5 and x.__dict__ == {"own": 5} and hash(x) == hash(x) and x in {x: 1}


def test_moves_return_the_same_object_where_nothing_is_to_do():
    x = bp.ones(2)
    assert (
        x.to("cpu") is x
        and x.to(bp.float32) is x
        and x.float() is x
        and x.cpu() is x
        and x.contiguous() is x
        and x.to(x) is x
    )
    assert (
        x.to(bp.float32, copy=True) is not x
        and x.to(dtype=bp.int8).dtype == bp.int8
        and x.to("cpu", bp.float16).dtype == bp.float16
    )
    assert (
        x.type_as(bp.ones(1, dtype=bp.int32)).dtype == bp.int32
        and x.double().long().half().bfloat16().int().bool().dtype == bp.bool
    )
    for wrong in (
        lambda: x.to(3),
        lambda: x.to("acme"),
        lambda: x.to(nothing=1),
        lambda: x.contiguous(memory_format="a"),
    ):
        with pytest.raises((TypeError, ValueError)):
            wrong()


@pytest.mark.parametrize("dtype", DTYPES + ["float8_e5m2"])
def test_pickling(dtype):
    x = bp.tensor([[0, 1], [2, 3]]).to(getattr(bp, dtype)).T
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        found = pickle.loads(pickle.dumps(x, protocol))
        assert found.dtype == x.dtype and found.shape == x.shape and found.float().tolist() == x.float().tolist()
    assert pickle.loads(pickle.dumps(x.dtype)) is x.dtype and pickle.loads(pickle.dumps(x.device)) == x.device
    leaf = bp.ones(2, requires_grad=True)
    assert pickle.loads(pickle.dumps(leaf)).requires_grad and pickle.loads(pickle.dumps(bp.empty(0, 3))).shape == (0, 3)


class Parameter(bp.Tensor):
    pass


def test_copies():
    x = bp.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    deep = copy.deepcopy([x, x])
    assert (
        deep[0] is deep[1]
        and deep[0].requires_grad
        and deep[0].grad.tolist() == [2, 2]
        and not deep[0].shares_storage(x)
    )
    with pytest.raises(ValueError):
        copy.deepcopy(x * 2)
    assert copy.copy(x).tolist() == [1, 1]
    x.own = [1]
    assert copy.deepcopy(x).own == [1] and copy.deepcopy(x).own is not x.own
    p = Parameter(bp.ones(2))
    p.own = 3
    q = copy.deepcopy(p)
    assert type(q) is Parameter and q.own == 3
    assert type(p + 1) is bp.Tensor and isinstance(p, bp.Tensor) and (p + p).tolist() == [2, 2]


class Named(bp.Tensor):
    def __init__(self, values, name):
        super().__init__(values)
        self.name = name


def test_pickles_keep_the_order_in_memory_the_class_and_what_was_written_on_the_object():
    for x in (bp.arange(6).reshape(2, 3).t(), bp.rand(2, 3, 4, 5).contiguous(memory_format="channels_last")):
        again = pickle.loads(pickle.dumps(x))
        assert again.stride() == x.stride() and again.tolist() == x.tolist()
    assert pickle.loads(pickle.dumps(bp.arange(6)[::2])).tolist() == [0, 2, 4]
    assert pickle.loads(pickle.dumps(bp.ones(3).expand(2, 3))).is_contiguous()
    for made in (pickle.loads(pickle.dumps(Named(bp.ones(2), "a"))), copy.deepcopy(Named(bp.ones(2), "a")), copy.copy(Named(bp.ones(2), "a"))):
        assert type(made) is Named and made.name == "a" and made.tolist() == [1, 1]
    x = bp.ones(2)
    x.note = [1]
    assert pickle.loads(pickle.dumps(x)).note == [1]


def test_a_shallow_copy_has_the_same_memory():
    x = bp.ones(2, requires_grad=True)
    y = copy.copy(x)
    assert y is not x and y.requires_grad and y.is_leaf and y.data_ptr() == x.data_ptr()
    p = copy.copy(bp.nn.Parameter(bp.ones(2), requires_grad=False))
    assert type(p) is bp.nn.Parameter and not p.requires_grad


def test_clamp_in_place_takes_one_bound():
    x = bp.arange(4.0)
    assert x.clamp_(max=2) is x and x.tolist() == [0, 1, 2, 2]
    assert x.clamp_(min=1).tolist() == [1, 1, 2, 2] and x.clamp_(1.5, 1.75).tolist() == [1.5, 1.5, 1.75, 1.75]
    assert bp.clamp_(x, max=bp.tensor([0.0, 1, 2, 3])).tolist() == [0, 1, 1.75, 1.75] and bp.clip_ is not None
    with pytest.raises(ValueError, match="clamp_"):
        x.clamp_()


def test_reversed_is_the_last_row_first():
    assert reversed(bp.arange(6).reshape(3, 2)).tolist() == [[4, 5], [2, 3], [0, 1]] and list(reversed(bp.arange(2))) == [1, 0]


def test_a_number_is_formatted_as_one():
    assert f"{bp.tensor(5)} {bp.tensor(1.5, requires_grad=True):.2f} {bp.ones(1)}" == "5 1.50 tensor([1.])"


def test_shared_memory_of_data():
    x = bp.ones(3, requires_grad=True)
    x.data.add_(1)
    assert x.tolist() == [2, 2, 2]
    x.data = bp.zeros(5)
    assert x.shape == (5,) and x.requires_grad


# --- Forms ------------------------------------------------------------------------------------------------------------


def test_forms():
    assert bp.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]] and bp.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    assert bp.equal(bp.ones(2), bp.ones(2)) is True and bp.ones(2).equal(bp.ones(3)) is False
    assert bp.allclose(bp.ones(2), bp.ones(2) + 1e-9) and bp.tensor([3, 1, 2]).argsort().tolist() == [1, 2, 0]
    values, counts = bp.unique(bp.tensor([2, 1, 2]), return_counts=True)
    assert values.tolist() == [1, 2] and counts.tolist() == [1, 2]
    x = bp.tensor([[1.0, 5.0], [3.0, 2.0]])
    assert x.median().item() == 2 and x.median(0).values.tolist() == [1, 2] and x.max(1).indices.tolist() == [1, 0]
    assert x.quantile(bp.tensor([0.0, 1.0])).tolist() == [1, 5] and bp.tensordot(x, x).item() == 39
    assert (
        bp.vstack([x, x]).shape == (4, 2)
        and bp.hstack((x[0], x[1])).shape == (4,)
        and bp.atleast_3d(x).shape == (2, 2, 1)
    )
    assert bp.repeat_interleave(bp.tensor([1, 2]), bp.tensor([0, 2])).tolist() == [2, 2]
    assert x.scatter(1, bp.tensor([[0], [1]]), 9.0).tolist() == [[9, 5], [3, 9]]
    assert x.scatter_(1, bp.tensor([[0]]), value=7) is x and x[0, 0].item() == 7
    assert x.masked_fill(x > 4, bp.tensor(0.0)).tolist() == [[0, 0], [3, 2]] and x.clip(2, 4).tolist() == [
        [4, 4],
        [3, 2],
    ]
    assert bp.fft.fftfreq(4).tolist() == [0, 0.25, -0.5, -0.25] and bp.fft.fftshift(bp.arange(4)).tolist() == [
        2,
        3,
        0,
        1,
    ]
    assert bp.linalg.norm(bp.tensor([3.0, 4.0])).item() == 5 and bp.linalg.inv(bp.eye(2)).tolist() == [[1, 0], [0, 1]]
    assert bp.special.expit(bp.tensor(0.0)).item() == 0.5
    assert x.index_put_((bp.tensor([0]), bp.tensor([1])), bp.tensor(8.0)) is x and x[0, 1].item() == 8
    assert bp.std(x, 0, unbiased=False).shape == (2,) and x.var(False).ndim == 0
    assert (
        bp.div(bp.tensor(-7), 2, rounding_mode="trunc").item() == -3
        and bp.tensor(-7).div(2, rounding_mode="floor").item() == -4
    )
    y = bp.empty(1000)
    assert (
        set(y.bernoulli_(0.5).unique().tolist()) == {0, 1}
        and y.exponential_().min().item() > 0
        and 0 <= y.uniform_(0, 2).max().item() <= 2
    )
    for call in (
        lambda: bp.eye("a"),
        lambda: bp.linspace(0, 1, -1),
        lambda: bp.vstack(3),
        lambda: bp.div(x, 2, rounding_mode="up"),
        lambda: bp.eye(2, dtype=3),
        lambda: bp.equal(x, 1),
        lambda: bp.fft.fftshift(x, "a"),
        lambda: bp.clamp(x),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()


def test_second_names():
    for name, row in bp._aliases.ALIASES.items():
        if hasattr(bp, row):
            assert getattr(bp, name).__name__ == name and pickle.loads(pickle.dumps(getattr(bp, name))).__name__ == name
    x = bp.tensor([1.0, -2.0])
    assert (
        x.absolute_() is x
        and x.tolist() == [1, 2]
        and x.multiply(2).tolist() == [2, 4]
        and x.greater(1).tolist() == [False, True]
    )
    assert x.subtract_(1) is x and x.swapaxes(0, 0).tolist() == [0, 1] and bp.concat([x, x]).shape == (4,)


def test_errors_name_the_function_that_was_called():
    x = bp.ones(2, 3)
    for call, name in (
        (lambda: bp.mm(x, x), "mm"),
        (lambda: bp.det(x), "det"),
        (lambda: bp.subtract(x, bp.ones(4)), "subtract"),
        (lambda: x.greater_(bp.ones(4)), "greater_"),
        (lambda: x.logical_and_(bp.ones(5, 2, 3)), "logical_and_"),
        (lambda: bp.rand_like(x, dtype=bp.int64), "rand_like"),
        (lambda: bp.trapezoid(x, bp.ones(5)), "trapezoid"),
        (lambda: bp.amax(bp.ones(0)), "amax"),
        (lambda: x.swapaxes(0, "a"), "swapaxes"),
        (lambda: bp.absolute(1), "absolute"),
        (lambda: bp.absolute(), "absolute"),
        (lambda: bp.vsplit(x, "a"), "vsplit"),
        (lambda: bp.max(x, 7), "max"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^{name}(\(\))?:? "):
            call()


def test_an_error_of_earlier_work_keeps_its_name():
    x = bp.ones(3, device="reference_primitives")
    bp.gather(x, 0, bp.tensor([7], device="reference_primitives"))
    with pytest.raises(ValueError, match="^gather: ") as caught:
        bp.equal(x, x)
    assert caught.value.is_late


def test_objects_do_not_survive_their_last_reference():
    import weakref

    x = bp.ones(2)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None
