"""What a program does with devices, memory, streams, files and mistakes."""

import gc
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import backplane_torch
import models
import pytest
import torch
from backplane_torch import ending


def test_devices_are_those_of_all_makers():
    assert torch.backplane.device_count() == len(backplane_torch.devices()) > 0
    assert torch.backplane.get_device_name(0) == backplane_torch.devices()[0]
    assert torch.device("backplane:0").type == "backplane"


def test_values_come_and_go(device):
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool, torch.complex64):
        values = torch.arange(24).reshape(2, 3, 4).to(dtype)
        there = values.to(device)
        assert there.device == device and there.dtype == dtype
        assert torch.equal(there.cpu(), values)
        assert torch.equal(there.transpose(0, 2)[1:].cpu(), values.transpose(0, 2)[1:])
        assert torch.equal(there[:, ::2].contiguous().cpu(), values[:, ::2])


def test_devices_copy_to_one_another(device):
    values = torch.randn(5, 7)
    for index in range(torch.backplane.device_count()):
        assert torch.equal(values.to(device).to(f"backplane:{index}").cpu(), values)


def test_two_devices_in_one_call_are_an_error():
    if torch.backplane.device_count() < 2:
        pytest.skip("one device alone")
    with pytest.raises(RuntimeError):
        torch.ones(2, device="backplane:0") + torch.ones(2, device="backplane:1")


def test_results_stay_on_the_device_of_the_arguments():
    if torch.backplane.device_count() < 2:
        pytest.skip("one device alone")
    there = torch.zeros(2, device="backplane:1")
    with pytest.raises(RuntimeError, match="same device"):
        torch.add(torch.ones(2, device="backplane:0"), 1, out=there)
    assert there.cpu().tolist() == [0, 0]


@pytest.mark.parametrize("join", [torch.cat, torch.stack])
def test_tensors_of_the_cpu_are_joined_by_nobody(join, device):
    for pair in ([torch.ones(2), torch.ones(2, device=device)], [torch.ones(2, device=device), torch.ones(2)]):
        with pytest.raises(RuntimeError, match="same device"):
            join(pair)


@pytest.mark.parametrize("index", [99, 256, -56])
def test_no_function_takes_an_index_out_of_range(index):
    module, before = torch.backplane, torch.backplane.current_device()
    functions = [module.get_device_name, module.synchronize, module.memory_allocated, module.get_rng_state, module.Stream, module.Event]
    functions += [module.set_device, module.reset_peak_memory_stats, module.current_stream]
    for function in functions:
        with pytest.raises(RuntimeError, match="there are"):
            function(index)
    assert module.current_device() == before
    with pytest.raises(RuntimeError):
        torch.ones(1, device="backplane:200")  # whose index PyTorch reads as -56


def test_a_failed_resize_leaves_the_tensor_as_it_was(device):
    tensor = torch.arange(3.0, device=device)
    with pytest.raises(torch.OutOfMemoryError):
        tensor.resize_(10**15)
    assert tensor.cpu().tolist() == [0, 1, 2]


def test_storages_end_with_their_tensors(device):
    """Ours are longer: what lies behind belongs in no file."""
    tensor = torch.arange(3.0, device=device) + 1
    assert tensor.untyped_storage().nbytes() == 12
    assert torch.empty(2, 3, 4, 5, device=device, memory_format=torch.channels_last).untyped_storage().nbytes() == 480


def test_memory_is_kept_for_a_stream(device):
    tensor = torch.ones(3, device=device)
    tensor.record_stream(torch.backplane.current_stream(device))
    assert tensor.sum().item() == 3


def test_views_share_their_memory(device):
    base = torch.zeros(4, 4, device=device)
    base[1].fill_(2)
    base.view(16)[0] = 5
    base.t()[3, 2] = 7
    assert base.cpu().tolist() == [[5, 0, 0, 0], [2, 2, 2, 2], [0, 0, 0, 7], [0, 0, 0, 0]]


def test_resize_and_set_keep_the_values(device):
    tensor = torch.arange(4.0, device=device)
    tensor.resize_(6)
    assert tensor[:4].cpu().tolist() == [0, 1, 2, 3]
    other = torch.empty(0, device=device).set_(tensor)
    assert other.data_ptr() == tensor.data_ptr()
    part = torch.empty(0, device=device).set_(tensor.untyped_storage(), 1, (2,), (2,))
    assert part.cpu().tolist() == [1, 3]


