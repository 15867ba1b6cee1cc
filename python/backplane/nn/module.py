"""Module: what has parameters, buffers and submodules as attributes, and computes something in forward()."""

import types

from .. import _core
from .._core import Tensor
from . import hooks as _hooks_
from . import state as _state
from .arguments import not_a_tensor
from .hooks import HookMethods
from .moves import MoveMethods
from .parameter import Buffer, Parameter

__all__ = ["Module"]

# What an attribute is to its module.
PARAMETER, BUFFER, TRANSIENT, MODULE = "parameter", "buffer", "transient buffer", "module"


class Module(HookMethods, MoveMethods):
    """The base of all layers and models.

    A subclass assigns parameters, buffers and other modules to attributes, and overrides `forward`. Calling the module
    calls forward with its hooks. An error within a submodule begins with the path to it:
    "encoder.layer.3.attention.query: linear: ...".

    `_parameters`, `_buffers` and `_modules` are read-only views: assign and delete attributes to change them.
    """

    def __new__(cls, *args, **keywords):
        # Here, and not in __init__: a subclass that forgets to call it works all the same.
        self = object.__new__(cls)
        # Values are plain attributes, so that reading one costs no more than that of any object; this says what they
        # are.
        self.__dict__.update(training=True, _kinds={}, _hooks=None)
        return self

    def __init__(self):
        pass

    def forward(self, *inputs):
        """What the module computes. Each subclass has its own."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(); define what it computes")

    def __call__(self, *args, **keywords):
        try:
            if self._hooks is None:
                return self.forward(*args, **keywords)
            return _hooks_.call(self, args, keywords)
        except Exception as error:
            other = _located(self, error, args, keywords)
            if other is None:
                raise
        raise other

    # --- Attributes -----------------------------------------------------------------------------------------

    def __setattr__(self, name, value):
        if isinstance(value, (Parameter, Module, Buffer)):
            if not isinstance(getattr(type(self), name, None), property):  # a property's setter decides for itself
                return self._hold(name, value, _kind_of(value))
        elif name in self._kinds:
            kind = self._kinds[name]
            if value is not None and not (kind in (BUFFER, TRANSIENT) and isinstance(value, Tensor)):
                wanted = {PARAMETER: "an nn.Parameter", MODULE: "a module"}.get(kind, "a tensor")
                raise TypeError(
                    f"{type(self).__name__}: '{name}' is a {kind}; assign {wanted} or None, not "
                    f"{type(value).__name__}, or delete it first"
                )
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        object.__delattr__(self, name)
        self._kinds.pop(name, None)

    def _hold(self, name, value, kind):
        if self._kinds.get(name) != kind:
            self._kinds.pop(name, None)
            self._kinds[name] = kind
        self.__dict__[name] = value

    def _check_name(self, what, name):
        if not isinstance(name, str):
            raise TypeError(f"{what}: the name must be a str, not {type(name).__name__}")
        if not name or "." in name:
            raise ValueError(f"{what}: the name is '{name}'; pass one that is not empty and has no dot")
        if hasattr(self, name) and name not in self._kinds:
            raise ValueError(f"{what}: {type(self).__name__} has an attribute '{name}' already; take another name")

    def register_parameter(self, name, param):
        """Makes `param`, or None, the parameter of this name.

        Raises:
            TypeError: it is not a Parameter. ValueError: the name has a dot, or is one of another attribute.
        """
        self._check_name("register_parameter", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"register_parameter: '{name}' must be a Parameter or None, not {type(param).__name__}")
        self._hold(name, param, PARAMETER)

    def register_buffer(self, name, tensor, persistent=True):
        """Makes `tensor`, or None, the buffer of this name, which is part of the state_dict if it is persistent."""
        self._check_name("register_buffer", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"register_buffer: '{name}' must be a Tensor or None, not {type(tensor).__name__}")
        self._hold(name, tensor, BUFFER if persistent else TRANSIENT)

    def register_module(self, name, module):
        """Makes `module`, or None, the submodule of this name."""
        self._check_name("register_module", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"register_module: '{name}' must be a Module or None, not {type(module).__name__}")
        self._hold(name, module, MODULE)

    add_module = register_module

    def _held(self, *kinds):
        values = self.__dict__
        return {name: values[name] for name, kind in self._kinds.items() if kind in kinds}

    _parameters = property(lambda self: types.MappingProxyType(self._held(PARAMETER)))
    _buffers = property(lambda self: types.MappingProxyType(self._held(BUFFER, TRANSIENT)))
    _modules = property(lambda self: types.MappingProxyType(self._held(MODULE)))

    # --- Walks ----------------------------------------------------------------------------------------------

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """This module, by the name `prefix`, and all within it, by their paths; one that is shared comes once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._held(MODULE).items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """This module and all within it; one that is shared comes once."""
        for _, module in self.named_modules():
            yield module

    def named_children(self):
        """The modules that are attributes of this one, and their names."""
        seen = set()
        for name, module in self._held(MODULE).items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The modules that are attributes of this one."""
        for _, module in self.named_children():
            yield module

    def _named(self, kinds, prefix, recurse, remove_duplicate):
        seen = set()
        walk = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in walk:
            for name, value in module._held(*kinds).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Parameters by their paths; one that is shared comes once, by its first path."""
        return self._named((PARAMETER,), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """Parameters of this module and of all within it; one that is shared comes once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Buffers by their paths; one that is shared comes once, by its first path."""
        return self._named((BUFFER, TRANSIENT), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """Buffers of this module and of all within it; one that is shared comes once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target):
        """The module at a path; "" is this one. Raises AttributeError where there is none."""
        module = self
        for name in target.split(".") if target else ():
            following = getattr(module, name, None)
            if not isinstance(following, Module):
                raise AttributeError(
                    f"get_submodule: no module '{target}': {type(module).__name__} has no module '{name}'"
                )
            module = following
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts a module at a path. With `strict`, there must be one to replace."""
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not isinstance(getattr(parent, name, None), Module):
            raise AttributeError(f"set_submodule: {type(parent).__name__} has no module '{name}' to replace")
        if not isinstance(module, Module):
            raise TypeError(f"set_submodule: give a Module, not {type(module).__name__}")
        parent.__setattr__(name, module)

    def _at(self, what, target, kinds):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if module._kinds.get(name) not in kinds:
            raise AttributeError(f"get_{what}: {type(module).__name__} has no {what} '{name}'")
        return getattr(module, name)

    def get_parameter(self, target):
        """The parameter at a path. Raises AttributeError where there is none."""
        return self._at("parameter", target, (PARAMETER,))

    def get_buffer(self, target):
        """The buffer at a path. Raises AttributeError where there is none."""
        return self._at("buffer", target, (BUFFER, TRANSIENT))

    def apply(self, fn):
        """Calls fn(module) for all within this module and then for itself, and returns it."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # --- Modes ----------------------------------------------------------------------------------------------

    def train(self, mode=True):
        """Sets `training`, which dropout and batch norm look at, here and in all within."""
        if not isinstance(mode, bool):
            raise TypeError(f"train: mode must be a bool, not {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets whether derivatives by the parameters are wanted."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or makes them zeros."""
        for parameter in self.parameters():
            gradient = parameter.grad
            if gradient is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = gradient.detach().zero_()

    # --- State ----------------------------------------------------------------------------------------------

    state_dict = _state.state_dict
    load_state_dict = _state.load_state_dict
    _save_to_state_dict = _state.save_own

    def get_extra_state(self):
        """What state_dict() keeps of this module beside tensors; a subclass that has such a state overrides it."""
        raise NotImplementedError(f"{type(self).__name__}: define get_extra_state()")

    def set_extra_state(self, state):
        """Takes back what get_extra_state() gave."""
        raise NotImplementedError(f"{type(self).__name__}: the state_dict has an extra state; define set_extra_state()")

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__["_kinds"] = dict(self._kinds)  # a shallow copy has attributes of its own

    # --- Text -----------------------------------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands in the parentheses of the module's text; a subclass has its own."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = [f"({name}): {_indented(repr(module))}" for name, module in self._held(MODULE).items()]
        if not lines and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        return in_parentheses(self._get_name(), (extra.split("\n") if extra else []) + lines)


def in_parentheses(name, lines):
    """A module's text of several lines."""
    return f"{name}(\n  " + "\n  ".join(lines) + "\n)"


def _indented(text):
    return text.replace("\n", "\n  ")


def _kind_of(value):
    if isinstance(value, Parameter):
        return PARAMETER
    if isinstance(value, Module):
        return MODULE
    return BUFFER if value.persistent else TRANSIENT


_LOCATED = (
    ValueError,
    TypeError,
    IndexError,
    _core.Error,
    _core.DeviceError,
    _core.OutOfMemoryError,
    _core.UnsupportedError,
)


def _located(module, error, args, keywords):
    """Puts the path from `module` to where the error arose before its text, or returns an error to raise instead.

    The first call sees it in the innermost module.
    """
    if type(error) is AttributeError and type(module).__module__.startswith(__package__):
        other = not_a_tensor(module._get_name(), error, (*args, *keywords.values()))
        if other is not None:
            _put_path(module, other)
        return other
    _put_path(module, error)
    return None


def _put_path(module, error):
    if type(error) not in _LOCATED or len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    innermost, text = error.__dict__.setdefault("_location", (module, error.args[0]))
    if innermost is module:
        return
    for path, each in module.named_modules():
        if each is innermost:
            error.args = (f"{path}: {text}",)
            return
