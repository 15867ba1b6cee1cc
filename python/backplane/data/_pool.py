"""The worker processes of a DataLoader, seen from the loader."""

import multiprocessing
import os
import pickle
import signal
import time
import weakref
from multiprocessing import connection as connections

from . import _worker
from ._worker import Job

_GRACE = 2.0  # seconds that a worker has to end the batch that it makes


class Pool:
    """Workers 0, 1, 2 and so on. Ends with `close()`, when it is dropped, or with the interpreter."""

    def __init__(self, recipe, num_workers, init_fn, context):
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        self.processes, self.connections = [], []
        self._end = weakref.finalize(self, _end, os.getpid(), self.processes, self.connections)
        try:
            for number in range(num_workers):
                self._start(Job(number, num_workers, recipe, init_fn), context)
        except BaseException:
            self.close()
            raise

    def _start(self, job, context):
        own, theirs = context.Pipe()
        self.connections.append(own)
        others = self.connections if context.get_start_method() == "fork" else ()
        process = context.Process(
            target=_worker.run, args=(job, theirs, others), daemon=True, name=f"DataLoader worker {job.id}"
        )
        try:
            process.start()
        except BaseException:
            theirs.close()
            raise
        theirs.close()  # so that the connection ends with the worker
        self.processes.append(process)

    def send(self, worker, task):
        """Raises RuntimeError if the worker is gone."""
        try:
            self.connections[worker].send(task)
        except OSError:
            raise self.death_of(worker) from None

    def receive(self, workers, timeout):
        """What one of the workers has sent.

        Raises RuntimeError if one of them is gone, TimeoutError after `timeout` seconds.
        """
        waiting = [self.connections[worker] for worker in workers]
        ready = connections.wait(waiting, timeout or None)
        if not ready:
            raise TimeoutError(f"DataLoader: no batch came within {timeout} seconds")
        worker = self.connections.index(ready[0])
        try:
            raw = ready[0].recv_bytes()
        except (EOFError, OSError):
            raise self.death_of(worker) from None
        return pickle.loads(raw)

    def death_of(self, worker):
        process = self.processes[worker]
        process.join(_GRACE)
        code = process.exitcode
        if code is None:
            how = "closed its connection"
        elif code < 0:
            how = f"was ended by {_signal_name(-code)}"
            if -code == signal.SIGKILL:
                how += ", as systems do whose memory ends"
        else:
            how = f"exited with code {code}"
        return RuntimeError(
            f"DataLoader: worker {worker} (pid {process.pid}) {how}; use fewer workers, or num_workers=0 to see "
            "what the dataset does"
        )

    def close(self):
        """Ends all workers: one that is in the midst of a batch after a while, by force."""
        self._end()


def _signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _end(owner, processes, ends):
    if os.getpid() != owner:  # a copy in another worker
        return
    for each in ends:
        each.close()
    until = time.monotonic() + _GRACE
    for act in (None, "terminate", "kill"):
        for process in processes:
            if act and process.is_alive():
                getattr(process, act)()
        for process in processes:
            process.join(max(0.0, until - time.monotonic()))
        until = time.monotonic() + 1.0
    for process in processes:
        if not process.is_alive():
            process.close()