def test_out_of_range_wrong_shapes_and_dtypes_raise(device):
    tensor = torch.ones(2, 3, device=device)
    with pytest.raises(RuntimeError):
        tensor @ tensor
    with pytest.raises(RuntimeError):
        tensor + torch.ones(4, device=device)
    with pytest.raises(RuntimeError):
        tensor + torch.ones(2, 3)
    with pytest.raises(IndexError):
        tensor[5]
    with pytest.raises((RuntimeError, TypeError)):
        torch.ones(2, device=device, dtype=torch.int64).add_(1.5)
    with pytest.raises(RuntimeError):
        torch.ones(1, device="backplane:99")
    assert (tensor + 1).sum().item() == 12


def test_strict_names_the_operator(strict):
    with pytest.raises(NotImplementedError, match="aten::.*set_strict"):
        torch.ones(3, 3, device="backplane").renorm(1, 0, 1.0)


def test_the_cpu_helps_and_is_counted():
    backplane_torch.reset_cpu_calls()
    result = torch.ones(3, 3, device="backplane").renorm(1, 0, 1.0)
    assert result.device.type == "backplane"
    assert any("renorm" in name for name in backplane_torch.cpu_calls())


def test_seeds_make_the_numbers(device):
    torch.manual_seed(7)
    first = torch.rand(5, device=device)
    torch.manual_seed(7)
    assert torch.equal(torch.rand(5, device=device).cpu(), first.cpu())
    made = torch.Generator(device=device).manual_seed(3)
    state = made.get_state()
    numbers = torch.randn(100, device=device, generator=made)
    made.set_state(state)
    assert torch.equal(torch.randn(100, device=device, generator=made).cpu(), numbers.cpu())
    assert 0.3 < torch.rand(1000, device=device).mean().item() < 0.7
    assert sorted(torch.randperm(20, device=device).cpu().tolist()) == list(range(20))


def test_streams_and_events(device):
    stream, before = torch.Stream(device), torch.backplane.current_device()
    with torch.backplane.stream(stream):
        result = torch.ones(10, device=device) * 3
    assert torch.backplane.current_device() == before
    event = stream.record_event()
    event.synchronize()
    assert event.query() and result.sum().item() == 30
    torch.backplane.synchronize(device)


def test_saved_files_are_loaded(tmp_path, device):
    network = models.problem("gpt")[0].to(device)
    torch.save(network.state_dict(), tmp_path / "state.pt")
    loaded = torch.load(tmp_path / "state.pt")
    assert all(value.device == device for value in loaded.values())
    on_host = torch.load(tmp_path / "state.pt", map_location="cpu")
    assert all(torch.equal(on_host[name], value.cpu()) for name, value in network.state_dict().items())


def test_tensors_are_pickled():
    assert pickle.loads(pickle.dumps(torch.arange(3.0, device="backplane"))).cpu().tolist() == [0, 1, 2]


def test_singular_matrices_and_lost_memory_raise_as_elsewhere():
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.solve(torch.zeros(2, 2, device="backplane"), torch.ones(2, 1, device="backplane"))
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.inv(torch.zeros(2, 2, device="backplane"))
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(10**15, device="backplane")


def test_batches_come_from_workers(strict):
    data = torch.utils.data.TensorDataset(torch.arange(20.0).reshape(10, 2))
    seen = [batch.to("backplane").sum().item() for (batch,) in torch.utils.data.DataLoader(data, 5, num_workers=1)]
    assert sum(seen) == 190


def test_threads_work_at_once():
    failures = []

    def work(number):
        try:
            torch.manual_seed(number)
            x = torch.full((64, 64), 1.0, device="backplane", requires_grad=True)
            for _ in range(20):
                (x @ x).relu().sum().backward()
            if x.grad.sum().item() != 20 * 64 * 64 * 128:
                failures.append(x.grad.sum().item())
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_thousand_steps_leak_nothing(strict):
    layer = torch.nn.Linear(8, 8, device="backplane")
    inputs = torch.ones(4, 8, device="backplane")

    def step():
        layer.zero_grad()
        layer(inputs).relu().sum().backward()

    step()
    gc.collect()
    before = torch.backplane.memory_allocated()
    for _ in range(1000):
        step()
    gc.collect()
    assert torch.backplane.memory_allocated() == before


