"""Modules and parameters in lists and dicts."""

import operator

from .._core import Tensor
from .module import Module, in_parentheses
from .parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Container(Module):
    """What holds modules or parameters, and may have attributes of other kinds beside them."""

    _held_kinds = ("module",)

    def _names(self):
        return [name for name, kind in self._kinds.items() if kind in self._held_kinds]

    def _values(self):
        values = self.__dict__
        return [values[name] for name, kind in self._kinds.items() if kind in self._held_kinds]

    def _put(self, name, value):
        self.register_module(name, value)

    def __len__(self):
        return len(self._names())


class _Parameters(_Container):
    """One that holds parameters. Tensors become parameters; other values are kept as they are."""

    _held_kinds = ("parameter", "value")

    def _put(self, name, value):
        self._check_name(self._get_name(), name)
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        self._hold(name, value, "parameter" if isinstance(value, Parameter) else "value")


class _Numbered(_Container):
    """Modules or parameters by place, whose names are "0", "1", ..."""

    def _place(self, index):
        try:
            place = operator.index(index)
        except TypeError:
            raise TypeError(
                f"{self._get_name()}: the index must be an int or a slice, not {type(index).__name__}"
            ) from None
        if not -len(self) <= place < len(self):
            raise IndexError(f"{self._get_name()}: index {place} of {len(self)}")
        return place % len(self)

    def _at(self, index):
        values = self._values()
        try:
            return values[index]
        except (TypeError, IndexError):
            return values[self._place(index)]  # which says what is wrong with it

    def _set_all(self, values, names=None):
        for name in self._names():
            delattr(self, name)
        for i, value in enumerate(values):
            self._put(str(i) if names is None else names[i], value)

    def __iter__(self):
        return iter(self._values())

    def __contains__(self, value):
        return any(each is value for each in self._values())

    def __delitem__(self, index):
        values = self._values()
        del values[index if isinstance(index, slice) else self._place(index)]
        self._set_all(values)

    def __setitem__(self, index, value):
        if isinstance(index, slice):
            values = self._values()
            values[index] = list(value)
            self._set_all(values)
            return
        self._put(self._names()[self._place(index)], value)

    def append(self, value):
        """Adds one at the end, and returns this."""
        self._put(str(len(self)), value)
        return self

    def insert(self, index, value):
        """Adds one before the one at `index`."""
        values = self._values()
        values.insert(index, value)
        self._set_all(values)

    def extend(self, values):
        """Adds several at the end, and returns this."""
        for value in list(_iterable(self, values)):
            self.append(value)
        return self

    def pop(self, index):
        """Removes one, and returns it."""
        value = self[index]
        del self[index]
        return value

    def __iadd__(self, values):
        return self.extend(values)

    def __add__(self, others):
        return type(self)([*self, *_iterable(self, others)])


def _iterable(container, values):
    if not hasattr(values, "__iter__") or isinstance(values, Tensor):
        raise TypeError(f"{container._get_name()}: give several in a list, not a {type(values).__name__}")
    return values


class Sequential(_Numbered):
    """Modules that are called one after the other, each with what the one before gave.

    Args:
        args: modules, or one dict of modules by name.
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for module in args:
                self.append(module)

    def forward(self, input):
        values = self.__dict__
        for name, kind in self._kinds.items():
            if kind == "module":
                input = values[name](input)
        return input

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)({name: self.__dict__[name] for name in self._names()[index]})
        return self._at(index)

    def __delitem__(self, index):
        names = self._names()
        for name in names[index] if isinstance(index, slice) else [names[self._place(index)]]:
            delattr(self, name)
        # Numbers close up; names that were given stay.
        names = self._names()
        self._set_all(self._values(), [str(i) if name.isdigit() else name for i, name in enumerate(names)])

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise TypeError(f"Sequential: add another Sequential, not a {type(other).__name__}")
        return type(self)(*self, *other)

    def __mul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"Sequential: multiply by an int, not a {type(times).__name__}")
        if times <= 0:
            raise ValueError(f"Sequential: times {times}; pass 1 or more")
        return type(self)(*(list(self) * times))

    __rmul__ = __mul__


class ModuleList(_Numbered):
    """Modules in a list, which are submodules. It has no forward.

    Args:
        modules: several modules; by default none.
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(self._values()[index])
        return self._at(index)

    def __repr__(self):
        entries = [repr(module) for module in self]
        if not entries:
            return f"{self._get_name()}()"
        lines, first = [], 0
        while first < len(entries):
            end = first + 1
            while end < len(entries) and entries[end] == entries[first]:
                end += 1
            count = end - first
            place = f"({first}): " if count == 1 else f"({first}-{end - 1}): {count} x "
            lines.append(place + entries[first].replace("\n", "\n  "))
            first = end
        return in_parentheses(self._get_name(), lines)


