#!/usr/bin/env python3
"""Exchanges tensors between Backplane and PyTorch, and CuPy if it is there, without a copy, both ways.

    tests/interop/dlpack_torch.py [--build build/release] [--device cuda|cpu]

Prints a line for each case and a verdict; exits 0, 1 if a case failed, 77 if there is nothing to exchange with. On a
card the cases with streams run too: a consumer's stream must wait for work of ours that takes long, and ours for theirs.
"""

import argparse
import ctypes
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "build/peers/venv/bin/python"  # made by ./dev bench
SKIPPED = 77
LARGE = 1 << 26  # elements: work that takes long enough to be seen

try:
    import torch
except ImportError:
    if PEERS.exists() and pathlib.Path(sys.executable) != PEERS:
        os.execv(PEERS, [str(PEERS), *sys.argv])
    print("dlpack: skipped: there is no PyTorch here")
    sys.exit(SKIPPED)
try:
    import cupy
except ImportError:
    cupy = None


# ---- Backplane, through ctypes ----

class Shim:
    """The shim's functions; what fails raises its sentence."""

    POINTERS = ("arange", "empty", "transpose", "add", "to_dlpack", "from_dlpack", "enter_stream")
    NUMBERS = ("address", "stream")

    def __init__(self, build):
        self.library = ctypes.CDLL(str(build / "tests/libbackplane_interop_shim.so"))
        self.library.shim_error.restype = ctypes.c_char_p

    def __getattr__(self, name):
        function = getattr(self.library, f"shim_{name}")
        function.restype = (ctypes.c_void_p if name in self.POINTERS else
                            ctypes.c_uint64 if name in self.NUMBERS else ctypes.c_longlong)
        if name in ("free", "leave_stream"):
            return function

        def checked(*arguments):
            result = function(*arguments)
            if result is None or (name not in self.NUMBERS and result < 0):
                raise RuntimeError(self.library.shim_error().decode())
            return result
        return checked


class Device:
    def __init__(self, shim, name):
        self.shim = shim
        self.name = name
        self.number = shim.device(name.encode())
        kind, index = ctypes.c_int(), ctypes.c_int()
        shim.dlpack_device(self.number, ctypes.byref(kind), ctypes.byref(index))
        self.dlpack = (kind.value, index.value)

    def has_streams(self):
        return self.dlpack[0] != 1

    def arange(self, count):
        return Ours(self, self.shim.arange(self.number, ctypes.c_longlong(count)))

    def empty(self, dtype, shape):
        return Ours(self, self.shim.empty(self.number, dtype.encode(), (ctypes.c_longlong * len(shape))(*shape), len(shape)))

    def live(self):
        self.shim.synchronize(self.number)
        return self.shim.live(self.number)

    def take(self, theirs):
        """A tensor of ours over theirs, ordered behind their work by handing them our stream, as the protocol says."""
        stream = self.shim.stream(self.number) if self.has_streams() else None
        # CUDA's default stream is 0 to the driver and 1 to the protocol.
        capsule = lent(theirs, (stream or 1) if self.has_streams() else None)
        name = b"dltensor_versioned" if capsule_has(capsule, b"dltensor_versioned") else b"dltensor"
        managed = capsule_pointer(capsule, name)
        tensor = self.shim.from_dlpack(ctypes.c_void_p(managed), name == b"dltensor_versioned")
        capsule_rename(capsule, b"used_" + name)
        return Ours(self, tensor)


class Ours:
    """A tensor of Backplane's as the Python array API shows one to a consumer."""

    def __init__(self, device, pointer):
        self.device, self.shim, self.pointer = device, device.shim, ctypes.c_void_p(pointer)

    def __del__(self):
        self.shim.free(self.pointer)

    def __dlpack_device__(self):
        return self.device.dlpack

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        versioned = max_version is not None and max_version[0] >= 1
        # -1 asks for no order; None is the legacy default stream, which is 1.
        wanted = 1 if stream is None else stream
        queue = ctypes.byref(ctypes.c_uint64(wanted)) if self.device.has_streams() and wanted != -1 else None
        managed = self.shim.to_dlpack(self.pointer, int(versioned), queue)
        return new_capsule(managed, b"dltensor_versioned" if versioned else b"dltensor")

    def address(self):
        return self.shim.address(self.pointer)

    def fill(self, value):
        self.shim.fill(self.pointer, ctypes.c_double(value))

    def plus(self, other):
        return Ours(self.device, self.shim.add(self.pointer, other.pointer))

    def transposed(self):
        return Ours(self.device, self.shim.transpose(self.pointer))


class OnStream:
    """PyTorch's stream as the current one of Backplane."""

    def __init__(self, device, stream):
        self.device, self.queue = device, stream.cuda_stream

    def __enter__(self):
        self.scope = self.device.shim.enter_stream(self.device.number, ctypes.c_uint64(self.queue))

    def __exit__(self, *_):
        self.device.shim.leave_stream(ctypes.c_void_p(self.scope))


# ---- Capsules ----

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
capsule_has = api.PyCapsule_IsValid
capsule_pointer = api.PyCapsule_GetPointer
names = {name: ctypes.c_char_p(name) for name in  # a capsule keeps the pointer
         (b"dltensor", b"dltensor_versioned", b"used_dltensor", b"used_dltensor_versioned")}


def new_capsule(managed, name):
    return api.PyCapsule_New(managed, names[name], None)


def capsule_rename(capsule, name):
    api.PyCapsule_SetName(capsule, names[name])


