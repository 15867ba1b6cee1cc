"""Backplane: tensors on every accelerator that comes as a plugin."""

import os as _os
import sys as _sys

from . import _core
from ._core import *  # noqa: F403: what a module of C++ defines is what it means to show
from ._core import __version__, operators as _operators
from ._exchange import from_dlpack, to_numpy as _to_numpy
from ._later import import_later as _import_later

for _name, _operator in _operators.items():
    globals().setdefault(_name, _operator)

from . import _forms
from ._forms import *  # noqa: F403
from . import _aliases
from ._arranging import *  # noqa: F403
from ._computing import *  # noqa: F403
from ._creation import *  # noqa: F403
from ._facts import *  # noqa: F403
from ._further import *  # noqa: F403

_aliases.add_to(globals())
from ._changing import *  # noqa: F403
from . import autograd
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from .serialize import load, load_file, save, save_file

_LATER = (
    "amp",
    "data",
    "fft",
    "linalg",
    "nn",
    "optim",
    "special",
)  # imported when they are first used, since most programs do without one or the other


_SAID_SO_HERE = {
    "array": "backplane.tensor() makes one of numbers, lists and NumPy's arrays",
    "cuda": "each device has a name: x.to('cuda:0'); backplane.devices() lists those that are here",
    "FloatTensor": "backplane.tensor(data, dtype=backplane.float32) makes one",
    "LongTensor": "backplane.tensor(data, dtype=backplane.int64) makes one",
    "astype": "x.to(dtype) casts",
}


def __getattr__(name):
    if name in _LATER:
        return _import_later(name, __name__)
    if name in ("autocast", "GradScaler"):
        return getattr(__getattr__("amp"), name)
    if name == "default_generator":
        return _core._default_generator()
    hint = f"; {_SAID_SO_HERE[name]}" if name in _SAID_SO_HERE else ""
    raise AttributeError(f"module 'backplane' has no attribute '{name}'{hint}", name=name, obj=_sys.modules[__name__])


def __dir__():
    return sorted({*globals(), *_LATER})  # so that an editor completes what is not imported yet


from . import _standard  # the array API's part of Tensor
