"""Derivatives: whose calls are recorded, and functions whose derivative is written by hand."""

from .. import _core
from .._core import Tensor, backward, grad, is_grad_enabled, saved_tensors_hooks
from .._gradcheck import gradcheck, gradgradcheck
from .._later import import_later as _import_later

__all__ = [
    "Function",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "saved_tensors_hooks",
    "set_grad_enabled",
]



def __getattr__(name):
    if name == "functional":
        return _import_later(name, __name__)
    raise AttributeError(f"module 'backplane.autograd' has no attribute '{name}'")


_GENERATOR = 0x20  # of code objects


def _like(made, function):
    """What functools.wraps does, whose import takes a tenth of the package's."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        if hasattr(function, name):
            setattr(made, name, getattr(function, name))
    made.__dict__.update(getattr(function, "__dict__", {}))
    made.__wrapped__ = function
    return made


class _Mode:
    """A state of this thread while a with statement or a decorated function runs."""

    _exclude, _inference = True, False

    def __new__(cls, function=None):
        made = super().__new__(cls)
        if not callable(function):
            return made
        made.__init__()  # as a decorator without parentheses
        return made(function)

    def __init__(self, function=None):
        self._before = []

    def _again(self):
        return type(self)()

    def __enter__(self):
        self._before.append(_core.exclude_layers(self._exclude, self._inference))
        return self

    def __exit__(self, *error):
        _core.restore_layers(*self._before.pop())

    def __call__(self, function):
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & _GENERATOR:
            return _like(self._generator(function), function)

        def within(*args, **keywords):
            with self._again():
                return function(*args, **keywords)

        return _like(within, function)

    def _generator(self, function):
        """The mode holds while the generator runs, and not while its caller does."""

        def within(*args, **keywords):
            generator, send, value = function(*args, **keywords), "send", (None,)
            try:
                while True:
                    try:
                        with self._again():
                            result = getattr(generator, send)(*value)
                    except StopIteration as end:
                        return end.value
                    try:
                        send, value = "send", ((yield result),)
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        send, value = "throw", (error,)
            finally:
                with self._again():
                    generator.close()

        return within


class no_grad(_Mode):
    """While one is active, this thread's calls are not recorded."""


class enable_grad(_Mode):
    """While one is active, this thread's calls are recorded again."""

    _exclude = False


class inference_mode(_Mode):
    """A permanent no_grad: tensors made within can never be part of a record. With `mode` False nothing changes."""

    _inference = True

    def __new__(cls, mode=True):
        return super().__new__(cls, mode)

    def __init__(self, mode=True):
        super().__init__()
        self._mode = mode if isinstance(mode, bool) else True

    def _again(self):
        return inference_mode(self._mode)

    def __enter__(self):
        if self._mode:
            return super().__enter__()
        self._before.append(_core.exclude_layers(not is_grad_enabled(), False))
        return self


class set_grad_enabled(_Mode):
    """no_grad or enable_grad, from now on, or while a with statement or a decorated function runs."""

    def __new__(cls, mode):
        return object.__new__(cls)

    def __init__(self, mode):
        super().__init__()
        self._exclude = not mode
        self._before.append(_core.exclude_layers(self._exclude, False))

    def _again(self):
        return set_grad_enabled(not self._exclude)

    def __enter__(self):
        if not self._before:  # entered once more
            self._before.append(_core.exclude_layers(self._exclude, False))
        return self

    def __call__(self, function):
        if self._before:
            self.__exit__()  # it decorates, and changes nothing yet
        return super().__call__(function)


class detect_anomaly:
    """While one is active, errors in this thread's backward name the call that was recorded, and NaN in a derivative is an
    error.

    For debugging: each call waits for its device.
    """

    def __init__(self):
        self._open = []

    def __enter__(self):
        self._open.append(_core._begin_detect_anomaly())
        return self

    def __exit__(self, *error):
        del self._open[-1]


# --- Hooks ------------------------------------------------------------------------------------------------------------


class RemovableHandle:
    """A hook that can be removed, by remove() or at the end of a with statement."""

    __slots__ = ("_tensor", "_id")

    def __init__(self, tensor, id):
        self._tensor, self._id = tensor, id

    def remove(self):
        if self._tensor is not None:
            self._tensor._remove_hook(self._id)
        self._tensor = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def _register_hook(self, hook):
    """Calls `hook` with the derivative by this tensor as soon as it is complete; what it returns, if anything, takes
    its place.

    Returns a handle, whose remove() takes the hook away.
    """
    return RemovableHandle(self, self._register_hook(hook))


def _register_post_accumulate_grad_hook(self, hook):
    """Calls `hook` with this leaf once its gradient is accumulated. Returns a handle, whose remove() takes the hook
    away."""
    return RemovableHandle(self, self._register_post_accumulate_grad_hook(hook))


class _Recorded:
    """What grad_fn is for a tensor that a recorded call has made."""

    __slots__ = ()

    def __repr__(self):
        return "<recorded>"


_recorded = _Recorded()
Tensor.register_hook = _register_hook
Tensor.register_post_accumulate_grad_hook = _register_post_accumulate_grad_hook
Tensor.grad_fn = property(lambda self: None if self.is_leaf else _recorded, doc="None for a leaf.")


# --- Functions --------------------------------------------------------------------------------------------------------


class Function:
    """A function whose derivative is written by hand.

    A subclass has two static methods: `forward(ctx, *inputs)`, whose calls are not recorded, and
    `backward(ctx, *gradients)`, which returns a derivative, or None, for each input. It is called by `apply`. With a
    third, `setup_context(ctx, inputs, output)`, forward has no ctx.
    """

    setup_context = None

    def __init__(self, *args, **keywords):
        raise TypeError(f"{type(self).__name__}: a Function is not made; call {type(self).__name__}.apply")

    @staticmethod
    def forward(*args, **keywords):
        raise NotImplementedError("a Function has a static method forward(ctx, *inputs)")

    @staticmethod
    def backward(ctx, *gradients):
        raise NotImplementedError("a Function has a static method backward(ctx, *gradients)")

    @classmethod
    def apply(cls, *inputs):
        return _core.apply_function(cls, *inputs)


def once_differentiable(function):
    """A backward whose own calls are not recorded."""
    return no_grad()(function)


def checkpoint(function, *args, use_reentrant=False, **keywords):
    """The results of `function`, which keeps nothing for backward: backward computes it once more.

    Raises:
        ValueError: in backward, if it does something else the second time.
    """
    return _core.checkpoint((lambda *given: function(*given, **keywords)) if keywords else function, *args)
