"""Mixed precision: which calls are cast, and how losses are scaled."""

import threading

import pytest

import backplane as bp

amp = bp.amp


def product():
    return (bp.ones(4, 4) @ bp.ones(4, 4)).dtype


def test_calls_are_cast_within():
    assert product() == bp.float32 and not amp.is_autocast_enabled("cpu")
    with amp.autocast("cpu"):
        assert (
            product() == bp.bfloat16 and amp.is_autocast_enabled("cpu") and amp.get_autocast_dtype("cpu") == bp.bfloat16
        )
        with amp.autocast("cpu", enabled=False):
            assert product() == bp.float32
            with amp.autocast("cpu", dtype=bp.float16):
                assert product() == bp.float16
        assert product() == bp.bfloat16
        assert (bp.ones(2, 2, dtype=bp.float64) @ bp.ones(2, 2, dtype=bp.float64)).dtype == bp.float64
        assert bp.exp(bp.ones(2, dtype=bp.bfloat16)).dtype == bp.float32
    assert product() == bp.float32


def test_it_is_put_back_after_errors_and_in_any_order():
    with pytest.raises(KeyError):
        with amp.autocast("cpu"):
            raise KeyError
    assert product() == bp.float32
    first, second = amp.autocast("cpu"), amp.autocast("cpu", bp.float16)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert product() == bp.float32
    second.__exit__(None, None, None)
    assert product() == bp.float32


def test_one_object_may_be_entered_again():
    cast = amp.autocast("cpu")
    with cast:
        with cast:
            assert product() == bp.bfloat16
        assert product() == bp.bfloat16
    assert product() == bp.float32


def test_decorators():
    @amp.autocast("cpu", dtype=bp.float16)
    def cast(depth=2):
        """Its words."""
        return product() if depth == 0 else cast(depth - 1)

    assert cast() == bp.float16 and cast.__doc__ == "Its words." and product() == bp.float32


def test_generators_that_are_dropped_within():
    def steps():
        with amp.autocast("cpu"):
            yield product()

    with amp.autocast("cpu", bp.float16):
        made = steps()
        assert next(made) == bp.bfloat16
        made.close()
        assert product() == bp.float16
    made = steps()
    next(made)
    del made
    assert product() == bp.float32


def test_threads_have_their_own():
    seen = []

    def elsewhere():
        seen.append(product())
        with amp.autocast("cpu", bp.float16):
            seen.append(product())
        amp.autocast("cpu").__enter__()  # never left

    with amp.autocast("cpu"):
        threads = [threading.Thread(target=elsewhere) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert product() == bp.bfloat16
    assert seen.count(bp.float32) == seen.count(bp.float16) == 8


def test_gradients_have_the_parameters_dtype():
    w = bp.ones(3, 3).requires_grad_()
    with amp.autocast("cpu"):
        out = (bp.ones(2, 3) @ w).float().sum()
    out.backward()
    assert w.grad.dtype == bp.float32 and w.grad.tolist() == [[2.0] * 3] * 3


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: amp.autocast("nowhere"), ValueError),
        (lambda: amp.autocast(3), TypeError),
        (lambda: amp.autocast("cpu", bp.float64), ValueError),
        (lambda: amp.autocast("cpu", 3.5), TypeError),
        (lambda: amp.autocast(None), TypeError),
        (lambda: amp.is_autocast_enabled(None), TypeError),
    ],
)
def test_what_is_refused(make, error):
    with pytest.raises(error):
        make()
    assert product() == bp.float32


def test_functions_with_a_derivative_of_their_own():
    seen = []

    class Square(bp.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type="cpu", cast_inputs=bp.float32)
        def forward(ctx, x):
            seen.append((x.dtype, product()))
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @amp.custom_bwd(device_type="cpu")
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            seen.append(product())
            return gradient @ x.T + x.T @ gradient

    x = bp.ones(2, 2).requires_grad_()
    with amp.autocast("cpu"):
        out = Square.apply(x.bfloat16()).sum()
    out.backward()
    assert seen == [(bp.float32, bp.float32), bp.float32] and x.grad.tolist() == [[4.0] * 2] * 2


# --- Scaling ----------------------------------------------------------------------------------------------------------


def net(lr=0.5):
    w = bp.tensor([1.0, 2.0]).requires_grad_()
    return w, bp.optim.SGD([w], lr=lr)


