"""Batches of a dataset, made here or in worker processes."""

import itertools
import weakref

from ._fetch import End, Fetcher, Recipe
from ._pool import Pool
from ._worker import Failure, get_worker_info
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, new_seed

__all__ = ["DataLoader", "get_worker_info"]


class _Endless(Sampler):
    """Of a stream, whose samples have no numbers."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader:
    """Batches of a dataset, in the same order with any number of workers.

    With workers, each makes every num_workers-th batch, and prefetch_factor batches ahead. Batches travel by values. Of
    an IterableDataset each worker has a copy, which `get_worker_info` helps to make different. An error in a worker is
    raised here, with a note of its batch and sample and the worker's traceback as its cause; the batches behind it can
    still be had. Workers end with the iteration, also with one that is broken off, and with the interpreter.

    Args:
        dataset: with `__getitem__` and `__len__`, or an IterableDataset.
        batch_size: how many samples; None: no batches, and single samples come.
        shuffle: a new random order each round.
        sampler: an iterable of numbers, in place of shuffle.
        batch_sampler: an iterable of lists of numbers, in place of batch_size, shuffle, sampler and drop_last.
        num_workers: processes; 0: batches are made here, when they are asked for.
        collate_fn: makes a batch of a list of samples; by default `default_collate`.
        pin_memory: taken for PyTorch callers and not used: copies to devices wait for the host's memory as it is.
        drop_last: leaves out a last batch that is shorter.
        timeout: seconds to wait for a batch of a worker; 0: forever.
        worker_init_fn: called in each worker with its number. Random numbers of `random`, NumPy and Backplane are
            seeded before.
        multiprocessing_context: "fork", "spawn", "forkserver" or a context; by default the system's.
        generator: of the order and of the workers' seeds.
        prefetch_factor: batches that each worker makes ahead; by default 2.
        persistent_workers: workers stay for the next round.

    Raises:
        TypeError, ValueError: arguments do not go together.
    """

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        _check_callable("collate_fn", collate_fn)
        _check_callable("worker_init_fn", worker_init_fn)
        is_stream = isinstance(dataset, IterableDataset)
        if is_stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader: samples of an IterableDataset have no numbers; it takes no shuffle, sampler or "
                "batch_sampler"
            )
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: give a sampler or shuffle, not both")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader: a batch_sampler takes the place of batch_size, shuffle, sampler and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("DataLoader: drop_last needs a batch_size")
        if sampler is None:
            sampler = (
                _Endless()
                if is_stream
                else RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
            )
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, bool(drop_last))
        self.dataset, self.batch_size, self.sampler, self.batch_sampler = dataset, batch_size, sampler, batch_sampler
        self.num_workers, self.drop_last, self.timeout, self.worker_init_fn = (
            num_workers,
            bool(drop_last),
            timeout,
            worker_init_fn,
        )
        self.multiprocessing_context, self.generator, self.pin_memory = multiprocessing_context, generator, pin_memory
        self.prefetch_factor = (2 if prefetch_factor is None else prefetch_factor) if num_workers else None
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._pool, self._round, self._num_rounds = None, None, 0

    def __len__(self):
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self):
        recipe = Recipe(self.dataset, self.collate_fn, self.batch_sampler is not None, self.drop_last)
        numbers = iter(self.sampler if self.batch_sampler is None else self.batch_sampler)
        seed = new_seed(self.generator)  # also without workers, so that the order is the same
        if self.num_workers == 0:
            return _here(Fetcher(recipe), numbers)
        if not self.persistent_workers:
            return _Round(self, self._new_pool(recipe), numbers, seed, 0)
        before = self._round() if self._round is not None else None
        if before is not None:
            before._is_over = True
        if self._pool is None:
            self._pool = self._new_pool(recipe)
        self._num_rounds += 1
        made = _Round(self, self._pool, numbers, seed, self._num_rounds)
        self._round = weakref.ref(made)  # no cycle, so that workers end as soon as nobody holds the loader
        return made

    def _new_pool(self, recipe):
        return Pool(recipe, self.num_workers, self.worker_init_fn, self.multiprocessing_context)

    def __getstate__(self):
        return {**self.__dict__, "_pool": None, "_round": None}  # processes stay where they are


def _here(fetcher, numbers):
    for each in numbers:
        try:
            batch = fetcher.fetch(each)
        except End:
            return
        yield batch


class _Round:
    """One iteration over the batches of a pool. Batch i is worker i % num_workers's, as long as that has some."""

    def __init__(self, loader, pool, numbers, seed, number):
        self._loader, self._pool, self._numbers, self._number = loader, pool, enumerate(numbers), number
        self._is_kept = loader.persistent_workers
        self._live = list(range(loader.num_workers))  # streams of the others have ended
        self._turn = 0
        self._asked = {}  # by batch, the worker
        self._came = {}  # by batch, what is not yet its turn
        self._next, self._is_over = 0, False
        with _Ending(self):
            for worker in self._live:
                pool.send(worker, (number, None, seed))
            for _ in range(loader.prefetch_factor * loader.num_workers):
                self._ask()

    def __iter__(self):
        return self

    def __next__(self):
        with _Ending(self):
            while True:
                if self._is_over:
                    raise StopIteration
                if self._next not in self._asked and self._next not in self._came:
                    self._finish()
                    raise StopIteration
                worker, value = self._take(self._next)
                self._next += 1
                if isinstance(value, End):  # when its turn comes, so that the order does not hang on who is faster
                    if worker in self._live:
                        self._live.remove(worker)
                    continue
                self._ask()
                if isinstance(value, Failure):
                    break
                return value
        raise value.again()

    def _take(self, index):
        """Waits for the batch, and keeps others that come before it."""
        while index not in self._came:
            waited = sorted(set(self._asked.values()))
            number, came, value = self._pool.receive(waited, self._loader.timeout)
            if number != self._number:
                continue  # of a round that was broken off
            self._came[came] = self._asked.pop(came), value
        return self._came.pop(index)

    def _ask(self):
        """The next worker for the next batch, if there are both."""
        if not self._live:
            return
        following = next(self._numbers, None)
        if following is None:
            return
        index, numbers = following
        worker = self._live[self._turn % len(self._live)]
        self._turn += 1
        self._asked[index] = worker
        self._pool.send(worker, (self._number, index, numbers))

    def _finish(self):
        self._is_over = True
        if not self._is_kept:
            self._pool.close()

    def _fail(self):
        self._is_over = True
        self._pool.close()
        if self._loader._pool is self._pool:
            self._loader._pool = None


