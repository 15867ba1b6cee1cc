"""Mixed precision: calls in 16 bits where that is safe, and losses scaled so that small gradients survive."""

import functools
import math
from enum import Enum

from . import _core
from ._core import Tensor, clear_autocast_cache, get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled

__all__ = [
    "GradScaler",
    "autocast",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
]

_rows = _core.operators


class autocast:
    """While one is open, this thread's calls with tensors of the device's backend are cast by their rows' rules.

    A context manager, and a decorator. float64, integers and 8-bit floats stay as they are, and so do calls into a
    given tensor. Derivatives are computed in the dtypes of forward, whether or not backward runs inside, and a
    parameter's gradient has the parameter's dtype.

    Args:
        device_type: a device or its name; all devices of its backend are meant.
        dtype: float16 or bfloat16. By default bfloat16 on the host's processors, float16 on other devices.
        enabled: False: calls are not cast, as within another autocast.
        cache_enabled: casts of weights are kept until the outermost autocast ends.

    Raises:
        TypeError: something is not a device or a dtype.
        ValueError: there is no such device, or the dtype is another.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        self.device = _core._autocast_device(device_type)
        self.dtype, self.enabled, self.cache_enabled = dtype, bool(enabled), cache_enabled
        self._depths = []
        _core._leave_autocast(_core._enter_autocast(self.device, dtype, self.enabled, cache_enabled))  # refused here

    def __enter__(self):
        self._depths.append(_core._enter_autocast(self.device, self.dtype, self.enabled, self.cache_enabled))
        return self

    def __exit__(self, *error):
        _core._leave_autocast(self._depths.pop())

    def __call__(self, function):
        @functools.wraps(function)
        def within(*args, **keywords):
            # One of its own, since the function may run on several threads.
            with autocast(self.device, self.dtype, self.enabled, self.cache_enabled):
                return function(*args, **keywords)

        return within


def is_autocast_available(device_type):
    """Whether calls on the device can be cast: always true."""
    _core._autocast_device(device_type)
    return True


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """For `forward` of an autograd.Function: `backward`, under `custom_bwd`, is cast as the call of forward was.

    Args:
        device_type: a device or its name.
        cast_inputs: the dtype that floating tensors other than float64 are cast to where calls on the device are cast;
            forward and backward then cast nothing.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def within(ctx, *args, **keywords):
        is_cast = is_autocast_enabled(device_type)
        ctx._autocast = device_type, get_autocast_dtype(device_type), is_cast and cast_inputs is None
        if not is_cast or cast_inputs is None:
            return fwd(ctx, *args, **keywords)
        args = [_cast(each, cast_inputs) for each in args]
        keywords = {name: _cast(each, cast_inputs) for name, each in keywords.items()}
        with autocast(device_type, enabled=False):
            return fwd(ctx, *args, **keywords)

    return within


def custom_bwd(bwd=None, *, device_type):
    """For `backward` of an autograd.Function whose forward is under `custom_fwd`."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def within(ctx, *gradients):
        where, dtype, enabled = ctx._autocast
        with autocast(where, dtype, enabled):
            return bwd(ctx, *gradients)

    return within


def _cast(value, dtype):
    """Of a tensor, and of those in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() and value.dtype != _core.float64 else value
    if isinstance(value, dict):
        return {key: _cast(each, dtype) for key, each in value.items()}
    return type(value)(_cast(each, dtype) for each in value) if type(value) in (list, tuple) else value


