"""Cases for compare_modules.py: which module, made with what, called with what. Each other file of this folder has a list
CASES, and beside it the C++ file that makes the same modules of ours. A new module is a case here and a line there."""

import dataclasses
import inspect
from typing import Callable

import torch


@dataclasses.dataclass
class Case:
    name: str  # of torch.nn
    args: dict  # of the constructor, by name
    inputs: Callable  # makes them; a tensor that requires grad is a leaf
    training: bool
    # check(module, inputs, outcome) in place of the comparison of results and gradients: a sentence, '' for nothing. For
    # what is drawn at random.
    check: Callable | None = None
    # prepare(module, inputs, results, gradients) -> tensors that say the same on both sides
    prepare: Callable | None = None
    # called(module, inputs) in place of module(*inputs): the results of PyTorch's side
    called: Callable | None = None
    # make(**args) in place of torch.nn.NAME(**args)
    make: Callable | None = None

    @property
    def where(self):
        args = ", ".join(f"{name}={said(value)}" for name, value in self.args.items())
        return f"{self.name}({args}){'' if self.training else ', eval'}"


def said(value):
    return f"tensor of {list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


def normal(*shape):
    """A leaf of normal numbers."""
    return torch.randn(shape, dtype=torch.float64).requires_grad_()


def uniform(*shape, low=0.0, high=1.0):
    """A leaf of numbers between two."""
    return (torch.rand(shape, dtype=torch.float64) * (high - low) + low).requires_grad_()


def integers(*shape, high, low=0):
    return torch.randint(low, high, shape)


def made_of(described):
    """An input of its description: a shape stands for a leaf of normal numbers."""
    if isinstance(described, tuple):
        return normal(*described)
    return described() if callable(described) else described


def case(name, *args, of, training=(True, False), check=None, prepare=None, called=None, **kwargs):
    """As torch.nn.NAME(*args, **kwargs) called with `of`: a list of shapes, tensors, None, and functions that make a
    tensor. In training and in evaluation."""
    bound = inspect.signature(getattr(torch.nn, name).__init__).bind(None, *args, **kwargs)
    named = {key: value for key, value in bound.arguments.items() if key != "self"}
    # *args and **kwargs of a constructor are not arguments of ours
    variadic = [p.name for p in inspect.signature(getattr(torch.nn, name).__init__).parameters.values()
                if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    named = {key: value for key, value in named.items() if key not in variadic}
    return [Case(name, named, lambda: [made_of(one) for one in of], mode, check, prepare, called) for mode in training]


def cases(name, variants, of, **common):
    """The same call of several variants, each (args, kwargs) or kwargs; common ones as well."""
    listed = []
    for variant in variants:
        args, kwargs = variant if isinstance(variant, tuple) else ((), variant)
        listed += case(name, *args, of=of, **common, **kwargs)
    return listed
