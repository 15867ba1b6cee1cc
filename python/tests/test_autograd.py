"""Derivatives in Python: hooks, functions of one's own, modes, errors."""

import threading
import traceback

import backplane as bp
import pytest
from backplane.autograd import Function


def leaf(*values):
    return bp.tensor(values, dtype=bp.float64, requires_grad=True)


# --- Going back -------------------------------------------------------------------------------------------------------


def test_accumulates_in_leaves():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 7] and x.is_leaf and x.requires_grad
    x.grad = None
    assert x.grad is None
    with pytest.raises(TypeError):
        x.grad = 3


def test_weights_and_several_outputs():
    x = leaf(1.0, 2.0)
    y, z = x * 2, x * x
    bp.backward([y, z], [bp.tensor([1.0, 10.0], dtype=bp.float64), bp.ones(2, dtype=bp.float64)])
    assert x.grad.tolist() == [4, 24]
    with pytest.raises(ValueError, match="backward"):
        (x * 2).backward()
    with pytest.raises(ValueError):
        (x * 2).backward(bp.ones(3, dtype=bp.float64))
    with pytest.raises(ValueError):
        bp.ones(1).backward()


def test_retain_graph():
    x = leaf(2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [8]
    with pytest.raises(ValueError, match="freed|retain"):
        y.backward()


def test_grad_and_allow_unused():
    x, other = leaf(2.0), leaf(1.0)
    assert bp.grad((x**3).sum(), x)[0].item() == 12
    assert x.grad is None
    with pytest.raises(ValueError, match="allow_unused"):
        bp.grad((x * 2).sum(), [x, other])
    found, unused = bp.grad((x * 2).sum(), [x, other], allow_unused=True)
    assert found.item() == 2 and unused is None


def test_backward_to_some_inputs_alone():
    x, y = leaf(2.0), leaf(3.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.item() == 3 and y.grad is None


def test_derivatives_of_derivatives():
    x = leaf(3.0)
    (first,) = bp.grad((x**4).sum(), x, create_graph=True)
    (second,) = bp.grad(first.sum(), x, create_graph=True)
    (third,) = bp.grad(second.sum(), x)
    assert (first.item(), second.item(), third.item()) == (108, 108, 72)


def test_what_was_written_since_is_noticed():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(ValueError, match="written"):
        z.sum().backward()


def test_retain_grad_and_grad_fn():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    (y * 3).sum().backward()
    assert y.grad.item() == 3 and y.grad_fn is not None and x.grad_fn is None and not y.is_leaf


# --- Hooks ------------------------------------------------------------------------------------------------------------


def test_hooks_see_and_replace():
    x = leaf(1.0)
    seen = []
    y = x * 2
    handle = y.register_hook(lambda gradient: seen.append(gradient.item()))
    y.register_hook(lambda gradient: gradient * 10)
    (y * 3).sum().backward()
    assert seen == [3] and x.grad.item() == 60
    handle.remove()
    handle.remove()
    with x.register_hook(lambda gradient: seen.append("x")):
        pass
    x.sum().backward()
    assert seen == [3]


def test_hooks_that_raise_reach_the_caller_with_their_traceback():
    x = leaf(1.0)
    y = x * 2

    def raising_hook(gradient):
        raise KeyError("from the hook")

    y.register_hook(raising_hook)
    with pytest.raises(KeyError, match="from the hook") as caught:
        y.sum().backward()
    assert "raising_hook" in "".join(traceback.format_exception(caught.value))
    y = x * 2
    y.register_hook(lambda gradient: "no tensor")
    with pytest.raises(TypeError, match="hook"):
        y.sum().backward()
    with pytest.raises(ValueError):
        bp.ones(1).register_hook(print)


def test_a_hook_after_accumulation():
    x = leaf(1.0, 2.0)
    seen = []

    def step(parameter):
        seen.append(parameter.grad.tolist())
        parameter.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert seen == [[2, 2], [3, 3]] and x.grad is None
    handle.remove()
    x.sum().backward()
    assert len(seen) == 2
    with pytest.raises(ValueError):
        (x * 2).register_post_accumulate_grad_hook(step)


def test_saved_tensors_hooks():
    x = leaf(3.0)
    packed = []

    def pack(tensor):
        packed.append(tensor.tolist())
        return tensor.tolist()

    with bp.autograd.saved_tensors_hooks(pack, lambda kept: bp.tensor(kept, dtype=bp.float64)):
        y = x * x
    y.sum().backward()
    assert packed and x.grad.item() == 6


# --- Functions --------------------------------------------------------------------------------------------------------


class Scale(Function):
    @staticmethod
    def forward(ctx, x, factor, name=None):
        ctx.save_for_backward(x)
        ctx.factor = factor
        assert not bp.is_grad_enabled()
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        assert x.tolist() and ctx.needs_input_grad == (True, False, False)[: len(ctx.needs_input_grad)]
        return gradient * ctx.factor, None, None


def test_a_function_with_other_arguments():
    x = leaf(1.0, 2.0)
    Scale.apply(x, 3.0, "name").sum().backward()
    assert x.grad.tolist() == [3, 3]
    Scale.apply(x, 3.0).sum().backward()  # a None too many is allowed
    assert x.grad.tolist() == [6, 6]
    with pytest.raises(TypeError):
        Scale()


def test_several_results_some_without_derivative():
    class Divide(Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b, None)
            quotient, rest = a / b, (a > b)
            ctx.mark_non_differentiable(rest)
            return quotient, rest, "text", a + b

        @staticmethod
        def backward(ctx, by_quotient, by_rest, by_text, by_sum):
            a, b, nothing = ctx.saved_tensors
            assert by_text is None and nothing is None
            return by_quotient / b + by_sum, None

    a, b = leaf(6.0), leaf(2.0)
    quotient, rest, text, both = Divide.apply(a, b)
    assert text == "text" and not rest.requires_grad and quotient.item() == 3
    (quotient * 4 + both).sum().backward()
    assert a.grad.item() == 3 and b.grad is None


def test_setup_context():
    class Square(Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

    x = leaf(3.0)
    Square.apply(x).sum().backward()
    assert x.grad.item() == 6
    assert bp.autograd.gradcheck(Square.apply, [x]) and bp.autograd.gradgradcheck(Square.apply, [x])


def test_errors_in_functions_reach_the_caller():
    class Raising(Function):
        @staticmethod
        def forward(ctx, x, where):
            ctx.where = where
            if where == "forward":
                raise KeyError("in forward")
            return 3 if where == "number" else None if where == "none" else x * 2

        @staticmethod
        def backward(ctx, gradient):
            def inner():
                raise KeyError("in backward")

            if ctx.where == "backward":
                inner()
            return {
                "few": (gradient,),
                "many": (gradient, None, gradient),
                "type": (1, None),
                "shape": (bp.ones(7), None),
            }[ctx.where]

    x = leaf(1.0, 2.0)
    with pytest.raises(KeyError, match="in forward"):
        Raising.apply(x, "forward")
    for where in ("number", "none"):
        with pytest.raises(TypeError, match="Raising.forward"):
            Raising.apply(x, where)
    y = Raising.apply(x, "backward")
    with pytest.raises(KeyError, match="in backward") as caught:
        y.sum().backward()
    assert "in inner" in "".join(traceback.format_exception(caught.value))
    for where, error in (("few", ValueError), ("many", ValueError), ("type", TypeError), ("shape", ValueError)):
        with pytest.raises(error, match="Raising"):
            Raising.apply(x, where).sum().backward()
    with pytest.raises(NotImplementedError):
        Function.apply(x)


def test_a_context_that_outlives_its_call():
    kept = []

    class Keeping(Function):
        @staticmethod
        def forward(ctx, x, raises):
            kept.append(ctx)
            if raises:
                raise KeyError
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            return gradient, None

    x = leaf(1.0)
    with pytest.raises(KeyError):
        Keeping.apply(x, True)
    Keeping.apply(x, False)
    for ctx in kept:
        with pytest.raises(ValueError, match="ctx"):
            ctx.save_for_backward(x)
        with pytest.raises(ValueError, match="ctx"):
            ctx.saved_tensors
        with pytest.raises(ValueError, match="ctx"):
            ctx.needs_input_grad


def test_a_function_within_a_function():
    class Outer(Function):
        @staticmethod
        def forward(ctx, x):
            with bp.enable_grad():
                inner = x.detach().requires_grad_()
                ctx.inner, ctx.result = inner, Scale.apply(inner, 5.0)
            return ctx.result.detach()

        @staticmethod
        def backward(ctx, gradient):
            return bp.grad(ctx.result, ctx.inner, gradient)[0]

    x = leaf(1.0)
    Outer.apply(x).sum().backward()
    assert x.grad.item() == 5


def test_checkpoint_computes_again():
    calls = []

    def function(x, factor):
        calls.append(bp.is_grad_enabled())
        return x * factor, x.sin()

    x = leaf(1.0, 2.0)
    a, b = bp.autograd.checkpoint(function, x, 3.0)
    (a.sum() + b.sum()).backward()
    assert len(calls) == 2 and bp.allclose(x.grad, 3 + bp.cos(x))


def test_gradcheck():
    x = bp.tensor([[0.5, 1.5], [-0.3, 2.0]], dtype=bp.float64, requires_grad=True)
    z = bp.tensor([1 + 2j, 0.5 - 1j], dtype=bp.complex128, requires_grad=True)
    assert bp.autograd.gradcheck(lambda x, n: (x.sin() @ x, x.sum() ** n), (x, 2))
    assert bp.autograd.gradcheck(lambda z: z * z.conj() + z.exp(), z)
    assert bp.autograd.gradgradcheck(lambda x: x.exp() * x, x)

    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 3

    assert not bp.autograd.gradcheck(Wrong.apply, x, raise_exception=False)
    with pytest.raises(ValueError, match="gradcheck: the derivative"):
        bp.autograd.gradcheck(Wrong.apply, x)
    with pytest.raises(ValueError, match="float64"):
        bp.autograd.gradcheck(bp.sin, bp.ones(1, requires_grad=True))


# --- Modes ------------------------------------------------------------------------------------------------------------


def test_modes_nest():
    x = leaf(1.0)
    assert bp.is_grad_enabled()
    with bp.no_grad():
        assert not (x * 2).requires_grad
        with bp.enable_grad():
            assert (x * 2).requires_grad
            with bp.set_grad_enabled(False):
                assert not bp.is_grad_enabled()
            assert bp.is_grad_enabled()
        assert not bp.is_grad_enabled()
    assert bp.is_grad_enabled()
    bp.set_grad_enabled(False)
    assert not bp.is_grad_enabled()
    bp.set_grad_enabled(True)
    with pytest.raises(KeyError):
        with bp.no_grad():
            raise KeyError
    assert bp.is_grad_enabled()
    mode = bp.no_grad()
    with mode, mode:
        pass
    assert bp.is_grad_enabled()


def test_inference_mode():
    x = leaf(1.0)
    with bp.inference_mode():
        y = x * 2
        assert y.is_inference() and not y.requires_grad and bp.is_inference_mode_enabled()
    assert not bp.is_inference_mode_enabled()
    with pytest.raises(ValueError):
        y * x
    assert (y.clone() * x).requires_grad
    with bp.inference_mode(False):
        assert (x * 2).requires_grad


@pytest.mark.parametrize(
    "mode, recorded",
    [
        (bp.no_grad, False),
        (bp.no_grad(), False),
        (bp.enable_grad, True),
        (bp.enable_grad(), True),
        (bp.inference_mode, False),
        (bp.inference_mode(), False),
        (bp.set_grad_enabled(True), True),
    ],
    ids=range(7),
)
def test_modes_decorate(mode, recorded):
    @mode
    def function(x, *, factor=2):
        """Its own words."""
        return (x * factor).requires_grad

    assert bp.is_grad_enabled() and function.__name__ == "function" and function.__doc__ == "Its own words."
    with bp.set_grad_enabled(not recorded):
        assert function(leaf(1.0), factor=3) is recorded
        assert bp.is_grad_enabled() is (not recorded)

    @mode
    def generator():
        got = []
        try:
            while True:
                got.append((yield bp.is_grad_enabled()))
        finally:
            got.append(bp.is_grad_enabled())

    with bp.set_grad_enabled(not recorded):
        made = generator()
        assert next(made) is recorded and bp.is_grad_enabled() is (not recorded)
        assert made.send(1) is recorded
        made.close()
        assert bp.is_grad_enabled() is (not recorded)


def test_set_grad_enabled_false_decorates_without_changing_anything():
    @bp.set_grad_enabled(False)
    def function(x):
        return (x * 2).requires_grad

    assert bp.is_grad_enabled() and not function(leaf(1.0)) and bp.is_grad_enabled()


def test_modes_are_of_a_thread():
    found = []
    with bp.no_grad():
        thread = threading.Thread(target=lambda: found.append(bp.is_grad_enabled()))
        thread.start()
        thread.join()
    assert found == [True]


def test_anomaly_is_named():
    x = leaf(-1.0)
    with bp.autograd.detect_anomaly():
        y = x.sqrt().sum()
        with pytest.raises(ValueError, match="sqrt"):
            y.backward()


# --- Derivatives that did not come back -------------------------------------------------------------------------------


def pair(fills):
    class Pair(bp.autograd.Function):
        seen = []

        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(fills)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            Pair.seen.append((first is not None, second is not None))
            return (0 if first is None else first * 2) + (0 if second is None else second * 3)

    return Pair


@pytest.mark.parametrize("fills", [True, False])
def test_absent_derivatives_are_zeros_or_none(fills):
    x, function = bp.ones(3, requires_grad=True), pair(fills)
    for use in ((0,), (1,), (0, 1)):
        results = function.apply(x)
        for _ in range(2):  # the second time with the same record
            x.grad = None
            sum(results[i].sum() for i in use).backward(retain_graph=True)
            assert x.grad.tolist() == [sum((2, 3)[i] for i in use)] * 3
            assert function.seen.pop() == (fills or 0 in use, fills or 1 in use)


def test_absent_derivatives_of_nested_calls_are_told_apart():
    x, outer, inner = bp.ones(2, requires_grad=True), pair(False), pair(False)
    a, b = outer.apply(x)
    c, d = inner.apply(b)
    (c + bp.zeros(2)).sum().backward()
    assert inner.seen == [(True, False)] and outer.seen == [(False, True)] and x.grad.tolist() == [6, 6]


def test_nobody_wants_a_derivative_of_a_function_without_zeros():
    assert [each.tolist() for each in pair(False).apply(bp.ones(1))] == [[2], [3]]
