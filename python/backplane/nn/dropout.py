"""Dropout as modules: zeros in random places while training, nothing in evaluation."""

from . import functional as F
from .functional.dropout import check_probability
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropout(Module):
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        check_probability(self._get_name(), p)
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return self._function(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Each element becomes 0 with probability p; the others are divided by 1 - p (Srivastava et al., 2014)."""

    _function = staticmethod(F.dropout)


class Dropout1d(_Dropout):
    """Dropout of whole channels of [N, C, L] or [C, L]."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """Dropout of whole channels of [N, C, H, W]. An input of three dimensions is [N, C, L], as PyTorch has it."""

    _function = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """Dropout of whole channels of [N, C, D, H, W] or [C, D, H, W]."""

    _function = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """Dropout to SELU's limit, which keeps mean and variance (Klambauer et al., 2017)."""

    _function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels of [N, C, ...]."""

    _function = staticmethod(F.feature_alpha_dropout)
