"""`torch.backplane`: what PyTorch looks for in the module of a device type, with the names of torch.cuda."""

import contextlib

import torch

_ops = torch.ops.backplane


def is_available():
    return device_count() > 0


def is_initialized():
    return True


def device_count():
    return len(_ops.device_names())


def get_device_name(device=None):
    return _ops.device_names()[_index(device)]


def current_device():
    return _ops.current_device()


def set_device(device):
    _ops.set_device(_index(device))


def synchronize(device=None):
    """Waits for all work on the device; raises what went wrong there."""
    _ops.synchronize(_index(device))


class device(contextlib.ContextDecorator):
    """Makes a device the current one while it lasts."""

    def __init__(self, which):
        self.index = _index(which)

    def __enter__(self):
        self.before = current_device()
        _ops.set_device(self.index)
        return self

    def __exit__(self, *_):
        _ops.set_device(self.before)


class device_of(device):
    """The same with the device of a tensor; nothing for one of another device type."""

    def __init__(self, tensor):
        super().__init__(tensor.device.index if tensor.device.type == "backplane" else current_device())


# Streams and events are PyTorch's own, on the current device.
def Stream(device=None, priority=0):
    return torch.Stream(torch.device("backplane", _index(device)), priority=priority)


def Event(device=None, enable_timing=False, blocking=False, interprocess=False):
    return torch.Event(torch.device("backplane", _index(device)), enable_timing=enable_timing)


def current_stream(device=None):
    return torch.accelerator.current_stream(torch.device("backplane", _index(device)))


def set_stream(stream):
    torch.accelerator.set_stream(stream)


@contextlib.contextmanager
def stream(chosen):
    """Work goes to the stream while it lasts."""
    if chosen is None:
        yield
        return
    before, device_before = current_stream(chosen.device), current_device()
    set_stream(chosen)  # which makes its device the current one
    try:
        yield
    finally:
        set_stream(before)
        set_device(device_before)


# Random numbers.
class _Seeds:
    """The device's own generator, through operators of ours."""

    def __init__(self, index):
        self.index = index

    def manual_seed(self, seed):
        _ops.manual_seed(self.index, _signed(seed))
        return self

    def initial_seed(self):
        return _ops.generator_state(self.index)[0] % 2**64

    def get_state(self):
        return torch.tensor(_ops.generator_state(self.index), dtype=torch.int64).view(torch.uint8)

    def set_state(self, state):
        seed, offset = state.cpu().view(torch.int64).tolist()
        _ops.set_generator_state(self.index, seed, offset)


def manual_seed(seed):
    _Seeds(current_device()).manual_seed(seed)


def manual_seed_all(seed):
    for index in range(device_count()):
        _Seeds(index).manual_seed(seed)


def initial_seed():
    return _Seeds(current_device()).initial_seed()


def seed():
    manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))


def get_rng_state(device=None):
    return _Seeds(_index(device)).get_state()


def set_rng_state(new_state, device=None):
    _Seeds(_index(device)).set_state(new_state)


def get_rng_state_all():
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(states):
    for index, state in enumerate(states):
        set_rng_state(state, index)


def _is_in_bad_fork():
    return False


# Memory, in bytes.
def memory_allocated(device=None):
    return _ops.memory_figures(_index(device))[0]


def max_memory_allocated(device=None):
    return _ops.memory_figures(_index(device))[1]


def memory_reserved(device=None):
    return _ops.memory_figures(_index(device))[2]


def max_memory_reserved(device=None):
    return _ops.memory_figures(_index(device))[3]


def reset_peak_memory_stats(device=None):
    _ops.reset_peak_memory(_index(device))


def empty_cache():
    for index in range(device_count()):
        _ops.empty_cache(index)


# Mixed precision.
def get_amp_supported_dtype():
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation=True):
    return True


def _lazy_init():
    pass


def _lazy_call(callable, **_):
    callable()


def _signed(seed):
    seed = int(seed) % 2**64
    return seed - 2**64 if seed >= 2**63 else seed


def _index(which):
    if which is None or which == -1:
        return current_device()
    if not isinstance(which, int):
        found = torch.device(which)
        if found.type != "backplane":
            raise ValueError(f"expected a backplane device and got {found}")
        which = current_device() if found.index is None else found.index
    if not 0 <= which < device_count():
        raise RuntimeError(f"backplane:{which}: there are {device_count()} devices; backplane_torch.devices() lists them")
    return which
