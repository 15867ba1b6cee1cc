"""The column `aten` and the recipes against this PyTorch, and what its samples do not try."""

import itertools
import subprocess
import sys
from pathlib import Path
from random import Random

import backplane_torch
import pytest
import torch

HERE = Path(__file__).parent


def test_every_name_of_the_table_is_an_operator_of_pytorch():
    assert torch.ops.backplane.unmatched_names() == []


def test_hundreds_of_operators_are_served():
    served = backplane_torch.served_operators()
    assert len(served) > 900
    assert served["add.Tensor"] == "add" and served["mm"] == "matmul"


def test_no_composite_operator_is_hidden():
    """PyTorch composes these with their derivatives, which a kernel of ours would lose."""
    for name in backplane_torch.served_operators():
        assert not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CompositeImplicitAutograd"), name


def test_the_page_of_all_operators_is_current():
    done = subprocess.run([sys.executable, HERE / "coverage_page.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_list_of_absent_operators_is_held_to_what_is_unserved():
    sys.path.append(str(HERE))
    from absent_operators import problems

    assert problems({"a": "why"}, ["a"]) == []
    assert problems({}, ["a"]) == ["a is served by nothing, and absent_operators.py has no reason"]
    assert problems({"a": "why"}, []) == ["a is in absent_operators.py, and is served, composed or no operator"]


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_in_place_and_out_write_into_what_they_are_given(shape, device):
    base = torch.ones(shape, device=device)
    place = base.data_ptr()
    assert base.add_(2).mul_(2).clamp_(max=5).data_ptr() == place
    out = torch.empty(0, device=device)
    torch.add(base, 1, out=out)
    assert out.shape == shape and torch.equal(out.cpu(), torch.full(shape, 6.0))


def test_numbers_and_tensors_promote_as_on_the_cpu(strict):
    values = [torch.tensor(2), torch.tensor(2.5), torch.tensor([1, 2]), torch.tensor([1.5, 2]), torch.tensor([1.5], dtype=torch.float64)]
    values += [torch.tensor([True, False]), torch.tensor([3], dtype=torch.uint8), torch.tensor([1.5], dtype=torch.bfloat16)]
    for first in values:
        for second in [*values, 2, 2.5, True]:
            expected = first * second
            there = second.to("backplane") if isinstance(second, torch.Tensor) else second
            result = first.to("backplane") * there
            assert result.dtype == expected.dtype and torch.equal(result.cpu(), expected)


def test_whole_numbers_become_the_default_dtype(strict):
    whole = torch.arange(4, device="backplane")
    for dtype in (torch.float64, torch.float32):
        torch.set_default_dtype(dtype)
        try:
            found = [whole / 3, whole.sin(), whole * 0.5]
            expected = [whole.cpu() / 3, whole.cpu().sin(), whole.cpu() * 0.5]
        finally:
            torch.set_default_dtype(torch.float32)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == theirs.dtype == dtype
            torch.testing.assert_close(ours.cpu(), theirs)


def test_forward_mode_derivatives_are_those_of_the_cpu(strict):
    torch.manual_seed(0)
    point, direction = torch.randn(4, 4, dtype=torch.float64), torch.randn(4, 4, dtype=torch.float64)

    def curved(x):
        return (torch.nn.functional.gelu(x) * x.detach() + torch.nn.functional.layer_norm(x, (4,))).pow(3).sum()

    for derive in (torch.func.hessian(curved), lambda x: torch.func.jvp(curved, (x,), (direction.to(x.device),))[1]):
        torch.testing.assert_close(derive(point.to("backplane")).cpu(), derive(point))


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
def test_least_squares_are_those_of_the_cpu(driver, strict):
    torch.manual_seed(0)
    matrices, wanted = torch.randn(2, 5, 3, dtype=torch.float64), torch.randn(2, 5, 2, dtype=torch.float64)
    expected = torch.linalg.lstsq(matrices, wanted, driver=driver)
    found = torch.linalg.lstsq(matrices.to("backplane"), wanted.to("backplane"), driver=driver)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        torch.testing.assert_close(ours.cpu(), theirs)


def test_tensors_of_the_cpu_without_dimensions_come_along(strict):
    x = torch.ones(3, device="backplane")
    assert (x + torch.tensor(2.0)).cpu().tolist() == [3, 3, 3]
    assert (torch.tensor(2.0, dtype=torch.float64) * x).dtype == torch.float32
    assert x[torch.tensor([0, 2])].numel() == 2


def test_conjugate_and_negative_views_are_read_and_written():
    values = torch.tensor([1 + 2j, 3 - 4j])
    there = values.to("backplane")
    assert torch.equal(there.conj().cpu(), values.conj())
    assert torch.equal((there.conj() * 2).cpu(), values.conj() * 2)
    assert torch.equal(there.conj().imag.cpu(), values.conj().imag)
    assert torch.equal(values.conj().to("backplane").cpu(), values.conj())
    copy = torch.zeros(2, dtype=torch.complex64, device="backplane")
    copy.conj().copy_(there)
    assert torch.equal(copy.cpu(), values.conj())


def elementwise_arguments(random):
    """Two tensors of any dtypes and layouts, or a number for the second, and more arguments by name."""
    is_complex = random.random() < 0.3  # PyTorch has a complex type for bfloat16, which is not one of ours
    dtypes = [torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool] + [torch.complex64 if is_complex else torch.bfloat16] * 2

    def tensor():
        dtype = random.choice(dtypes)
        values = torch.tensor([random.choice([0, 1, 2, 3, 5]) for _ in range(12)]).to(dtype).reshape(3, 4)
        lays = [lambda x: x, lambda x: x.t().contiguous().t(), lambda x: x[:1], lambda x: x[:, ::2], lambda x: x[0, 0], lambda x: x[:0],
                lambda x: x[:1].expand(3, 4), lambda x: x.conj(), lambda x: torch._neg_view(x) if dtype.is_floating_point else x]  # fmt: skip
        return random.choice(lays)(values)

    second = random.choice([tensor, tensor, tensor, lambda: 2, lambda: 2.5, lambda: True, lambda: 1j if is_complex else 3, lambda: torch.tensor(3.0)])()
    return tensor(), second, random.choice([{}, {}, {"alpha": 2}, {"alpha": 0.5}, {"alpha": 1j if is_complex else 3}])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "eq", "logical_and", "bitwise_or", "atan2", "neg", "abs", "exp", "relu"])
