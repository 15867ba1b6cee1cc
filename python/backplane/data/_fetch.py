"""How a batch is made of a dataset: the same in the process of the caller and in workers."""

from dataclasses import dataclass

from .dataset import IterableDataset


@dataclass
class Recipe:
    """What workers need; it travels to them."""

    dataset: object
    collate_fn: object
    is_batched: bool
    drop_last: bool

    @property
    def is_stream(self):
        return isinstance(self.dataset, IterableDataset)


class End(Exception):
    """A stream has no further batch. No StopIteration, since one of a dataset would end loops in silence."""


class Fetcher:
    """Makes batches in the order in which it is asked."""

    def __init__(self, recipe):
        self._recipe = recipe
        self._stream = iter(recipe.dataset) if recipe.is_stream else None

    def fetch(self, numbers):
        """`numbers` of samples; of a stream, how many; of what is not batched, one."""
        recipe = self._recipe
        try:
            if recipe.is_stream:
                made = self._next_of_stream(len(numbers)) if recipe.is_batched else self._next()
            elif not recipe.is_batched:
                made = self._sample(numbers)
            else:
                several = getattr(recipe.dataset, "__getitems__", None)
                made = several(numbers) if callable(several) else [self._sample(each) for each in numbers]
            return recipe.collate_fn(made)
        except StopIteration as error:
            raise RuntimeError("DataLoader: the dataset or collate_fn raised StopIteration") from error

    def _sample(self, number):
        try:
            return self._recipe.dataset[number]
        except Exception as error:
            error.add_note(f"DataLoader: of sample {number!r}")
            raise

    def _next(self):
        try:
            return next(self._stream)
        except StopIteration:
            raise End from None

    def _next_of_stream(self, count):
        made = []
        try:
            while len(made) < count:
                made.append(self._next())
        except End:
            if not made or self._recipe.drop_last:
                raise
        return made
