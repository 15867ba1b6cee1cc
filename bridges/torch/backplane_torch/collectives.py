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

    def _in_place(self, call, tensors, *rest):
        copies = _read(tensors)
        return _Written(call(copies, *rest), tensors, copies)

    def _apart(self, call, outputs, inputs, *rest):
        results = _room_for(outputs)
        return _Written(call(results, _read(inputs), *rest), outputs, results)

    def broadcast(self, tensors, opts):
        return self._in_place(self.gloo.broadcast, tensors, opts)

    def allreduce(self, tensors, opts):
        return self._in_place(self.gloo.allreduce, tensors, opts)

    def allreduce_coalesced(self, tensors, opts):
        return self._in_place(self.gloo.allreduce_coalesced, tensors, opts)

    def reduce(self, tensors, opts):
        copies = _read(tensors)
        work = self.gloo.reduce(copies, opts)
        # Elsewhere than at the root, the copies hold what is left of the summing.
        return _Written(work, *((tensors, copies) if self.rank() == opts.rootRank else ([], [])))

    def allgather(self, outputs, inputs, opts):
        return self._apart(self.gloo.allgather, outputs, inputs, opts)

    def allgather_coalesced(self, outputs, inputs, opts):
        return self._apart(self.gloo.allgather_coalesced, outputs, inputs, opts)

    def all_gather_single(self, output, input, opts):
        return self._apart(self.gloo.all_gather_single, output, input, opts)

    def all_gather_single_coalesced(self, outputs, inputs, opts):
        return self._apart(self.gloo.all_gather_single_coalesced, outputs, inputs, opts)

    def gather(self, outputs, inputs, opts):
        return self._apart(self.gloo.gather, outputs, inputs, opts)

    def scatter(self, outputs, inputs, opts):
        return self._apart(self.gloo.scatter, outputs, inputs, opts)

    def reduce_scatter(self, outputs, inputs, opts):
        return self._apart(self.gloo.reduce_scatter, outputs, inputs, opts)

    def reduce_scatter_single(self, output, input, opts):
        return self._apart(self.gloo.reduce_scatter_single, output, input, opts)

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts):
        return self._apart(self.gloo.reduce_scatter_single_coalesced, outputs, inputs, opts)

    def alltoall(self, outputs, inputs, opts):
        return self._apart(self.gloo.alltoall, outputs, inputs, opts)

    def all_to_all_single(self, output, input, output_sizes, input_sizes, opts):
        return self._apart(self.gloo.all_to_all_single, output, input, output_sizes, input_sizes, opts)

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