def test_elementwise_calls_give_and_raise_what_they_do_on_the_cpu(name, strict):
    random = Random(name)
    raised = 0
    for trial in range(120):
        first, second, more = elementwise_arguments(random)
        if name == "sub" and (second is True or torch.bool in (first.dtype, getattr(second, "dtype", None))):
            continue  # PyTorch refuses it, to hint at masks
        in_place = trial % 3 == 0 and hasattr(torch.Tensor, name + "_")
        stays = random.random() < 0.3  # the second stays on the CPU

        def call(move):
            a = move(first)
            b = second if stays or not isinstance(second, torch.Tensor) else move(second)
            others = [] if name in ("neg", "abs", "exp", "relu") else [b]
            named = more if name in ("add", "sub") else {}
            return getattr(a, name + "_" * in_place)(*others, **named), a

        try:
            expected = call(lambda x: torch._neg_view(x.neg()) if x.is_neg() else x.clone(memory_format=torch.preserve_format))
        except (RuntimeError, TypeError):
            raised += 1
            with pytest.raises((RuntimeError, TypeError)):
                call(lambda x: x.to("backplane"))
            continue
        try:
            found = call(lambda x: x.to("backplane"))
        except RuntimeError as error:
            on_two = stays and isinstance(second, torch.Tensor) and second.dim() > 0 and "same device" in str(error)
            assert on_two, (first, second, more, error)
            continue
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one.cpu(), other, equal_nan=True, check_stride=False)
    assert raised < 110


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "gelu", "silu", "hardswish", "hardsigmoid"])
def test_derivatives_of_activations_promote_and_broadcast(name, strict):
    derivative = getattr(torch.ops.aten, name + "_backward")
    shapes = [((3, 4), (3, 4)), ((3, 1), (3, 4)), ((3, 4), (1, 4)), ((), (3,))]
    dtypes = [(torch.float32, torch.float32), (torch.float32, torch.bfloat16), (torch.float32, torch.float64)]
    for (grad_shape, shape), (grad_dtype, dtype) in itertools.product(shapes, dtypes):
        grad, values = torch.rand(grad_shape, dtype=grad_dtype), torch.rand(shape).to(dtype)
        wide = derivative(*torch.broadcast_tensors(grad.double(), values.double()))
        found = derivative(grad.to("backplane"), values.to("backplane")).cpu()
        assert found.dtype == torch.result_type(grad, values)
        torch.testing.assert_close(found.double(), wide, rtol=2e-2 if dtype == torch.bfloat16 else 1e-5, atol=1e-6)


