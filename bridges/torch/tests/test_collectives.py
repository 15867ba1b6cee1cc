"""torch.distributed on our devices: two or three processes, whose devices are of one maker or of several."""

import backplane_torch
import pytest
import ranks
import torch
import torch.multiprocessing

FIRST = ["backplane:0"]
ALL = [f"backplane:{index}" for index in range(len(backplane_torch.devices()))]


def run(work, size, devices, tmp_path):
    torch.multiprocessing.spawn(ranks.spawned, (work.__name__, size, str(tmp_path / "meeting"), devices), nprocs=size)


@pytest.mark.parametrize("devices", [FIRST, ALL], ids=["one maker", "several makers"])
def test_collectives_are_those_of_gloo(devices, tmp_path):
    run(ranks.compare_with_gloo, 3, devices, tmp_path)


@pytest.mark.parametrize("devices", [FIRST, ALL], ids=["one maker", "several makers"])
def test_data_parallel_training_is_that_of_the_cpu(devices, tmp_path):
    run(ranks.train, 2, devices, tmp_path)


def test_results_take_the_order_of_the_callers_stream(tmp_path):
    run(ranks.take_the_streams_order, 2, FIRST, tmp_path)


def test_what_pytorch_cannot_say_is_refused(tmp_path):
    run(ranks.say_what_is_missing, 2, FIRST, tmp_path)


def test_a_process_that_ends_is_an_exception_of_the_others(tmp_path):
    run(ranks.outlive_another, 2, FIRST, tmp_path)