class ParameterList(_Numbered, _Parameters):
    """Parameters in a list. Tensors become parameters; other values are kept as they are.

    Args:
        values: several; by default none.
    """

    def __init__(self, values=None):
        super().__init__()
        if values is not None:
            self.extend(values)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(self._values()[index])
        return self._at(index)

    def __repr__(self):
        return _listed(self, enumerate(self))


class _Named(_Container):
    """Modules or parameters by name."""

    def __iter__(self):
        return iter(self._names())

    def __contains__(self, name):
        return self._kinds.get(name) in self._held_kinds

    def __getitem__(self, name):
        if name not in self:
            raise KeyError(f"{self._get_name()}: no '{name}'; there are {', '.join(self._names()) or 'none'}")
        return self.__dict__[name]

    def __setitem__(self, name, value):
        self._put(name, value)

    def __delitem__(self, name):
        self[name]
        delattr(self, name)

    def keys(self):
        """The names."""
        return self._names()

    def values(self):
        """What they name."""
        return self._values()

    def items(self):
        """Both."""
        return [(name, self.__dict__[name]) for name in self._names()]

    def pop(self, name, *default):
        """Removes one, and returns it; or `default` where there is none."""
        if default and name not in self:
            return default[0]
        value = self[name]
        delattr(self, name)
        return value

    def clear(self):
        """Removes all."""
        for name in self._names():
            delattr(self, name)

    def update(self, others):
        """Adds those of a dict, or of pairs."""
        if not hasattr(others, "__iter__"):
            raise TypeError(f"{self._get_name()}: give a dict or pairs, not a {type(others).__name__}")
        for name, value in others.items() if hasattr(others, "items") else others:
            self[name] = value


class ModuleDict(_Named):
    """Modules by name, which are submodules. It has no forward.

    Args:
        modules: a dict, or pairs; by default none.
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)


class ParameterDict(_Named, _Parameters):
    """Parameters by name. Tensors become parameters; other values are kept as they are.

    Args:
        parameters: a dict, pairs, or names of what is None as yet; by default none.
    """

    def __init__(self, parameters=None):
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def get(self, name, default=None):
        """The one of this name, or `default`."""
        return self.__dict__[name] if name in self else default

    def setdefault(self, name, default=None):
        """The one of this name, which `default` becomes if there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def popitem(self):
        """Removes the last one, and returns its name and itself."""
        if not self._names():
            raise KeyError("ParameterDict: it is empty")
        name = self._names()[-1]
        return name, self.pop(name)

    def copy(self):
        """Another dict of the same parameters."""
        return type(self)(self.items())

    def fromkeys(self, keys, default=None):
        """A new dict of these names, each of which names `default`."""
        return type(self)((name, default) for name in keys)

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def __repr__(self):
        return _listed(self, self.items())


def _listed(container, items):
    lines = []
    for name, value in items:
        if isinstance(value, Tensor):
            sizes = "x".join(str(size) for size in value.shape)
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            lines.append(f"({name}): {kind} containing: [{value.dtype} of size {sizes}]")
        else:
            lines.append(f"({name}): Object of type: {type(value).__name__}")
    return in_parentheses(container._get_name(), lines) if lines else f"{container._get_name()}()"
