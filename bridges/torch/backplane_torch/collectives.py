"""Collectives of torch.distributed for Backplane's devices: by PyTorch's Gloo, on copies in the host's memory.

The backend `backplane` of the device type `backplane`, with which DistributedDataParallel works, also between processes whose
devices are of different makers. A collective copies its tensors to the host when it is called; its results are copied back, in the
order of the stream on which it was called, when Gloo is done. Several may be under way. Errors of Gloo, such as a process that
has ended, are raised by `wait`.
"""

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d


def register():
    """Makes `backplane` a backend of torch.distributed, which `init_process_group()` takes for our devices by itself."""

    def create(store, rank, size, timeout):
        return HostCollectives(dist.ProcessGroupGloo(store, rank, size, timeout), rank, size)

    if dist.is_available() and dist.is_gloo_available():
        dist.Backend.register_backend("backplane", create, devices=["backplane"])


def _each(function, tensors):
    """The function of a tensor, and of each in a list, or in lists of lists."""
    return function(tensors) if isinstance(tensors, torch.Tensor) else [_each(function, part) for part in tensors]


def _read(tensors):
    return _each(lambda tensor: tensor.detach().cpu().contiguous(), tensors)


def _room_for(tensors):
    return _each(lambda tensor: torch.empty(tensor.shape, dtype=tensor.dtype), tensors)


def _write(tensors, results):
    if isinstance(tensors, torch.Tensor):
        tensors.detach().copy_(results)
    else:
        for tensor, result in zip(tensors, results, strict=True):
            _write(tensor, result)


def _writer(tensors, results):
    """A function that writes the results to the device's tensors, from any thread, in the order of this thread's stream."""
    stream = torch.backplane.current_stream()

    def write():
        with torch.backplane.stream(stream):
            _write(tensors, results)

    return write


class _Written(dist.Work):
    """Done when the results of Gloo's work are in the device's tensors, which are its value. Where Gloo has no future, as for
    messages, whoever waits writes them."""

    def __init__(self, work, tensors, results):
        super().__init__()
        self.work, self.write = work, _writer(tensors, results)
        self.tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        try:
            self.future = work.get_future().then(self._finish)
        except RuntimeError:
            self.future = None

    def _finish(self, done):
        done.value()  # raises what went wrong
        self.write()
        return self.tensors

    def wait(self, timeout=None):
        self.work.wait() if timeout is None else self.work.wait(timeout)
        if self.future is not None:
            self.future.wait()
        else:
            write, self.write = self.write, lambda: None
            write()
        return True

    def get_future(self):
        if self.future is None:
            raise NotImplementedError("backplane: Gloo has no future for this work; use wait()")
        return self.future


def _in_place(name):
    """The collective of Gloo that has this name and writes into its tensors."""

    def collective(self, tensors, opts):
        copies = _read(tensors)
        return _Written(getattr(self.gloo, name)(copies, opts), tensors, copies)

    return collective


def _apart(name):
    """The same for one whose outputs are tensors of their own; `rest` are sizes of parts, and options."""

    def collective(self, outputs, inputs, *rest):
        results = _room_for(outputs)
        return _Written(getattr(self.gloo, name)(results, _read(inputs), *rest), outputs, results)

    return collective


class HostCollectives(c10d.Backend):
    """One process's part of a group; `gloo` does the work."""

    # The base class answers by asking for these attributes, of which it has no others: without values here, it would not end.
    supports_splitting = supports_coalescing = supports_shrinking = supports_reconfigure = supports_window = False
    _supports_time_estimate = False

    def __init__(self, gloo, rank, size):
        super().__init__(rank, size)
        self.gloo = gloo

    def getBackendName(self):  # as C++ calls it
        return "backplane"

    broadcast = _in_place("broadcast")
    allreduce = _in_place("allreduce")
    allreduce_coalesced = _in_place("allreduce_coalesced")
    allgather = _apart("allgather")
    allgather_coalesced = _apart("allgather_coalesced")
    all_gather_single = _apart("all_gather_single")
    all_gather_single_coalesced = _apart("all_gather_single_coalesced")
    gather = _apart("gather")
    scatter = _apart("scatter")
    reduce_scatter = _apart("reduce_scatter")
    reduce_scatter_single = _apart("reduce_scatter_single")
    reduce_scatter_single_coalesced = _apart("reduce_scatter_single_coalesced")
    alltoall = _apart("alltoall")
    all_to_all_single = _apart("all_to_all_single")

    def reduce(self, tensors, opts):
        copies = _read(tensors)
        work = self.gloo.reduce(copies, opts)
        # Elsewhere than at the root, the copies hold what is left of the summing.
        return _Written(work, *((tensors, copies) if self.rank() == opts.rootRank else ([], [])))

    def send(self, tensors, receiver, tag):
        return _Written(self.gloo.send(_read(tensors), receiver, tag), [], [])

    def recv(self, tensors, sender, tag):
        results = _room_for(tensors)
        return _Written(self.gloo.recv(results, sender, tag), tensors, results)

    def recv_anysource(self, tensors, tag):
        raise NotImplementedError(
            "backplane: recv needs the process that sends, since PyTorch can't say afterwards which it was; give src=..., or receive "
            "into a tensor on the CPU"
        )

    def barrier(self, opts):
        return self.gloo.barrier(opts)
