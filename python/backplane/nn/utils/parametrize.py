"""Members of modules that are computed: a weight from its direction and length, a matrix that stays orthogonal."""

import contextlib

from ..._core import Tensor
from ...autograd import no_grad
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]

_cache, _cache_users = {}, 0


@contextlib.contextmanager
def cached():
    """Within it each parametrized member is computed once, rather than each time that it is read."""
    global _cache_users
    _cache_users += 1
    try:
        yield
    finally:
        _cache_users -= 1
        if not _cache_users:
            _cache.clear()


class ParametrizationList(ModuleList):
    """What computes one member: its originals, and the parametrizations, each of what the one before it gave.

    Attributes:
        original: a parameter or buffer; or original0, original1 and so on, where there are several.
    """

    def __init__(self, modules, original):
        super().__init__(modules)
        with no_grad():
            value = self._backwards(original.detach(), require=False)
        self.is_tensor = isinstance(value, Tensor)
        if self.is_tensor and value.dtype != original.dtype:
            raise ValueError(
                f"register_parametrization: right_inverse gave {value.dtype.name} for {original.dtype.name}; let it "
                "keep the dtype"
            )
        values = {"original": value} if self.is_tensor else {f"original{i}": each for i, each in enumerate(value)}
        self.ntensors = len(values)
        for name, each in values.items():
            made = Parameter(each, original.requires_grad) if isinstance(original, Parameter) else each
            self._hold(name, made, _kind(original))

    def take(self, original):
        """Makes this very tensor the original, if there is one."""
        if self.is_tensor:
            if any(hasattr(module, "right_inverse") for module in self):
                _set(original, self.original)
            self._hold("original", original, _kind(original))

    def originals(self):
        """All of them."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self):
        first, *rest = self
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        return value

    def right_inverse(self, value):
        """Gives the originals values of which `value` is computed."""
        with no_grad():
            value = self._backwards(value.detach(), require=True)
            for original, each in zip(self.originals(), [value] if self.is_tensor else value):
                _set(original, each)

    def _backwards(self, value, require):
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                value = module.right_inverse(value)
            elif require:
                raise ValueError(
                    f"parametrize: {type(module).__name__} has no right_inverse(), so that a value cannot be assigned"
                )
        if (
            isinstance(value, Tensor)
            or isinstance(value, (tuple, list))
            and all(isinstance(each, Tensor) for each in value)
        ):
            return value
        raise TypeError(f"parametrize: right_inverse() must return a tensor or several, not {type(value).__name__}")


def _kind(original):
    return "parameter" if isinstance(original, Parameter) else "buffer"


def _set(original, value):
    gradient = original.grad
    if gradient is not None and gradient.shape != value.shape:
        original.grad = None
    original.data = value.detach()


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """From now on the module's parameter or buffer of this name is computed by `parametrization`, a module, and
    returned.

    Its original takes its place in parameters() and state_dict(), as "parametrizations.<name>.original". It begins as
    what `parametrization.right_inverse` gives for the present value, or as that itself. A second one computes of what
    the first one gave.

    Raises:
        ValueError: the module has no such member, or, unless `unsafe`, the result has another shape or dtype.
    """
    if not isinstance(parametrization, Module):
        raise TypeError(f"register_parametrization: give a Module, not {type(parametrization).__name__}")
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        value = getattr(module, tensor_name)
        _check(module, tensor_name, value, parametrization(value), unsafe)
        held = module.parametrizations[tensor_name].append(parametrization)
        held.right_inverse(value)
        return module
    if (
        module._kinds.get(tensor_name) not in ("parameter", "buffer", "transient buffer")
        or module.__dict__[tensor_name] is None
    ):
        raise ValueError(
            f"register_parametrization: {type(module).__name__} has no parameter or buffer '{tensor_name}'"
        )
    original = module.__dict__[tensor_name]
    held = ParametrizationList([parametrization], original)
    with no_grad():
        _check(module, tensor_name, original, held(), unsafe)
    held.take(original)
    if not is_parametrized(module):
        _make_parametrized(module)
    delattr(module, tensor_name)
    module.parametrizations[tensor_name] = held
    _add_property(type(module), tensor_name)
    return module


def _check(module, name, before, after, unsafe):
    if unsafe:
        return
    if not isinstance(after, Tensor):
        raise TypeError(
            f"register_parametrization: '{name}' of {type(module).__name__} must become a tensor, not "
            f"{type(after).__name__}"
        )
    if after.shape != before.shape or after.dtype != before.dtype:
        raise ValueError(
            f"register_parametrization: '{name}' of {type(module).__name__} is "
            f"{before.dtype.name}{list(before.shape)} and "
            f"would become {after.dtype.name}{list(after.shape)}; pass unsafe=True if that is meant"
        )


def _make_parametrized(module):
    base = type(module)
    members = {
        "_parametrized_base": base,
        "__module__": base.__module__,
        "__doc__": base.__doc__,
        "__reduce_ex__": _reduce,
    }
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)
    module.parametrizations = ModuleDict()


def _add_property(cls, name):
    def get(self):
        held = self.parametrizations[name]
        if not _cache_users:
            return held()
        key = id(self), name
        if key not in _cache:
            _cache[key] = held()
        return _cache[key]

    def set(self, value):
        if not isinstance(value, Tensor):
            raise TypeError(f"'{name}' is parametrized; assign a tensor, not {type(value).__name__}")
        self.parametrizations[name].right_inverse(value)

    setattr(cls, name, property(get, set))


def _reduce(self, protocol):
    """The class is made for the one module: a copy makes its own."""
    return _rebuild, (type(self)._parametrized_base, self.parametrizations.keys()), dict(self.__dict__)


def _rebuild(base, names):
    module = base.__new__(base)
    _make_parametrized(module)
    for name in names:
        _add_property(type(module), name)
    return module


def is_parametrized(module, tensor_name=None):
    """Is this member of the module computed, or, without a name, any?"""
    names = module.__dict__.get("parametrizations") if hasattr(type(module), "_parametrized_base") else None
    if names is None:
        return False
    return bool(len(names)) if tensor_name is None else tensor_name in names


def type_before_parametrizations(module):
    """The class that the module had."""
    return getattr(type(module), "_parametrized_base", type(module))


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """The member is a plain one again: of the value that is computed now, or of the original. Returns the module.

    Raises:
        ValueError: the member is not parametrized, or has several originals and is to become one.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"remove_parametrizations: '{tensor_name}' of {type(module).__name__} is not parametrized")
    held = module.parametrizations[tensor_name]
    if not leave_parametrized and not held.is_tensor:
        raise ValueError(
            f"remove_parametrizations: '{tensor_name}' has {held.ntensors} originals; pass leave_parametrized=True"
        )
    original = held.originals()[0]
    kind = held._kinds["original" if held.is_tensor else "original0"]
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name).detach()
        if held.is_tensor:
            _set(original, value)
        else:
            original = Parameter(value, original.requires_grad) if kind == "parameter" else value
    cls = type(module)
    delattr(cls, tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = cls._parametrized_base
    module._hold(tensor_name, original, kind)
    return module