def test_the_end_waits_for_the_threads_of_backward():
    (torch.ones(3, device="backplane", requires_grad=True) * 2).sum().backward()
    ending.wait_for_backward()
    assert set(ending.backward_states()) == {"S"}


PROGRAMS = {  # each the first thing that a process does
    "(torch.ones(3, device='backplane', requires_grad=True) * 2).sum().backward(); print('went back')": "went back",
    "x = torch.ones(1, 1, 3, 4, device='backplane'); print(F.scaled_dot_product_attention(x, x, x, x[..., :1].mT, 0.5).shape)": "[1, 1, 3, 4]",
    "torch.ones(1, device='backplane:99')": "there are",
    "torch.Stream('backplane:50')": "there are",
    "torch.Generator(device='backplane:77')": "there are",
    "sys.kept = torch.ones(3, device='backplane'); atexit.register(lambda: print(sys.kept.sum().item()))": "3.0",
    "sys.kept = torch.ones(3, device='backplane'); del sys.modules['backplane_torch'], backplane_torch; print((sys.kept * 2).sum().item())": "6.0",
    "made = torch.ones(3, device='backplane')\nif (child := os.fork()) == 0: os._exit(int(made.sum().item()))\nprint(os.waitpid(child, 0)[1] >> 8)": "3",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_process_ends_well_whatever_it_did_first(program):
    done = subprocess.run(
        [sys.executable, "-c", f"import atexit, os, sys, torch, backplane_torch\nimport torch.nn.functional as F\n{program}"], capture_output=True, text=True
    )
    assert done.returncode == (1 if PROGRAMS[program] == "there are" else 0), done.stderr
    assert PROGRAMS[program] in done.stdout + done.stderr


LOSES = """
import torch, backplane_torch
names = backplane_torch.devices()
x = torch.ones(3).to(torch.device("backplane", names.index("evil:0")))
said = []
for _ in range(5):
    try:
        (x + x).cpu()
    except RuntimeError as error:
        said.append(f"{type(error).__name__}: {error}")
print(len(said), said[0], said[-1], sep="\\n")
y = torch.ones(3, device=torch.device("backplane", names.index("cpu:0")), requires_grad=True)
(y * y).sum().backward()
print(y.grad.tolist(), (torch.ones(2) * 3).tolist())
"""


def output_beside(tmp_path, evil, program):
    """Of a program that finds a backend besides which is wrong in this way (tests/plugins/evil), from its third call on."""
    for file in ("evil.json", "libbackplane_evil.so"):
        (tmp_path / file).symlink_to(Path("lib/test_plugins", file).absolute())
    path = f"{tmp_path}:{Path('lib/backplane').absolute()}"
    environment = {**os.environ, "BACKPLANE_PLUGIN_PATH": path, "BACKPLANE_EVIL": evil, "BACKPLANE_EVIL_N": "3"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_lost_device_is_an_exception_and_all_else_goes_on(tmp_path):
    count, first, last, works = output_beside(tmp_path, "device_lost_on_n", LOSES)
    assert int(count) >= 2 and first.startswith("RuntimeError: ") and "the device fell off the bus" in first
    assert "evil:0: is lost since an earlier error" in last
    assert works == "[2.0, 2.0, 2.0] [3.0, 3.0]"


def test_backward_leaves_devices_alone_that_nobody_uses(tmp_path):
    lines = LOSES.splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("y = "))
    program = "\n".join(lines[:3] + ["assert 'evil:0' in names"] + lines[begin:])
    assert output_beside(tmp_path, "open_fails", program) == ["[2.0, 2.0, 2.0] [3.0, 3.0]"]


FAILS_ONCE = """
import torch, backplane_torch
x = torch.ones(3).to(torch.device("backplane", backplane_torch.devices().index("evil:0")))
said = []
for call in [lambda: x + x, lambda: x.add_(x)] * 4:
    try:
        call()
    except RuntimeError as error:
        said.append(str(error))
print(len(said), x.cpu().tolist(), said[0])
"""


def test_an_error_of_a_kernel_is_told_once_and_the_call_not_made_again(tmp_path):
    (line,) = output_beside(tmp_path, "kernel_fails_on_n", FAILS_ONCE)
    assert line.startswith("1 [16.0, 16.0, 16.0] ") and "the kernel broke" in line  # the third call of eight