def lent(theirs, stream):
    """A capsule of theirs: of the versioned form, from those that know it."""
    try:
        return theirs.__dlpack__(stream=stream, max_version=(1, 1))
    except TypeError:
        return theirs.__dlpack__(stream=stream)


# ---- The cases: each returns nothing, or raises ----

def ours_in_torch(device, where):
    ours = device.arange(12)
    theirs = torch.from_dlpack(ours)
    assert theirs.data_ptr() == ours.address(), "it was copied"
    assert theirs.tolist() == list(range(12)), theirs
    theirs += 1
    settle(device)
    assert torch.from_dlpack(ours)[11].item() == 12
    view = torch.from_dlpack(device.take(theirs.view(3, 4)).transposed())
    assert view.shape == (4, 3) and view.stride() == (1, 4) and view[3, 2].item() == 12


def torch_in_ours(device, where):
    theirs = torch.arange(6, dtype=torch.float32, device=where).view(2, 3).t()
    ours = device.take(theirs)
    assert ours.address() == theirs.data_ptr(), "it was copied"
    total = torch.from_dlpack(ours.plus(ours))
    assert total.tolist() == (2 * theirs).tolist(), total


def every_dtype(device, where):
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
                 "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"):
        theirs = torch.from_dlpack(device.empty(name, (2, 3)))
        assert theirs.dtype == getattr(torch, name), (name, theirs.dtype)
        device.take(torch.zeros(3, dtype=getattr(torch, name), device=where))


def odd_shapes(device, where):
    for shape in ((), (0,), (3, 0, 2), (1, 5, 1)):
        theirs = torch.zeros(shape, device=where)
        assert torch.from_dlpack(device.take(theirs)).shape == theirs.shape
        assert tuple(torch.from_dlpack(device.empty("float32", shape)).shape) == shape


def lifetimes(device, where):
    before = device.live()
    theirs = torch.from_dlpack(device.arange(1000))
    assert device.live() == before + 1, "the consumer's tensor does not hold ours"
    assert theirs.sum().item() == 499500
    del theirs
    assert device.live() == before, "ours was not given back"
    ours = device.take(torch.full((1000,), 3.0, device=where))  # nobody else holds it
    churn = [torch.zeros(1000, device=where) for _ in range(8)]
    assert torch.from_dlpack(ours).sum().item() == 3000, churn
    del ours
    assert device.live() == before, "theirs was not given back"


def consumer_waits(device, where):
    side = torch.cuda.Stream()
    ours = device.empty("float32", (LARGE,))
    for value in range(1, 40):
        ours.fill(value)
    with torch.cuda.stream(side):
        copy = torch.from_dlpack(ours).clone()
    side.synchronize()
    assert (copy == 39).all().item(), "PyTorch's stream did not wait for ours"


def producer_is_waited_for(device, where):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        theirs = torch.zeros(LARGE, device=where)
        for value in range(1, 40):
            theirs.fill_(value)
        ours = device.take(theirs)
    total = ours.plus(ours)
    device.shim.synchronize(device.number)
    assert (torch.from_dlpack(total) == 78).all().item(), "our stream did not wait for PyTorch's"


def adopted_stream(device, where):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), OnStream(device, stream):
        theirs = torch.zeros(LARGE, device=where)
        for value in range(1, 40):
            theirs.fill_(value)
        ours = device.take(theirs)
        assert device.shim.stream(device.number) == stream.cuda_stream
        total = torch.from_dlpack(ours.plus(ours))  # in order, since both use one stream
        assert (total == 78).all().item()


def cupy_both_ways(device, where):
    ours = device.arange(12)
    theirs = cupy.from_dlpack(ours)
    assert theirs.data.ptr == ours.address(), "it was copied"
    assert float(theirs.sum()) == 66
    back = device.take(cupy.arange(6, dtype=cupy.float32).reshape(2, 3))
    assert float(cupy.from_dlpack(back.plus(back)).sum()) == 30


def cupy_waits(device, where):
    ours = device.empty("float32", (LARGE,))
    for value in range(1, 40):
        ours.fill(value)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        copy = cupy.from_dlpack(ours).copy()
        stream.synchronize()
    assert bool((copy == 39).all()), "CuPy's stream did not wait for ours"


def settle(device):
    """What PyTorch was given is done: the cases without streams do not look at the order."""
    if device.has_streams():
        torch.cuda.synchronize()


def cases(device):
    yield from (ours_in_torch, torch_in_ours, every_dtype, odd_shapes, lifetimes)
    if device.has_streams():
        yield from (consumer_waits, producer_is_waited_for, adopted_stream)
        if cupy:
            yield from (cupy_both_ways, cupy_waits)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    where = "cuda" if options.device.startswith("cuda") else "cpu"
    if where == "cuda" and not torch.cuda.is_available():
        print("dlpack: skipped: PyTorch sees no card here")
        return SKIPPED
    device = Device(Shim(options.build), options.device)
    failed = total = 0
    for case in cases(device):
        total += 1
        try:
            case(device, where)
            print(f"ok      {case.__name__}")
        except Exception as error:  # a verdict for each case, whatever it raises
            failed += 1
            print(f"FAILED  {case.__name__}: {type(error).__name__}: {error}")
    others = f"PyTorch {torch.__version__}" + (f", CuPy {cupy.__version__}" if cupy and device.has_streams() else "")
    print(f"dlpack: {total - failed} of {total} cases pass on {options.device} with {others}"
          + ("" if cupy or not device.has_streams() else "; CuPy is not installed"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
