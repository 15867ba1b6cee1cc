"""Layers, losses and models: modules that are written by subclassing, with parameters, hooks and state dicts."""

from . import functional, init, utils
from .activations import *  # noqa: F403
from .attention import MultiheadAttention
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .distance import CosineSimilarity, PairwiseDistance
from .dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout
from .lazy import *  # noqa: F403
from .linear import Bilinear, Identity, Linear
from .losses import *  # noqa: F403
from .module import Module
from .norms import *  # noqa: F403
from .output_losses import AdaptiveLogSoftmaxWithLoss, LinearCrossEntropyLoss
from .padding import *  # noqa: F403
from .parameter import Buffer, Parameter
from .pooling import *  # noqa: F403
from .recurrent import GRU, LSTM, RNN, RNNBase
from .recurrent_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from .sparse import Embedding, EmbeddingBag
from .transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from .vision import *  # noqa: F403
