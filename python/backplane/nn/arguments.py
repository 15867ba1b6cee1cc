"""What is wrong with an argument that has not what a tensor has."""

import functools

from .._core import Tensor

__all__ = ["of_tensors", "not_a_tensor"]


def not_a_tensor(name, error, values):
    """A TypeError in place of an AttributeError that arose because one of `values` is not a tensor; else None."""
    if getattr(error, "obj", None) is None and not str(error).startswith("'NoneType'"):
        return None
    if isinstance(error.obj, Tensor) or not any(each is error.obj for each in values):
        return None
    return TypeError(f"{name}: an argument must be a Tensor, not {type(error.obj).__name__}")


def of_tensors(function):
    """Makes a function of tensors say so when it is given something else."""

    @functools.wraps(function)
    def checked(*args, **keywords):
        try:
            return function(*args, **keywords)
        except AttributeError as error:
            wrong = not_a_tensor(function.__name__, error, (*args, *keywords.values()))
            if wrong is None:
                raise
        raise wrong

    return checked