def test_a_step_is_by_unscaled_gradients():
    w, optimizer = net()
    scaler = amp.GradScaler(init_scale=1024.0, growth_interval=2)
    for step in range(1, 5):
        optimizer.zero_grad()
        scaler.scale((w * w).sum()).backward()
        assert w.grad.tolist() == pytest.approx([2 * x * scaler.get_scale() for x in w.tolist()])
        before = w.tolist()
        scaler.step(optimizer)
        scaler.update()
        assert w.tolist() == pytest.approx([0.0 for x in before])
        assert scaler.get_scale() == 1024.0 * 2 ** (step // 2)


def test_a_step_that_overflowed_is_left_out():
    w, optimizer = net()
    scaler = amp.GradScaler(init_scale=1024.0)
    for bad in (float("inf"), float("nan")):
        optimizer.zero_grad()
        scaler.scale((w * bad).sum()).backward()
        scaler.step(optimizer)
        assert w.tolist() == [1.0, 2.0]
        before = scaler.get_scale()
        scaler.update()
        assert scaler.get_scale() == before / 2


def test_unscaling_before_clipping():
    w, optimizer = net()
    scaler = amp.GradScaler(init_scale=8.0)
    scaler.scale((w * 3).sum()).backward()
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="once"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert w.tolist() == [-0.5, 0.5]
    with pytest.raises(RuntimeError, match="update"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError):
        scaler.unscale_(optimizer)
    scaler.update()


def test_several_optimizers_and_dtypes():
    a, b = bp.ones(3).requires_grad_(), bp.ones(2, dtype=bp.bfloat16).requires_grad_()
    c = bp.ones(0).requires_grad_()
    first, second = bp.optim.SGD([a, c], lr=1.0), bp.optim.SGD(
        [b, bp.ones(2, dtype=bp.float64).requires_grad_()], lr=1.0
    )
    scaler = amp.GradScaler(init_scale=16.0)
    losses = scaler.scale([a.sum() + c.sum(), b.float().sum() * float("inf")])
    for each in losses:
        each.backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert a.tolist() == [0.0] * 3 and b.tolist() == [1.0] * 2 and scaler.get_scale() == 8.0


def test_states():
    scaler = amp.GradScaler(init_scale=4.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=7)
    other = amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert (
        other.state_dict() == scaler.state_dict() == {
            "scale": 4.0,
            "growth_factor": 3.0,
            "backoff_factor": 0.25,
            "growth_interval": 7,
            "_growth_tracker": 0,
        }
    )
    for bad in ({}, {**scaler.state_dict(), "scale": -1.0}, {**scaler.state_dict(), "_growth_tracker": -1}):
        with pytest.raises(ValueError):
            other.load_state_dict(bad)
    assert other.state_dict() == scaler.state_dict()


def test_one_that_is_not_enabled_does_nothing():
    w, optimizer = net()
    scaler = amp.GradScaler(enabled=False)
    loss = w.sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.5, 1.5]


def test_the_scale_never_ends():
    w, optimizer = net(lr=0.0)
    scaler = amp.GradScaler(init_scale=2.0**127, growth_interval=1)
    w.grad = bp.zeros(2)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**127


@pytest.mark.parametrize(
    "options",
    [
        {"init_scale": 0},
        {"growth_factor": 1.0},
        {"backoff_factor": 1.0},
        {"growth_interval": 0},
        {"init_scale": float("inf")},
        {"growth_interval": 2.5},
        {"growth_factor": float("nan")},
    ],
    ids=str,
)
def test_what_a_scaler_refuses(options):
    with pytest.raises(ValueError, match="GradScaler"):
        amp.GradScaler(**options)


def test_other_mistakes():
    w, optimizer = net()
    scaler = amp.GradScaler()
    for call, error in [
        (lambda: scaler.update(), RuntimeError),
        (lambda: scaler.step(optimizer), ValueError),
        (lambda: scaler.scale("x"), TypeError),
        (lambda: scaler.step(optimizer, lambda: 1), ValueError),
        (lambda: scaler.update(0.0), ValueError),
    ]:
        with pytest.raises(error):
            call()
    half = bp.ones(2, dtype=bp.float16).requires_grad_()
    half.grad = bp.ones(2, dtype=bp.float16)
    with pytest.raises(ValueError, match="float16"):
        scaler.step(bp.optim.SGD([half]))