ATTENTION = {  # (shape of queries, of keys and values, shape of the mask and whether it is of truth values, more arguments)
    "plain": ((2, 4, 9, 8), (2, 4, 7, 8), None, {}),
    "causal": ((2, 4, 9, 8), (2, 4, 9, 8), None, {"is_causal": True}),
    "scaled": ((2, 4, 9, 8), (2, 4, 7, 8), None, {"scale": 0.3}),
    "grouped": ((2, 4, 9, 8), (2, 2, 7, 8), None, {"enable_gqa": True}),
    "truth values, none for one query": ((2, 4, 9, 8), (2, 4, 7, 8), ((2, 1, 9, 7), True), {}),
    "numbers to add": ((2, 4, 9, 8), (2, 4, 7, 8), ((9, 7), False), {}),
    "without heads": ((4, 9, 8), (4, 7, 8), None, {}),
}


def attended(device, dtype, queries, keys, mask, more, learns_mask=False):
    """The result and the gradients, in float64 on the CPU."""
    torch.manual_seed(0)
    parts = [torch.randn(shape).to(device, dtype).requires_grad_() for shape in (queries, keys, keys)]
    if mask is not None:
        shape, is_truth = mask
        values = torch.randn(shape)
        values = values > -0.5 if is_truth else values.to(dtype)
        if is_truth:
            values[0, :, 3] = False
        mask = values.to(device).requires_grad_(learns_mask)
    result = torch.nn.functional.scaled_dot_product_attention(*parts, attn_mask=mask, **more)
    weights = torch.linspace(-1, 1, result.numel(), dtype=torch.float64).reshape(result.shape).to(device, dtype)
    gradients = torch.autograd.grad(result, parts + ([mask] if learns_mask else []), weights)
    return [each.detach().cpu().double() for each in (result, *gradients)]


@pytest.mark.parametrize("name", ATTENTION)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_attention_is_that_of_float64_forwards_and_backwards(name, dtype, device, strict):
    expected = attended("cpu", torch.float64, *ATTENTION[name])
    for found, wanted in zip(attended(device, dtype, *ATTENTION[name]), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5 if dtype == torch.float32 else 1e-12)


def test_attention_goes_to_the_rows_and_where_they_fall_short_to_products(strict):
    backplane_torch.reset_calls()
    attended("backplane", torch.float32, *ATTENTION["grouped"])
    assert {"native_attention", "attention_backward"} <= set(backplane_torch.calls().split())
    backplane_torch.reset_calls()
    numbers = ATTENTION["numbers to add"]
    for found, wanted in zip(attended("backplane", torch.float32, *numbers, learns_mask=True), attended("cpu", torch.float64, *numbers, learns_mask=True)):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        attended("backplane", torch.float32, *ATTENTION["plain"])
    assert "attention" not in backplane_torch.calls()


DROPPING = {  # as ATTENTION: what drops its scores by the recipe
    "plain": ATTENTION["plain"],
    "causal": ATTENTION["causal"],
    "scaled": ATTENTION["scaled"],
    "truth values, none for one query": ATTENTION["truth values, none for one query"],
    "numbers to add": ATTENTION["numbers to add"],
    "one row of truth values": ((2, 4, 9, 8), (2, 4, 7, 8), ((2, 1, 1, 7), True), {}),
}


