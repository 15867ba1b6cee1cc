"""Samples by number, and streams of samples."""

import bisect
import itertools
import math

from .. import _core
from .._core import Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]


class Dataset:
    """Samples by number. A subclass has `__getitem__`, mostly `__len__`, and maybe `__getitems__` for a whole batch."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__}: a Dataset has __getitem__(index)")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """A stream of samples. A subclass has `__iter__`; each worker process has a copy, see `get_worker_info`."""

    def __getitem__(self, index):
        raise TypeError(f"{type(self).__name__}: samples of an IterableDataset have no numbers; iterate over it")

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__}: an IterableDataset has __iter__()")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """A sample is the tuple of the tensors' rows. Raises ValueError for tensors of other lengths."""

    def __init__(self, *tensors):
        for index, each in enumerate(tensors):
            if not isinstance(each, Tensor):
                raise TypeError(f"TensorDataset: argument {index} is a {type(each).__name__}, not a Tensor")
            if each.ndim == 0 or each.shape[0] != tensors[0].shape[0]:
                raise ValueError(
                    f"TensorDataset: tensor {index} has shape {tuple(each.shape)} and the first "
                    f"{tuple(tensors[0].shape)}; the first dimension must be the same"
                )
        if not tensors:
            raise ValueError("TensorDataset: give a tensor")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(each[index] for each in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]


class StackDataset(Dataset):
    """Several datasets together: a sample is a tuple of theirs, or a dict if they are given by name."""

    def __init__(self, *datasets, **named):
        if bool(datasets) == bool(named):
            raise ValueError("StackDataset: give datasets, or datasets by name")
        self.datasets = named or datasets
        lengths = {len(each) for each in (named.values() if named else datasets)}
        if len(lengths) != 1:
            raise ValueError(f"StackDataset: datasets have the lengths {sorted(lengths)}; they must be the same")
        self._length = lengths.pop()

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: each[index] for name, each in self.datasets.items()}
        return tuple(each[index] for each in self.datasets)

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """The datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: give a dataset")
        for each in self.datasets:
            if isinstance(each, IterableDataset):
                raise TypeError("ConcatDataset: an IterableDataset has no numbers; use ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(each) for each in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"ConcatDataset: index {index} among {len(self)} samples")
        index = int(index) % len(self)
        place = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[place][index - (self.cumulative_sizes[place - 1] if place else 0)]


class ChainDataset(IterableDataset):
    """The streams one after the other."""

    def __init__(self, datasets):
        self.datasets = datasets

    def __iter__(self):
        for each in self.datasets:
            if not isinstance(each, IterableDataset):
                raise TypeError(f"ChainDataset: a {type(each).__name__} is not an IterableDataset")
            yield from each

    def __len__(self):
        return sum(len(each) for each in self.datasets)


class Subset(Dataset):
    """The samples of a dataset at the given indices."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[each] for each in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        wanted = [self.indices[each] for each in indices]
        several = getattr(self.dataset, "__getitems__", None)
        return several(wanted) if callable(several) else [self.dataset[each] for each in wanted]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Parts of a dataset, disjoint and drawn at random.

    Args:
        lengths: of the parts; or fractions, whose sum is 1. What fractions leave goes to the first parts, one sample
            each.
        generator: of the numbers; by default the one of the process.

    Raises:
        ValueError: lengths do not add up to the dataset's, or fractions to 1.
    """
    count, lengths = len(dataset), list(lengths)
    if lengths and math.isclose(sum(lengths), 1) and sum(lengths) <= 1 + 1e-9 and not lengths == [1]:
        if any(not 0 <= each <= 1 for each in lengths):
            raise ValueError(f"random_split: fractions are {lengths}; each must be from 0 to 1")
        lengths = [math.floor(count * each) for each in lengths]
        for place in range(count - sum(lengths)):
            lengths[place % len(lengths)] += 1
    if sum(lengths) != count or any(each < 0 or each != int(each) for each in lengths):
        raise ValueError(
            f"random_split: lengths are {lengths}, and the dataset has {count} samples; they must add up to it"
        )
    order = iter(_core.operators["randperm"](count, generator=generator).tolist())
    return [Subset(dataset, list(itertools.islice(order, int(each)))) for each in lengths]
