"""Optimizers, and schedulers of their rates."""

from . import lr_scheduler, swa_utils
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from .large_scale import LAMB, Adafactor, Lion, Muon
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .sgd import SGD

__all__ = [
    "ASGD",
    "LAMB",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]
