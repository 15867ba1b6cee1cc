"""Errors name the function that was called, not one that it is made of."""

import sys

from . import _core


def named(function, name):
    """`function` under the name `name`, with which the sentences of its errors begin."""

    def call(*args, **keywords):
        try:
            return function(*args, **keywords)
        except (TypeError, ValueError, IndexError, _core.Error) as error:
            rename(error, name)
            raise
        except AttributeError as error:
            other = not_a_tensor(name, error, (*args, *keywords.values()))
            if other is None:
                raise
            raise other from None

    # What functools.wraps does, whose import takes a tenth of this package's.
    call.__dict__.update(getattr(function, "__dict__", {}))
    call.__wrapped__, call.__doc__ = function, function.__doc__
    call.__annotations__ = getattr(function, "__annotations__", {})
    call.__name__, call.__qualname__, call.__module__ = name, name, "backplane"  # where pickle finds it
    return call


def not_a_tensor(name, error, args):
    """The error to raise where a function took an attribute of a tensor's from an argument that is not one, or from the
    dtype of another library's array; None: other code's error."""
    if isinstance(error.obj, _core.Tensor):
        return None
    flat = [one for each in args for one in (each, *(each if isinstance(each, (tuple, list)) else ()))]
    for each in flat:
        is_foreign = not isinstance(each, _core.Tensor) and type(getattr(each, "dtype", None)) is type(error.obj)
        if each is error.obj or is_foreign:
            return TypeError(f"{name}: give a Tensor, not {type(each).__name__}")
    return None


def name_all(functions, names):
    """Replaces those of the `names` that are written in Python by their `named` forms."""
    for name in names:
        if isinstance(functions[name], type(named)):
            functions[name] = named(functions[name], name)


def rename(error, name):
    """Puts `name` in the place of the operator or function that the error's sentence begins with. Errors of earlier work stay."""
    sentence = error.args[0] if error.args else None
    if not isinstance(sentence, str) or hasattr(error, "is_late"):
        return
    import re  # where there is an error

    found = re.match(r"(\w+)(?=\(\) |: )", sentence)  # "gt: ...", "gt() takes ..."
    homes = (_core.operators, vars(_core), vars(_core.forms), vars(_core.Tensor), vars(sys.modules["backplane"]))
    if found and found[1] != name and any(found[1] in home for home in homes):
        error.args = (name + sentence[found.end() :], *error.args[1:])
