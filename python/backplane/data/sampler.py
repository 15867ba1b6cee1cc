"""In which order samples are taken, and which of them make a batch."""

import itertools
import math

from .. import _core

__all__ = [
    "BatchSampler",
    "DistributedSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_rows = _core.operators


class Sampler:
    """Numbers of samples. A subclass has `__iter__`, and mostly `__len__`."""

    def __init__(self, data_source=None):
        pass

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__}: a Sampler has __iter__()")


def new_seed(generator=None):
    """From the process's random numbers, or the generator's."""
    return int(_rows["randint"](0, 2**62, (1,), generator=generator))


def _generator(given):
    """The one that is given; or a new one, so that an order does not change with what others draw meanwhile."""
    if given is not None:
        return given
    made = _core.Generator()
    made.manual_seed(new_seed())
    return made


def _check_count(sampler, name, value):
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{sampler}: {name} is {value!r}; it must be an integer from 1 on")


class SequentialSampler(Sampler):
    """0, 1, 2 and so on."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """All in a random order; with `replacement`, each drawn again.

    Args:
        num_samples: how many to draw; by default as many as there are.
        generator: by default a new one for each round, whose seed is from the process's numbers.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        if num_samples is not None:
            _check_count("RandomSampler", "num_samples", num_samples)
        self.data_source, self.replacement, self._num_samples, self.generator = (
            data_source,
            bool(replacement),
            num_samples,
            generator,
        )

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        count, wanted, generator = len(self.data_source), self.num_samples, _generator(self.generator)
        if count == 0:
            return
        while wanted > 0:
            if self.replacement:
                drawn = _rows["randint"](0, count, (min(wanted, 4096),), generator=generator).tolist()
            else:
                drawn = _rows["randperm"](count, generator=generator).tolist()[:wanted]
            yield from drawn
            wanted -= len(drawn)

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The numbers that are given, in a random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for place in _rows["randperm"](len(self.indices), generator=_generator(self.generator)).tolist():
            yield self.indices[place]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Numbers drawn by weights.

    Raises:
        ValueError: a weight is negative or not finite, all are 0, or without replacement more are to be drawn than have
            one.
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count("WeightedRandomSampler", "num_samples", num_samples)
        self.weights = _core.as_tensor(weights, dtype=_core.float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"WeightedRandomSampler: weights have shape {tuple(self.weights.shape)}; give one dimension"
            )
        values = self.weights.tolist()
        if not values or not all(0 <= each < math.inf for each in values) or not any(values):
            raise ValueError("WeightedRandomSampler: weights must be finite and not negative, and one above 0")
        if not replacement and num_samples > sum(each > 0 for each in values):
            raise ValueError(
                f"WeightedRandomSampler: {num_samples} samples without replacement, of "
                f"{sum(each > 0 for each in values)} with a weight above 0"
            )
        self.num_samples, self.replacement, self.generator = num_samples, bool(replacement), generator

    def __iter__(self):
        yield from _rows["multinomial"](
            self.weights, self.num_samples, self.replacement, generator=_generator(self.generator)
        ).tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of batch_size numbers of another sampler; the last may be shorter, or is left out by drop_last."""

    def __init__(self, sampler, batch_size, drop_last):
        _check_count("BatchSampler", "batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler: drop_last is {drop_last!r}; it must be a bool")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedSampler(Sampler):
    """Each of several processes takes another part: numbers rank, rank + num_replicas and so on, of one order of all.

    Call `set_epoch` before each round, or all have the same order.

    Args:
        num_replicas: how many processes.
        rank: which of them this is, from 0.
        shuffle: a random order, by seed and epoch.
        drop_last: leaves the tail out, so that parts are as long; else the first samples are taken again.

    Raises:
        ValueError: num_replicas or rank is missing, or they do not fit.
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise ValueError("DistributedSampler: give num_replicas and rank")
        _check_count("DistributedSampler", "num_replicas", num_replicas)
        if not 0 <= rank < num_replicas:
            raise ValueError(f"DistributedSampler: rank is {rank}; it must be from 0 to {num_replicas - 1}")
        self.dataset, self.num_replicas, self.rank, self.shuffle = dataset, num_replicas, rank, shuffle
        self.seed, self.drop_last, self.epoch = seed, drop_last, 0
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        count = len(self.dataset)
        if self.shuffle:
            generator = _core.Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = _rows["randperm"](count, generator=generator).tolist()
        else:
            order = list(range(count))
        if order and len(order) < self.total_size:
            order = list(itertools.islice(itertools.cycle(order), self.total_size))
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Another order for another round, the same in all processes."""
        self.epoch = epoch
