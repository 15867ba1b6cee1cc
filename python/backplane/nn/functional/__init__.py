"""Layers as functions: what modules compute, with weights and modes as arguments."""

from .activations import *  # noqa: F403
from .attention import *  # noqa: F403
from .convolution import *  # noqa: F403
from .distances import *  # noqa: F403
from .dropout import *  # noqa: F403
from .losses import *  # noqa: F403
from .norms import *  # noqa: F403
from .pooling import *  # noqa: F403
from .sampling import *  # noqa: F403
from .sparse import *  # noqa: F403