class _Ending:
    """Ends the workers where something goes wrong that is not the dataset's fault: a dead worker, Ctrl-C."""

    def __init__(self, round):
        self._round = round

    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        if kind is not None and kind is not StopIteration:
            self._round._fail()


def _check_callable(name, value):
    if value is not None and not callable(value):
        raise TypeError(f"DataLoader: {name} must be a function, not a {type(value).__name__}")


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, context):
    if isinstance(num_workers, bool) or not isinstance(num_workers, int):
        raise TypeError(f"DataLoader: num_workers must be an int, not a {type(num_workers).__name__}")
    if num_workers < 0:
        raise ValueError(f"DataLoader: num_workers is {num_workers}; it must not be negative")
    if not timeout >= 0:
        raise ValueError(f"DataLoader: timeout is {timeout}; it must not be negative")
    if num_workers == 0 and (prefetch_factor is not None or persistent_workers or context is not None or timeout):
        raise ValueError(
            "DataLoader: prefetch_factor, persistent_workers, timeout and multiprocessing_context are for workers; give"
            " num_workers above 0"
        )
    if prefetch_factor is not None and (not isinstance(prefetch_factor, int) or prefetch_factor < 1):
        raise ValueError(f"DataLoader: prefetch_factor is {prefetch_factor!r}; it must be an integer from 1 on")
