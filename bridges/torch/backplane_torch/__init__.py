"""PyTorch on Backplane's devices: `torch.device("backplane:0")`, `tensor.to("backplane")`.

`import torch` is enough where the package is installed, since PyTorch loads it by itself; `import backplane_torch` gives the
functions below. Indices stand for the devices of all makers: `devices()` says which is which.
"""

from pathlib import Path

import torch

__all__ = [
    "calls", "cpu_calls", "devices", "host_calls", "is_strict", "reset_calls", "reset_cpu_calls", "served_operators", "set_strict",
]  # fmt: skip


def _load():
    """Loads the library and names the device type; once."""
    folder = Path(__file__).parent
    built_for = (folder / "torch_version.txt").read_text().strip()
    ours = ".".join(torch.__version__.split(".")[:2])
    if built_for != ours:
        raise ImportError(
            f"backplane_torch was built for PyTorch {built_for} and this is {torch.__version__}; "
            f"install the backplane-torch that belongs to {ours}"
        )
    torch.utils.rename_privateuse1_backend("backplane")
    torch.ops.load_library(str(folder / "libbackplane_torch.so"))
    from . import collectives, device_module, ending, refusals

    torch._register_device_module("backplane", device_module)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    refusals.refuse_inductor()
    collectives.register()
    ending.register()


def devices():
    """The names of the devices, by index: `devices()[0]` is what `backplane:0` is."""
    return torch.ops.backplane.device_names()


def set_strict(strict=True):
    """From now on an operator that no device of Backplane's serves raises NotImplementedError, instead of going to the CPU."""
    torch.ops.backplane.set_strict(strict)


def is_strict():
    return torch.ops.backplane.is_strict()


def cpu_calls():
    """How often each operator went to PyTorch's CPU: {"aten::erfinv": 3}."""
    return dict(torch.ops.backplane.cpu_calls())


def reset_cpu_calls():
    torch.ops.backplane.reset_cpu_calls()


def served_operators():
    """{operator: the row that serves it, or "recipe"}."""
    return dict(torch.ops.backplane.served_operators())


def calls():
    """How Backplane served the calls, as a table for a person: native, generated, decomposed, by the host."""
    return torch.ops.backplane.calls_by_rung()


def host_calls():
    """The rows of Backplane's table that its host computed for a device, since `reset_calls`: ["sort"]."""
    return torch.ops.backplane.host_calls()


def reset_calls():
    """Sets to 0 what `calls` and `host_calls` count."""
    torch.ops.backplane.reset_calls()


if not hasattr(torch, "backplane"):
    _load()
