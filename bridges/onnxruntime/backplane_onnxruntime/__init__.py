"""ONNX models on Backplane's devices, by ONNX Runtime.

    import backplane_onnxruntime

    session = backplane_onnxruntime.session("model.onnx", "cpu:0")

is short for what ONNX Runtime asks of any execution provider's library: register it, take one of its devices, give it to a
session. `devices()` says which devices there are.
"""

import ctypes
from pathlib import Path

import onnxruntime

__all__ = ["devices", "host_calls", "library_path", "placement", "register", "session", "unserved"]

NAME = "BackplaneExecutionProvider"
_VENDOR = 0x4250  # of our memory, as ONNX Runtime tells it from others'
_registered = False


def library_path():
    """The library, for `onnxruntime.register_execution_provider_library(name, path)`."""
    return str(Path(__file__).parent / "libbackplane_onnxruntime.so")


def register():
    """Makes Backplane's devices known to ONNX Runtime; once."""
    global _registered
    if not _registered:
        onnxruntime.register_execution_provider_library(NAME, library_path())
        _registered = True


def devices():
    """{name of the device: what ONNX Runtime knows it by}, as {"cpu:0": OrtEpDevice}."""
    register()
    ours = (each for each in onnxruntime.get_ep_devices() if each.ep_name == NAME)
    return {each.ep_metadata["backplane_device"]: each for each in ours}


def placement(device):
    """Where a device's values lie, as `onnxruntime.OrtValue.ortvalue_from_numpy(array, **placement("opencl:0"))` takes it: in the
    device's memory, or in the host's if the device computes there. Raises ValueError for a device that is not there."""
    number = _known(device).ep_metadata.get("backplane_memory")
    return {"device_type": "cpu"} if number is None else {"device_type": "gpu", "device_id": int(number), "vendor_id": _VENDOR}


def _known(device):
    found = devices()
    if device not in found:
        raise ValueError(f"there is no device {device!r}; there are {', '.join(found)}")
    return found[device]


def session(model, device, options=None, strict=False):
    """An InferenceSession on a device, `model` as InferenceSession takes it. What the device does not serve runs on ONNX
    Runtime's CPU, or, with `strict`, raises. Raises ValueError for a device that is not there."""
    found = _known(device)
    options = options or onnxruntime.SessionOptions()
    if strict:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    options.add_provider_for_devices([found], {})
    return onnxruntime.InferenceSession(model, sess_options=options)


def unserved():
    """Why nodes were left to others since the last call, as ["StringConcat 'node_3': ..."]: of sessions that were made."""
    return _take("unserved").splitlines()


def host_calls():
    """The rows of Backplane's table that its host computed for a device since the last call, as ["sort"]: of all sessions that ran."""
    return _take("host_calls").split()


def _take(what):
    register()
    take = getattr(ctypes.CDLL(library_path()), f"backplane_onnxruntime_take_{what}")
    take.restype = ctypes.c_char_p
    return take().decode()