class _Stage(Enum):
    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales losses, so that gradients survive that would be 0 in float16, and leaves out steps that overflowed.

    After "Mixed Precision Training" (Micikevicius et al., 2018):

        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # unscales; changes nothing if a gradient is infinite or NaN
        scaler.update()  # once, behind the steps of all optimizers

    A step waits for the device, to know whether a gradient overflowed.

    Args:
        device: for PyTorch callers; losses and parameters may be anywhere.
        init_scale: the first scale.
        growth_factor: of the scale, after growth_interval steps in a row without an infinity or NaN.
        backoff_factor: of the scale, after a step with one.
        enabled: False: losses stay, steps are the optimizer's own, and all else does nothing.

    Raises:
        ValueError: not growth_factor > 1, 0 < backoff_factor < 1, growth_interval >= 1 and init_scale > 0.
    """

    def __init__(
        self, device=None, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True
    ):
        if device is not None:
            _core._autocast_device(device)
        self._enabled = bool(enabled)
        self._growth_factor, self._backoff_factor = float(growth_factor), float(backoff_factor)
        self._growth_interval, self._scale, self._growth_tracker = growth_interval, float(init_scale), 0
        _check_scaler(self._scale, self._growth_factor, self._backoff_factor, self._growth_interval)
        self._forget()

    def _forget(self):
        self._stages, self._found = {}, {}  # by optimizer

    def is_enabled(self):
        return self._enabled

    def scale(self, outputs):
        """The loss times the scale, recorded; of several in a list or tuple, each."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            with autocast(outputs.device, enabled=False):
                return outputs * _core.tensor(self._scale, dtype=_core.float32, device=outputs.device)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(each) for each in outputs])
        raise TypeError(f"GradScaler: scale takes a Tensor, or a list or tuple of them, not a {type(outputs).__name__}")

    def unscale_(self, optimizer):
        """Divides the gradients of the optimizer's parameters by the scale, in place: before clipping, say.

        Once for each optimizer and update, after backward and before step.

        Raises:
            RuntimeError: it was called before since the last update, or step was.
            ValueError: no parameter has a gradient, or one is float16, which holds no unscaled sums.
        """
        if not self._enabled:
            return
        stage = self._stages.get(id(optimizer), _Stage.READY)
        if stage is not _Stage.READY:
            what = "unscale_" if stage is _Stage.UNSCALED else "step"
            raise RuntimeError(
                f"GradScaler: {what} was called for this optimizer since the last update(); unscale_ comes "
                "once, before step"
            )
        self._unscale(optimizer)
        self._stages[id(optimizer)] = _Stage.UNSCALED

    def _unscale(self, optimizer):
        from .optim._lists import foreach_mul_, foreach_norm, real_parts, stack
        from .optim.optimizer import Apart

        with Apart():
            lists = _gradients_of(optimizer, real_parts)
            found = False
            for grads in lists.values():
                largest = foreach_norm([each for each in grads if each.numel()], math.inf)
                found = found or bool(largest) and not bool(_rows["all"](_rows["isfinite"](stack(largest))))
            for (_, dtype), grads in lists.items():
                if dtype in (_core.float32, _core.float64):
                    foreach_mul_(grads, 1.0 / self._scale)
                else:  # the factor is none of the numbers that 16 bits hold
                    for each in grads:
                        each.copy_(each.float() * (1.0 / self._scale))
        self._found[id(optimizer)] = optimizer, found

    def step(self, optimizer, *args, **kwargs):
        """The optimizer's step by unscaled gradients, or none if one of them is not finite.

        Once for each optimizer and update; unscales unless `unscale_` has done it. Returns what the step returned.

        Raises:
            RuntimeError: it was called before since the last update.
            ValueError: no parameter has a gradient; or a closure is given, which would compute gradients again.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or args:
            raise ValueError("GradScaler: step takes no closure, whose gradients would not be unscaled")
        stage = self._stages.get(id(optimizer), _Stage.READY)
        if stage is _Stage.STEPPED:
            raise RuntimeError("GradScaler: step was called for this optimizer since the last update(); call update()")
        if stage is _Stage.READY:
            self._unscale(optimizer)
        result = None if self._found[id(optimizer)][1] else optimizer.step(**kwargs)
        self._stages[id(optimizer)] = _Stage.STEPPED
        return result

    def update(self, new_scale=None):
        """Lets the scale grow or back off by what the steps since the last update found, or takes the new one.

        A scale that would become infinite or 0 stays.

        Raises:
            RuntimeError: there was no step.
            ValueError: the new scale is not positive and finite.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            new_scale = float(new_scale)
            _check_scaler(new_scale, self._growth_factor, self._backoff_factor, self._growth_interval)
            self._scale = new_scale
        elif not self._found:
            raise RuntimeError("GradScaler: update: no optimizer took a step or was unscaled; call step first")
        elif any(found for _, found in self._found.values()):
            self._scale = _usable(self._scale * self._backoff_factor, self._scale)
            self._growth_tracker = 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker >= self._growth_interval:
                self._scale = _usable(self._scale * self._growth_factor, self._scale)
                self._growth_tracker = 0
        self._forget()

    def get_scale(self):
        """The scale; 1 if not enabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self):
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        _check_scaler(self._scale, float(new_factor), self._backoff_factor, self._growth_interval)
        self._growth_factor = float(new_factor)

    def get_backoff_factor(self):
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        _check_scaler(self._scale, self._growth_factor, float(new_factor), self._growth_interval)
        self._backoff_factor = float(new_factor)

    def get_growth_interval(self):
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        _check_scaler(self._scale, self._growth_factor, self._backoff_factor, new_interval)
        self._growth_interval = new_interval

    def state_dict(self):
        """{"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}; empty if not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict):
        """Loads what `state_dict` returned, also that of PyTorch's scaler.

        Raises:
            ValueError: an entry is missing, or refused by the constructor. Nothing has changed then.
        """
        if not self._enabled:
            return
        try:
            scale, growth, backoff = (float(state_dict[name]) for name in ("scale", "growth_factor", "backoff_factor"))
            interval, tracker = state_dict["growth_interval"], int(state_dict["_growth_tracker"])
        except KeyError as error:
            raise ValueError(
                f"GradScaler: the state has no {error}, only {list(state_dict)}; is it that of a scaler which is "
                "not enabled?"
            ) from None
        _check_scaler(scale, growth, backoff, interval)
        if tracker < 0:
            raise ValueError(f"GradScaler: _growth_tracker is {tracker}; it must not be negative")
        self._scale, self._growth_factor, self._backoff_factor = scale, growth, backoff
        self._growth_interval, self._growth_tracker = interval, tracker


def _gradients_of(optimizer, real_parts):
    """Lists of gradients, of one device and dtype each."""
    lists, seen = {}, set()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            grad = parameter.grad
            if grad is None or id(parameter) in seen:
                continue
            seen.add(id(parameter))
            if grad.dtype == _core.float16:
                raise ValueError(
                    f"GradScaler: a gradient of shape {tuple(grad.shape)} is float16, which loses what is "
                    "unscaled; keep parameters in float32 and let autocast cast them"
                )
            grad = real_parts(grad.detach())
            lists.setdefault((grad.device, grad.dtype), []).append(grad)
    if not lists:
        raise ValueError("GradScaler: no parameter of the optimizer has a gradient; call backward first")
    return lists


def _usable(scale, before):
    """In float32, where a scale that is infinite or 0 would stay so forever."""
    rounded = float(_core.tensor(scale, dtype=_core.float32))
    return rounded if 0 < rounded < math.inf else before


def _check_scaler(scale, growth, backoff, interval):
    if not 0 < scale < 2.0**128:
        raise ValueError(f"GradScaler: the scale is {scale}; it must be positive and finite in float32")
    if not 1 < growth < math.inf:
        raise ValueError(f"GradScaler: growth_factor is {growth}; it must be greater than 1, and finite")
    if not 0 < backoff < 1:
        raise ValueError(f"GradScaler: backoff_factor is {backoff}; it must lie between 0 and 1")
    if isinstance(interval, bool) or not isinstance(interval, int) or not 1 <= interval < 2**31:
        raise ValueError(f"GradScaler: growth_interval is {interval!r}; it must be an integer from 1 to 2^31 - 1")
