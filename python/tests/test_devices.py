"""Devices, streams, events, recordings, generators and memory."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import backplane as bp
import pytest


def test_devices_have_names():
    cpu = bp.device("cpu")
    assert (
        str(cpu) == "cpu:0"
        and cpu.type == "cpu"
        and cpu.index == 0
        and cpu == bp.device("cpu", 0) == bp.device(cpu)
        and cpu != "cpu"
    )
    assert (
        cpu in bp.devices()
        and {cpu: 1}[bp.device("cpu:0")] == 1
        and repr(cpu) == "device('cpu:0')"
        and pickle.loads(pickle.dumps(cpu)) == cpu
    )
    assert (cpu == None) is False  # noqa: E711
    for wrong, error in (
        ("acme", ValueError),
        (3, TypeError),
        (None, TypeError),
        ("", ValueError),
        ("cpu:99", ValueError),
        ("cpu:x", ValueError),
    ):
        with pytest.raises(error):
            bp.device(wrong)
    with pytest.raises((ValueError, bp.Error)):
        bp.load_backend("/no/such/file.so")


def test_a_device_for_new_tensors():
    with bp.device("meta"):
        assert bp.ones(2).is_meta
        with bp.device("cpu"):
            assert not bp.ones(2).is_meta
        assert bp.tensor([1.0]).is_meta
    assert not bp.ones(2).is_meta
    with pytest.raises(KeyError):
        with bp.device("meta"):
            raise KeyError
    assert not bp.ones(2).is_meta


def test_default_device():
    assert bp.get_default_device() in (None, bp.device("cpu"))
    bp.set_default_device("meta")
    try:
        assert bp.ones(2).is_meta
    finally:
        bp.set_default_device("cpu")


def test_streams_and_events():
    stream = bp.Stream("cpu")
    first, last = bp.Event(), bp.Event("cpu")
    first.record(stream)
    with bp.stream(stream) as inner:
        assert inner is stream and bp.current_stream() == stream and hash(bp.current_stream()) == hash(stream)
        x = bp.ones(100) + 1
    assert bp.current_stream() == bp.default_stream("cpu")
    last.record(stream)
    stream.wait_event(first)
    bp.current_stream().wait_stream(stream)
    stream.synchronize()
    last.synchronize()
    assert stream.query() and last.query() and stream.device == bp.device("cpu") and x.sum().item() == 200
    bp.synchronize()
    for wrong in (lambda: bp.Stream("acme"), lambda: bp.Stream(3), lambda: first.record(3), lambda: bp.stream(3)):
        with pytest.raises((TypeError, ValueError)):
            wrong()


def test_recordings_replay():
    a, b = bp.ones(4), bp.empty(4)
    recording = bp.capture(lambda: bp.mul(a, 3, out=b))
    a.copy_(bp.tensor([1.0, 2.0, 3.0, 4.0]))
    recording.replay()
    assert b.tolist() == [3, 6, 9, 12] and recording.num_calls >= 1 and recording.device == a.device

    def raising():
        bp.mul(a, 3, out=b)
        raise KeyError("within")

    with pytest.raises(KeyError, match="within"):
        bp.capture(raising)
    with pytest.raises((ValueError, bp.Error)):
        bp.capture(lambda: a.sum().item() if bp.mul(a, 2, out=b) is b else None)
    with pytest.raises((ValueError, bp.Error)):
        bp.capture(lambda: a.tolist() if bp.mul(a, 2, out=b) is b else None)
    assert (a + 1).tolist() == [2, 3, 4, 5]


def test_generators():
    generator = bp.Generator().manual_seed(7)
    first = bp.rand(3, generator=generator)
    state = generator.get_state()
    second = bp.rand(3, generator=generator)
    generator.set_state(state)
    assert (
        bp.rand(3, generator=generator).tolist() == second.tolist() != first.tolist() and generator.initial_seed() == 7
    )
    bp.manual_seed(3)
    once = bp.randn(5).tolist()
    bp.manual_seed(3)
    assert bp.randn(5).tolist() == once
    for wrong in ("a", None, 1.5):
        with pytest.raises(TypeError):
            bp.manual_seed(wrong)


def test_memory():
    before = bp.memory_allocated()
    x = bp.ones(10000)
    assert bp.memory_allocated("cpu") >= before + 40000 and bp.max_memory_allocated() >= bp.memory_allocated()
    del x
    bp.empty_cache("cpu")
    bp.reset_peak_memory_stats()
    stats = bp.memory_stats()
    assert (
        stats["allocated_bytes"] <= stats["reserved_bytes"]
        and isinstance(bp.memory_summary(), str)
        and bp.memory_reserved() >= 0
    )
    with pytest.raises(bp.OutOfMemoryError) as caught:
        bp.zeros(2**50)
    assert (
        isinstance(caught.value, MemoryError)
        and isinstance(caught.value, bp.DeviceError)
        and isinstance(caught.value, RuntimeError)
    )


def test_what_ran_where():
    bp.reset_call_counts()
    bp.ones(2) + 1
    assert any(row["op"] == "add" for row in bp.call_counts()) and "add" in bp.format_call_counts()
    with pytest.raises(ValueError):
        bp.set_policy("cpu", "none", "allow")
    assert bp.get_num_threads() >= 1
    with pytest.raises(ValueError):
        bp.set_num_threads(0)


def test_dtypes():
    assert (
        repr(bp.float32) == "backplane.float32"
        and bp.float32.itemsize == 4
        and bp.float is bp.float32
        and bp.float32.is_floating_point
    )
    assert bp.promote_types(bp.int8, bp.float16) is bp.float16 and not bp.uint8.is_signed and bp.complex64.is_complex
    assert bp.result_type(bp.ones(1, dtype=bp.int8), 1.5) is bp.float32 and bp.can_cast(bp.int8, bp.float16)
    for wrong in (
        lambda: bp.promote_types(1, 2),
        lambda: bp.set_default_dtype("a b"),
        lambda: bp.set_default_dtype(3),
        lambda: bp.dtype(),
    ):
        with pytest.raises((TypeError, ValueError)):
            wrong()
    bp.set_default_dtype(bp.float64)
    try:
        assert bp.ones(1).dtype == bp.tensor(1.5).dtype == bp.float64 and bp.tensor(1j).dtype == bp.complex128
    finally:
        bp.set_default_dtype(bp.float32)


def test_a_linear_algebra_that_takes_the_processor_for_an_older_one_is_named():
    code = "import backplane as bp; bp.linalg.cholesky(bp.eye(3)); bp.linalg.cholesky(bp.eye(4))"
    environment = {**os.environ, "BACKPLANE_LOG": "warning"}
    wide = "avx2" in Path("/proc/cpuinfo").read_text()
    for core, warnings in (("Prescott", int(wide)), ("Haswell", 0)):
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True, text=True, timeout=60, env={**environment, "OPENBLAS_CORETYPE": core},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        assert run.stderr.count("OpenBLAS takes this processor for 'Prescott'") == warnings, run.stderr
