"""Backplane: tensors on every accelerator that comes as a plugin."""

from . import autograd as autograd
from ._core import *
from ._core import __version__ as __version__
from ._exchange import from_dlpack as from_dlpack
from ._forms import *
from ._operators import *
from .autograd import enable_grad as enable_grad, inference_mode as inference_mode, no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
