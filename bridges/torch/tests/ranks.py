"""What the processes of test_collectives.py do, each with its rank."""

import os

import models
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def joined(work, rank, size, file, devices):
    """`work(rank, size, device)` as a process of a group; of rank r on devices[r]."""
    dist.init_process_group(None if work is take_the_streams_order else "cpu:gloo,backplane:backplane", init_method=f"file://{file}", rank=rank, world_size=size)
    work(rank, size, torch.device(devices[rank % len(devices)]))
    dist.destroy_process_group()


def spawned(rank, work, size, file, devices):
    joined(globals()[work], rank, size, file, devices)


def values(rank, count=6):
    return torch.arange(count, dtype=torch.float32) * (rank + 1) + 0.5


def collectives(rank, size):
    """{name: a function of a device, which returns the tensors that a collective wrote}."""

    def made(device, *tensors):
        return [tensor.to(device) for tensor in tensors]

    def in_place(call):
        def run(device):
            (tensor,) = made(device, values(rank))
            call(tensor)
            return [tensor]

        return run

    def apart(call, num_outputs, output_count, input_count=6):
        def run(device):
            outputs = made(device, *(torch.zeros(output_count) for _ in range(num_outputs)))
            call(outputs, *made(device, values(rank, input_count)))
            return outputs

        return run

    def waiting(tensor):
        works = [dist.all_reduce(tensor, async_op=True), dist.broadcast(tensor.clone(), 0, async_op=True)]
        for work in reversed(works):
            work.wait()

    def strided(device):
        (whole,) = made(device, values(rank, 12).reshape(3, 4))
        dist.all_reduce(whole.t())
        return [whole]

    def coalesced(device):
        tensors = made(device, values(rank), values(rank, 3))
        dist.all_reduce_coalesced(tensors)
        return tensors

    def message(device):
        (tensor,) = made(device, values(rank))
        if rank == 0:
            dist.send(tensor, 1)
        elif rank == 1:
            dist.recv(tensor, 0)
        return [tensor]

    def ring(device):
        sent, received = made(device, values(rank), torch.zeros(6))
        ways = [dist.P2POp(dist.isend, sent, (rank + 1) % size), dist.P2POp(dist.irecv, received, (rank - 1) % size)]
        for work in dist.batch_isend_irecv(ways):
            work.wait()
        return [received]

    return {
        "all_reduce": in_place(dist.all_reduce),
        "all_reduce_max": in_place(lambda tensor: dist.all_reduce(tensor, dist.ReduceOp.MAX)),
        "broadcast": in_place(lambda tensor: dist.broadcast(tensor, size - 1)),
        "reduce": lambda device: in_place(lambda tensor: dist.reduce(tensor, 1))(device) if rank == 1 else
        (in_place(lambda tensor: dist.reduce(tensor, 1))(device), [values(rank)])[1],
        "several under way": in_place(waiting),
        "strided": strided,
        "all_reduce_coalesced": coalesced,
        "all_gather": apart(dist.all_gather, size, 6),
        "all_gather_into_tensor": apart(lambda outputs, input: dist.all_gather_into_tensor(*outputs, input), 1, 6 * size),
        "gather": apart(lambda outputs, input: dist.gather(input, outputs if rank == 0 else None), size, 6),
        "scatter": apart(
            lambda outputs, input: dist.scatter(*outputs, list(input.reshape(size, 6)) if rank == 0 else None), 1, 6, 6 * size
        ),
        "reduce_scatter": apart(lambda outputs, input: dist.reduce_scatter(*outputs, list(input.reshape(size, 6))), 1, 6, 6 * size),
        "reduce_scatter_tensor": apart(lambda outputs, input: dist.reduce_scatter_tensor(*outputs, input), 1, 6, 6 * size),
        "all_to_all": apart(lambda outputs, input: dist.all_to_all(outputs, list(input.reshape(size, 6))), size, 6, 6 * size),
        "all_to_all_single": apart(lambda outputs, input: dist.all_to_all_single(*outputs, input), 1, 6 * size, 6 * size),
        "message": message,
        "ring": ring,
    }  # fmt: skip


def compare_with_gloo(rank, size, device):
    """On our device, on the CPU beside it: the same numbers."""
    for name, run in collectives(rank, size).items():
        expected = [tensor.tolist() for tensor in run("cpu")]
        got = run(device)
        assert [tensor.tolist() for tensor in got] == expected, f"{name} on {device}: {got} instead of {expected}"
        assert all(tensor.device == device for tensor in got) or name == "reduce"


def take_the_streams_order(rank, size, device):
    """Collectives on a stream of their own, waited for there."""
    with torch.backplane.device(device), torch.backplane.stream(torch.backplane.Stream(device)):
        tensor = torch.ones(1000, device=device)
        for _ in range(20):
            tensor += rank
            dist.all_reduce(tensor)
            tensor /= size
        expected = 1 + 20 * sum(range(size)) / size
        assert tensor.tolist() == [expected] * 1000


def say_what_is_missing(rank, size, device):
    try:
        dist.recv(torch.zeros(1, device=device))
    except NotImplementedError as error:
        assert "src=" in str(error)
    else:
        raise AssertionError("recv without a sender went on")
    tensor = torch.ones(2, device=device)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [size, size]


def train(rank, size, device):
    """Three steps of DistributedDataParallel, each process with a part of the batch: the weights of the CPU's. Gradients wait in
    small buckets, so that several collectives are under way in a step."""

    def steps(place):
        network, inputs, target = models.problem("gpt")
        network = DistributedDataParallel(network.to(place), bucket_cap_mb=0.01)
        stepper = torch.optim.SGD(network.parameters(), 0.1)
        for _ in range(3):
            stepper.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(inputs.chunk(size)[rank].to(place)), target.chunk(size)[rank].to(place))
            loss.backward()
            stepper.step()
        return [weight.detach().cpu() for weight in network.parameters()]

    for weight, expected in zip(steps(device), steps("cpu"), strict=True):
        torch.testing.assert_close(weight, expected, rtol=0, atol=1e-5)


def outlive_another(rank, size, device):
    """A process that ends takes nobody with it."""
    tensor = torch.ones(4, device=device)
    dist.all_reduce(tensor)
    if rank == 1:
        os._exit(0)
    try:
        for _ in range(100):  # the first may still have been under way
            dist.all_reduce(tensor)
        raise AssertionError("collectives with a process that has ended went on")
    except RuntimeError as error:
        assert "peer" in str(error)
    assert (torch.ones(3, device=device) + 1).tolist() == [2, 2, 2]
    os._exit(0)  # the group has lost a member: leaving it in order would wait
