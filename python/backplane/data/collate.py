"""Samples into batches."""

from collections.abc import Mapping, Sequence

from .. import _core
from .._core import Tensor

__all__ = ["default_collate", "default_convert"]

_stack = _core.operators["stack"]


def _is_numpy(value):
    return type(value).__module__ == "numpy" and hasattr(value, "dtype")


def default_collate(batch):
    """Samples into a batch: tensors, arrays and numbers become tensors with one dimension more, at the front.

    Dicts, named tuples, tuples and lists are collated part by part, tuples as lists; texts and bytes stay a list.

    Raises:
        TypeError: samples are of a type that makes no batch; give DataLoader a collate_fn.
        ValueError: samples have other shapes or parts than the first.
    """
    batch = list(batch)
    if not batch:
        raise ValueError("default_collate: got no samples")
    return _collate(batch, "a sample")


def _collate(batch, what):
    first = batch[0]
    if any(type(each) is not type(first) and not isinstance(each, type(first)) for each in batch):
        names = sorted({type(each).__name__ for each in batch})
        if not all(isinstance(each, (bool, int, float)) for each in batch):
            raise TypeError(f"default_collate: {what} is of several types, {', '.join(names)}; give a collate_fn")
    if isinstance(first, Tensor):
        return _stacked(batch, what)
    if _is_numpy(first):
        if first.dtype.kind not in "biufc":
            raise TypeError(
                f"default_collate: {what} is an array of {first.dtype}, which no tensor has; give a collate_fn"
            )
        return _stacked([_core.as_tensor(each) for each in batch], what)
    if isinstance(first, float):
        return _core.tensor(batch, dtype=_core.float64)
    if isinstance(first, (bool, int, complex)):
        return _core.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _collate_dicts(batch, what)
    if isinstance(first, Sequence):
        return _collate_sequences(batch, what)
    raise TypeError(
        f"default_collate: {what} is a {type(first).__name__}; tensors, arrays, numbers, texts, dicts, tuples and "
        "lists make a batch; give a collate_fn"
    )


def _stacked(tensors, what):
    shape = tensors[0].shape
    for index, each in enumerate(tensors):
        if tuple(each.shape) != tuple(shape):
            raise ValueError(
                f"default_collate: {what} 0 of the batch has shape {tuple(shape)}, and {index} has "
                f"{tuple(each.shape)}; make them alike, or give a collate_fn"
            )
    return _stack(tensors)


def _collate_dicts(batch, what):
    first = batch[0]
    for each in batch:
        if set(each) != set(first):
            raise ValueError(f"default_collate: {what} has the keys {list(first)}, and another {list(each)}")
    parts = {key: _collate([each[key] for each in batch], f"{what}[{key!r}]") for key in first}
    try:
        return type(first)(parts)
    except TypeError:  # of a class that is made otherwise
        return parts


def _collate_sequences(batch, what):
    first = batch[0]
    for each in batch:
        if len(each) != len(first):
            raise ValueError(f"default_collate: {what} has {len(first)} parts, and another {len(each)}")
    parts = [_collate(list(each), f"{what}[{index}]") for index, each in enumerate(zip(*batch))]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


def default_convert(data):
    """One sample, not batched: arrays become tensors, in dicts, tuples and lists too; all else stays."""
    if _is_numpy(data) and data.dtype.kind in "biufc":
        return _core.as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, (list, tuple)):
        return type(data)(map(default_convert, data))
    return data
