"""The array API standard 2024.12, from its text; values are NumPy's. The standard's own suite is run by array_api/run."""

import cmath
import math

import backplane
import backplane.array_api as xp
import numpy
import pytest

NAMES = """
e inf nan pi newaxis
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
astype can_cast finfo iinfo isdtype result_type
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift
bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite
isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum
multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square sqrt subtract tan
tanh trunc
take take_along_axis __array_namespace_info__
matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort
cumulative_prod cumulative_sum max mean min prod std sum var all any diff
""".split()
LINALG = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr
slogdet solve svd svdvals tensordot trace vecdot vector_norm""".split()
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift".split()
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()


@pytest.fixture(params=["cpu:0", "reference:0"], autouse=True)
def device(request):
    with backplane.device(request.param) as entered:
        yield entered


def values(x):
    return numpy.asarray(x.cpu())


def test_has_every_name():
    assert [name for name in NAMES if not hasattr(xp, name)] == []
    assert [name for name in LINALG if not hasattr(xp.linalg, name)] == []
    assert [name for name in FFT if not hasattr(xp.fft, name)] == []


def test_tensors_know_the_namespace(device):
    x = xp.ones((2, 3))
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="1999"):
        x.__array_namespace__(api_version="1999.12")
    assert x.size == 6 and isinstance(x.size, int) and x.size() == (2, 3) and x.size(-1) == 3
    assert x.device == device and x.to_device("cpu:0").device == backplane.device("cpu:0")
    assert xp.__array_namespace_info__().dtypes(kind="real floating") == {"float32": xp.float32, "float64": xp.float64}


@pytest.mark.parametrize("a", INTEGERS)
@pytest.mark.parametrize("b", INTEGERS)
def test_integers_promote_to_what_holds_both(a, b):
    wanted = numpy.result_type(a, b)
    first, second = xp.ones((2,), dtype=getattr(xp, a)), xp.ones((2,), dtype=getattr(xp, b))
    if wanted.kind == "f":  # nothing holds uint64 and a sign
        with pytest.raises(ValueError, match="common type"):
            xp.result_type(first, second)
        with pytest.raises(ValueError, match="common type"):
            first + second
        return
    assert xp.result_type(first, second).name == wanted.name
    assert xp.add(first, second).dtype.name == (first + second).dtype.name == wanted.name
    assert xp.equal(xp.ones((), dtype=first.dtype), second).dtype == xp.bool


def test_numbers_take_the_arrays_dtype():
    assert xp.result_type(xp.int8, 1) == xp.int8 and xp.result_type(xp.float32, 1.5, 2) == xp.float32
    assert xp.result_type(xp.float32, 1j) == xp.complex64 and xp.result_type(xp.float64, 1j) == xp.complex128
    assert xp.add(xp.ones((2,), dtype=xp.uint8), 3).dtype == xp.uint8
    assert xp.maximum(2.5, xp.ones((2,), dtype=xp.float64)).dtype == xp.float64


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (), (1,)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name, axis, keepdims):
    x = numpy.linspace(-1, 2, 24).reshape(2, 3, 4)
    found = getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keepdims)
    numpy.testing.assert_allclose(values(found), getattr(numpy, name)(x, axis=axis, keepdims=keepdims), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sums_of_integers_have_64_bits(dtype):
    x = xp.full((3,), 100, dtype=getattr(xp, dtype))
    wide = xp.uint64 if dtype.startswith("u") else xp.int64
    for name in ("sum", "prod", "cumulative_sum"):
        found = getattr(xp, name)(x)
        assert found.dtype == wide
    assert int(xp.sum(x)) == 300 and int(xp.prod(x)) == 10**6


def test_special_cases():
    inf, nan = math.inf, math.nan
    bits = lambda x: [(math.copysign(1, each), abs(each)) for each in x.tolist()]  # noqa: E731
    a = xp.asarray([inf, inf, -inf, 1.0, -1.0])
    b = xp.asarray([2.0, -2.0, 2.0, -inf, inf])
    assert bits(xp.floor_divide(a, b)) == bits(xp.asarray([inf, -inf, -inf, -0.0, -0.0]))
    assert bits(xp.remainder(xp.asarray([-0.0, 0.0]), xp.asarray([1.0, -1.0]))) == bits(xp.asarray([0.0, -0.0]))
    assert math.isnan(float(xp.sign(xp.asarray(nan)))) and xp.signbit(xp.asarray([-0.0, 0.0, -inf])).tolist() == [True, False, True]
    for z in (complex(inf, 1), complex(inf, -2), complex(-inf, 2)):
        found = xp.tanh(xp.asarray([z], dtype=xp.complex128)).tolist()[0]
        assert found.real == math.copysign(1, z.real) and math.copysign(1, found.imag) == math.copysign(1, z.imag)
    assert xp.round(xp.asarray([0.5, 1.5, -2.5])).tolist() == [0.0, 2.0, -2.0]
    assert xp.clip(xp.asarray([1, 5, 9], dtype=xp.uint8), -3, 300).tolist() == [1, 5, 9]


def test_unique_elements_of_all_kinds():
    for x in ([3, 1, 3, 2], [1.5, math.nan, 1.5, math.nan], [1 + 2j, 1 - 1j, 1 + 2j, 0j], [True, False, True, True]):
        array = xp.asarray(x)
        values_, indices, inverse, counts = xp.unique_all(array)
        assert values_[inverse].shape == array.shape and int(xp.sum(counts)) == 4
        for place, each in zip(inverse.tolist(), x):
            found = values_.tolist()[place]
            assert found == each or cmath.isnan(each)
        assert [x[i] for i in indices.tolist() if not cmath.isnan(x[i])] == [v for v in values_.tolist() if not cmath.isnan(v)]
    assert xp.unique_counts(xp.asarray([math.nan, math.nan])).counts.tolist() == [1, 1]


def test_indexing_by_arrays_along_axes():
    x = numpy.arange(24).reshape(2, 3, 4)
    array = xp.asarray(x)
    assert (values(xp.take(array, xp.asarray([2, -1, 0]), axis=1)) == x.take([2, -1, 0], axis=1)).all()
    places = numpy.asarray([[[0, -1]], [[2, 1]]])
    assert (values(xp.take_along_axis(array, xp.asarray(places), axis=-1)) == numpy.take_along_axis(x, places, axis=-1)).all()
    assert (values(array[:, ::-1]) == x[:, ::-1]).all() and (values(xp.flip(array, axis=(0, 2))) == x[::-1, :, ::-1]).all()


@pytest.mark.parametrize("arguments", [(0, 1, 5), (3, -2, 7), (1, 1, 3), (0, 1, 1), (0, 1, 0), (2, 9, 100)])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_meets_both_ends(arguments, endpoint):
    found = xp.linspace(*arguments, endpoint=endpoint, dtype=xp.float64)
    numpy.testing.assert_allclose(values(found), numpy.linspace(*arguments, endpoint=endpoint), rtol=1e-14, atol=1e-15)
    if endpoint and arguments[2] > 1:
        assert float(found[-1]) == arguments[1]


def test_creation():
    assert xp.arange(5, 0, -2).tolist() == [5, 3, 1] and xp.arange(3, 3).shape == (0,) and xp.arange(0, 5, -1).shape == (0,)
    for k in (-9, -1, 0, 2, 2**70):
        assert (values(xp.eye(3, 4, k=k)) == numpy.eye(3, 4, k=max(-9, min(k, 9)))).all()
    assert xp.full((), 3.402823466385289e38, dtype=xp.float32).dtype == xp.float32
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1, 2], copy=False)
    x = xp.ones((3,))
    assert xp.asarray(x, copy=True) is not x and xp.asarray(x).shares_storage(x)


def test_linear_algebra():
    generator = numpy.random.default_rng(7)
    a, b = generator.normal(size=(2, 4, 4)), generator.normal(size=(2, 4, 3))
    spd = a @ a.swapaxes(-1, -2) + 4 * numpy.eye(4)
    for name, args in (("det", (a,)), ("inv", (a,)), ("cholesky", (spd,)), ("eigvalsh", (spd,)), ("pinv", (b,)), ("solve", (a, b)),
                       ("matrix_rank", (b,)), ("trace", (a,)), ("svdvals", (b,))):
        found = getattr(xp.linalg, name)(*map(xp.asarray, args))
        numpy.testing.assert_allclose(values(found), getattr(numpy.linalg, name)(*args), rtol=1e-9, atol=1e-11)
    for order in (math.inf, -math.inf, 1, -1, 2, -2, "fro", "nuc"):
        numpy.testing.assert_allclose(
            values(xp.linalg.matrix_norm(xp.asarray(a), ord=order)), numpy.linalg.matrix_norm(a, ord=order), rtol=1e-9)
    for order in (0, 1, 2, 3.5, math.inf, -math.inf):
        numpy.testing.assert_allclose(
            values(xp.linalg.vector_norm(xp.asarray(a), axis=1, ord=order)), numpy.linalg.vector_norm(a, axis=1, ord=order), rtol=1e-9)
    with pytest.raises(ValueError, match="axis"):
        xp.linalg.vecdot(xp.ones((2, 3)), xp.ones((2, 4)))


def test_fourier_transforms():
    x = numpy.random.default_rng(8).normal(size=(3, 8))
    for name in ("fft", "ifft", "rfft", "hfft", "ihfft", "fftn", "rfftn"):
        if name in ("fftn", "rfftn"):
            found, wanted = getattr(xp.fft, name)(xp.asarray(x)), getattr(numpy.fft, name)(x)
        else:
            found, wanted = getattr(xp.fft, name)(xp.asarray(x), n=6, axis=1), getattr(numpy.fft, name)(x, n=6, axis=1)
        numpy.testing.assert_allclose(values(found), wanted, rtol=1e-12, atol=1e-12)
    for n in (1, 2, 7, 8):
        numpy.testing.assert_allclose(values(xp.fft.fftfreq(n, d=0.5, dtype=xp.float64)), numpy.fft.fftfreq(n, 0.5))
        numpy.testing.assert_allclose(values(xp.fft.rfftfreq(n, d=0.5, dtype=xp.float64)), numpy.fft.rfftfreq(n, 0.5))
        numpy.testing.assert_array_equal(values(xp.fft.fftshift(xp.arange(n))), numpy.fft.fftshift(numpy.arange(n)))
        numpy.testing.assert_array_equal(values(xp.fft.ifftshift(xp.arange(n))), numpy.fft.ifftshift(numpy.arange(n)))
