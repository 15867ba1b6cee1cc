"""The rarer functions give PyTorch's values."""

import pytest

torch = pytest.importorskip("torch")
import backplane as bp  # noqa: E402
from backplane.autograd import functional  # noqa: E402
from torch.autograd import functional as peer_functional  # noqa: E402

MATRIX = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
ROWS = [[1.0, 4.0, 9.0, 17.0], [2.0, 3.0, 7.0, 1.0], [0.0, 1.0, 5.0, 2.0]]
CASES = [
    ("gcd", [[12, 18, 0, -4], [8, 27, 5, 6]], {}),
    ("lcm", [[12, 18, 0, -4], [8, 27, 5, 6]], {}),
    ("addbmm", [MATRIX, [[[1.0, 2.0]] * 2] * 2, [[[1.0, 2.0, 3.0]] * 2] * 2], {"beta": 0.5, "alpha": 2}),
    ("chain_matmul", [MATRIX, [[1.0, 2.0]] * 3, [[1.0], [2.0]]], {}),
    ("diagflat", [MATRIX, 1], {}),
    ("diagonal_scatter", [MATRIX, [1.0, 1.0]], {}),
    ("as_strided_scatter", [MATRIX, [9.0, 8.0], (2,), (4,)], {}),
    ("renorm", [MATRIX, 2, 0, 0.5], {}),
    ("unique_consecutive", [[1, 1, 2, 2, 1], True, True], {}),
    ("combinations", [[1, 2, 3], 2, True], {}),
    ("unravel_index", [[5, 7], (3, 4)], {}),
    ("cumulative_trapezoid", [ROWS], {"dx": 0.5}),
    ("cumulative_trapezoid", [ROWS, [0.0, 1.0, 3.0, 4.5]], {}),
    ("vander", [[1, 2, 3]], {}),
    ("vander", [[1.0, 2.0, 3.0], 2, True], {}),
    ("kaiser_window", [7], {}),
    ("kaiser_window", [8, False, 5.0], {}),
    ("bartlett_window", [6, False], {}),
    ("bartlett_window", [6], {}),
    ("range", [1, 5, 2], {}),
    ("narrow_copy", [MATRIX, 1, 0, 2], {}),
    ("gradient", [ROWS], {"spacing": 2.0}),
    ("gradient", [ROWS], {"edge_order": 2}),
    ("gradient", [ROWS[0]], {"spacing": ([0.0, 1.0, 3.0, 4.5],), "edge_order": 2}),
    ("round", [[1.2345, 155.0, -2.5]], {"decimals": 2}),
    ("round", [[1.2345, 155.0, -2.5]], {"decimals": -1}),
    ("unsafe_split", [MATRIX, 2, 1], {}),
    ("fill", [MATRIX, 3], {}),
]


def given(module, value):
    if isinstance(value, tuple) and any(isinstance(each, (list, tuple)) for each in value):
        return tuple(given(module, each) for each in value)
    return module.tensor(value) if isinstance(value, list) else value


def check(found, expected):
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        return [check(*each) for each in zip(found, expected)]
    found = torch.from_dlpack(found.detach())
    assert found.shape == expected.shape and found.dtype == expected.dtype
    torch.testing.assert_close(found, expected.detach())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, args, options", CASES)
def test_values(name, args, options):
    found, expected = (
        getattr(module, name)(
            *(given(module, each) for each in args), **{key: given(module, value) for key, value in options.items()}
        )
        for module in (bp, torch)
    )
    check(found, expected)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64", "float8_e4m3fn", "float8_e5m2"])
def test_finfo(name):
    found, expected = bp.finfo(getattr(bp, name)), torch.finfo(getattr(torch, name))
    for fact in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(found, fact) == getattr(expected, fact), fact


@pytest.mark.parametrize("norm", [None, "forward", "backward", "ortho"])
@pytest.mark.parametrize("name", ["hfft2", "hfftn", "ihfft2", "ihfftn"])
def test_hermitian_transforms(name, norm):
    x = torch.randn(4, 5, 6, dtype=torch.float64 if name.startswith("i") else torch.complex128)
    check(getattr(bp.fft, name)(bp.from_dlpack(x), norm=norm), getattr(torch.fft, name)(x, norm=norm))


@pytest.mark.parametrize("p", [None, 2, -2, "fro", "nuc", 1, float("inf")])
def test_condition_numbers(p):
    x = torch.randn(2, 3, 3, dtype=torch.float64)
    check(bp.linalg.cond(bp.from_dlpack(x), p), torch.linalg.cond(x, p))


FUNCTIONS = {"vjp": lambda a, b: (a * b).sin().sum(0), "vhp": lambda a, b: (a * b).sin().sum() * a.sum()}


@pytest.mark.parametrize("name, of, v", [
    ("jacobian", "vjp", ()), ("vjp", "vjp", ([1.0, 2.0, 3.0],)), ("jvp", "vjp", ((MATRIX, MATRIX),)), ("hessian", "vhp", ()),
    ("vhp", "vhp", ((MATRIX, MATRIX),)), ("hvp", "vhp", ((MATRIX, MATRIX),)),
])  # fmt: skip
def test_derivatives_of_functions(name, of, v):
    found, expected = (
        getattr(home, name)(FUNCTIONS[of], given(module, (MATRIX, MATRIX)), *(given(module, each) for each in v))
        for home, module in ((functional, bp), (peer_functional, torch))
    )
    check(found, expected)


def test_draws_have_their_means():
    bp.manual_seed(3)
    for rate in (0.5, 4.0, 50.0):
        drawn = bp.poisson(bp.full((40000,), rate))
        assert drawn.mean().item() == pytest.approx(rate, rel=0.02) and drawn.var().item() == pytest.approx(rate, rel=0.05)
    assert bp.zeros(40000).geometric_(0.25).mean().item() == pytest.approx(4, rel=0.03)
    assert bp.zeros(40000).log_normal_(0.0, 0.5).log().std().item() == pytest.approx(0.5, rel=0.03)
    assert bp.zeros(40000).cauchy_(2.0, 3.0).median().item() == pytest.approx(2, abs=0.15)
