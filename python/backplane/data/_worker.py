"""A worker process of a DataLoader: takes numbers, gives batches.

It has a connection of its own to the loader, and nothing that another worker could leave locked: when one is killed,
the others and the loader only see a connection that ends.
"""

import pickle
import queue
import random
import signal
import sys
import threading
import traceback
from dataclasses import dataclass

from .. import _core
from ._fetch import End, Fetcher

_info = None


@dataclass
class WorkerInfo:
    """Of the worker process that asks."""

    id: int
    num_workers: int
    seed: int
    dataset: object


def get_worker_info():
    """In a worker process, its number `id` among `num_workers`, its `seed` and its copy of the dataset; elsewhere
    None."""
    return _info


@dataclass
class Job:
    """What a worker is started with."""

    id: int
    num_workers: int
    recipe: object
    init_fn: object


class RemoteTraceback(Exception):
    """The cause of an error that a worker has raised: where it was raised there."""

    def __init__(self, text):
        super().__init__(text)
        self.text = text

    def __str__(self):
        return f"\n{self.text}"


class Failure:
    """An error on its way to the loader."""

    def __init__(self, error, where):
        self.text = "".join(traceback.format_exception(error)).rstrip()
        self.where, self.notes = where, list(getattr(error, "__notes__", ()))
        self.name = f"{type(error).__name__}: {error}"
        self.error = None
        try:  # many errors can be pickled, and not made again
            raw = pickle.dumps(error)
            if type(pickle.loads(raw)) is type(error):
                self.error = raw
        except Exception:
            pass

    def again(self):
        """The error, to be raised."""
        error = pickle.loads(self.error) if self.error is not None else RuntimeError(self.name)
        known = getattr(error, "__notes__", ())
        for note in (*self.notes, self.where):
            if note not in known:
                error.add_note(note)
        error.__cause__ = RemoteTraceback(self.text)
        return error


def run(job, connection, others):
    """Until the loader closes the connection."""
    for each in others:  # ends of earlier workers, which a fork has copied; they must end with the loader
        each.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the loader gets it too, and closes the connection
    _core.set_num_threads(1)
    tasks, results, is_over = queue.SimpleQueue(), queue.SimpleQueue(), threading.Event()
    threading.Thread(target=_receive, args=(connection, tasks, is_over), daemon=True).start()
    sender = threading.Thread(target=_send, args=(connection, results), daemon=True)
    sender.start()
    worker = _Worker(job, results)
    while (task := tasks.get()) is not None and not is_over.is_set():
        worker.take(*task)
    results.put(None)
    sender.join()
    sys.stdout.flush()
    sys.stderr.flush()


def _receive(connection, tasks, is_over):
    """Always ready, so that the loader never waits for a worker to take a task."""
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        is_over.set()  # what is still to be done, nobody waits for
        tasks.put(None)


def _send(connection, results):
    """Beside the making of the next batch."""
    try:
        while (raw := results.get()) is not None:
            connection.send_bytes(raw)
    except OSError:
        pass  # the loader is gone


class _Worker:
    def __init__(self, job, results):
        self.job, self.results, self.fetcher, self.begun = job, results, None, None

    def take(self, round_number, index, numbers_or_seed):
        if index is None:
            self.begin(numbers_or_seed)
        else:
            self.results.put(self.made(round_number, index, numbers_or_seed))

    def begin(self, seed):
        """A round over the dataset. An error is told for the first batch that is asked for."""
        global _info
        job, self.begun = self.job, None
        try:
            _seed_all(seed + job.id)
            if _info is None:
                _info = WorkerInfo(job.id, job.num_workers, seed + job.id, job.recipe.dataset)
                if job.init_fn is not None:
                    job.init_fn(job.id)
            _info.seed = seed + job.id
            self.fetcher = Fetcher(job.recipe)
        except Exception as error:
            _info = None
            self.begun = Failure(error, f"DataLoader: raised in worker {job.id}, before its first batch")

    def made(self, round_number, index, numbers):
        try:
            value = self.begun or self.fetcher.fetch(numbers)
        except End:
            value = End()
        except Exception as error:
            value = Failure(error, f"DataLoader: raised in worker {self.job.id}, for batch {index}")
        try:
            return pickle.dumps((round_number, index, value), 5)
        except Exception as error:
            return pickle.dumps(
                (
                    round_number,
                    index,
                    Failure(error, f"DataLoader: raised in worker {self.job.id}, as batch {index} was pickled"),
                ),
                5,
            )


def _seed_all(seed):
    random.seed(seed)
    _core.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