@pytest.mark.parametrize("name", DROPPING)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_attention_that_drops_is_that_of_float64_with_what_was_kept(name, dtype, device, strict):
    queries, keys, mask, more = DROPPING[name]
    torch.manual_seed(0)
    parts = [torch.randn(shape, dtype=torch.float64) for shape in (queries, keys, keys)]
    bias = None
    if mask is not None:
        bias = torch.randn(mask[0], dtype=torch.float64)
        bias = bias > -0.5 if mask[1] else bias
        if mask[1]:
            bias[0, :, min(3, mask[0][2] - 1)] = False
    weights = torch.randn(queries, dtype=torch.float64)

    def on_device(value):
        query, key, _ = (each.to(device, dtype).requires_grad_() for each in parts)
        value = value.to(device, dtype).requires_grad_()
        there = None if bias is None else bias.to(device, torch.bool if mask[1] else dtype)
        torch.manual_seed(1)  # drops the same each time
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, there, 0.3, **more), (query, key, value)

    length = keys[2]
    kept = on_device(torch.eye(length, dtype=torch.float64).expand(*keys[:2], length, length))[0].detach().cpu() != 0
    result, there = on_device(parts[2])
    found = [result, *torch.autograd.grad(result, there, weights.to(device, dtype))]

    query, key, value = (each.requires_grad_() for each in parts)
    scores = query @ key.mT * more.get("scale", query.shape[-1] ** -0.5)
    hidden = torch.zeros_like(scores, dtype=torch.bool)
    if more.get("is_causal"):
        hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
    elif bias is not None and mask[1]:
        hidden = ~bias.expand_as(scores)
    elif bias is not None:
        scores = scores + bias
    shares = torch.nn.functional.softmax(scores.masked_fill(hidden, -1e300), -1)
    expected = (shares * kept / 0.7) @ value
    assert not kept[hidden].any()
    assert 0.5 < kept[~hidden].double().mean() < 0.9
    for one, other in zip(found, [expected, *torch.autograd.grad(expected, (query, key, value), weights)], strict=True):
        torch.testing.assert_close(one.detach().cpu().double(), other, rtol=0, atol=1e-5 if dtype == torch.float32 else 1e-12)


def test_dropout_keeps_nan_and_scales_what_it_keeps(device, strict):
    torch.manual_seed(0)
    x = torch.full((1000,), 2.0, device=device)
    x[::2] = float("nan")
    found = torch.nn.functional.dropout(x.requires_grad_(), 0.5)
    (slope,) = torch.autograd.grad(found, x, torch.full_like(x, 3.0))
    assert found[::2].isnan().all() and set(found[1::2].tolist()) == {0, 4}
    assert set(slope.tolist()) == {0, 6} and 0.4 < (slope.cpu() != 0).double().mean() < 0.6
    assert torch.equal(slope[1::2].cpu() != 0, found[1::2].cpu() != 0)


MISUSES = {
    "elements of the target that share a place": lambda x: x[:1].expand(4, 3).add_(1),
    "a result over elements that share a place": lambda x: torch.add(x, 1, out=x[:1].expand(4, 3)),
    "a range that ends before it begins": lambda x: x.uniform_(1, 0),
    "a deviation below 0": lambda x: x.normal_(0, -1),
    "a probability above 1": lambda x: x.bernoulli_(2.0),
    "an unknown rounding": lambda x: torch.div(x, 2, rounding_mode="up"),
    "a result that is not cast": lambda x: torch.add(x, 1, out=x.long()),
    "concatenation into whole numbers": lambda x: torch.cat([x, x], out=torch.zeros(8, 3, dtype=torch.int64, device=x.device)),
    "a view past the end of the memory": lambda x: x[0, :1].clone().as_strided((3,), (1,)),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_raises_what_it_raises_on_the_cpu_and_changes_nothing(name, device):
    with pytest.raises(Exception) as expected:
        MISUSES[name](torch.ones(4, 3))
    values = torch.ones(4, 3, device=device)
    with pytest.raises(expected.type):
        MISUSES[name](values)
    assert torch.equal(values.cpu(), torch.ones(4, 3))


def test_filling_reaches_elements_that_share_a_place(device):
    row = torch.ones(1, 3, device=device)
    assert row.expand(4, 3).fill_(2).cpu().tolist() == [[2, 2, 2]] * 4
    assert row.expand(4, 3).zero_().cpu().tolist() == [[0, 0, 0]] * 4
    row.expand(4, 3).fill_(torch.tensor(5.0, device=device))
    assert row.cpu().tolist() == [[5, 5, 5]]


@pytest.mark.parametrize("make", [lambda d: torch.linspace(0, 10, 5, dtype=torch.int64, device=d)])
def test_factories_make_any_dtype(make, device):
    assert torch.equal(make(device).cpu(), make("cpu"))
