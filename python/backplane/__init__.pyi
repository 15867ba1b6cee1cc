"""Backplane: tensors on every accelerator that comes as a plugin."""

from . import amp as amp, autograd as autograd, data as data, fft as fft, linalg as linalg, nn as nn, optim as optim
from . import serialize as serialize, special as special
from ._arranging import *
from ._changing import *
from ._computing import *
from ._core import *
from ._core import __version__ as __version__
from ._creation import *
from ._facts import *
from ._forms import *
from ._further import *
from ._operators import *
from .amp import GradScaler as GradScaler, autocast as autocast
from .autograd import enable_grad as enable_grad, inference_mode as inference_mode, no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .serialize import load as load, load_file as load_file, save as save, save_file as save_file

default_generator: Generator
