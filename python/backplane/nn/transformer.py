"""Encoders and decoders of attention and feed-forward layers (Vaswani et al., Attention is all you need, 2017)."""

import copy
import math

from .. import _core
from . import functional as F
from . import init
from .attention import MultiheadAttention
from .containers import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .norms import LayerNorm
from .sizes import check_whole

_rows = _core.operators

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


class _Layer(Module):
    """What both layers hold: attention to themselves and a feed-forward part.

    Inputs are [length, batch, d_model], [batch, length, d_model] with `batch_first`, or [length, d_model].

    Args:
        activation: "relu", "gelu", or a function of one tensor.
        norm_first: normalizes before attention and feed-forward, not after them (Xiong et al., 2020).
    """

    _attends_to_memory = False

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        made = dict(device=device, dtype=dtype)
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias=bias, batch_first=batch_first, **made)
        if self._attends_to_memory:
            self.multihead_attn = MultiheadAttention(
                d_model, nhead, dropout, bias=bias, batch_first=batch_first, **made
            )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        if self._attends_to_memory:
            self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **made)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        if self._attends_to_memory:
            self.dropout3 = Dropout(dropout)
        self.activation = _activation(activation)

    def _attend(self, x, mask, padding, is_causal):
        return self.dropout1(
            self.self_attn(x, x, x, key_padding_mask=padding, need_weights=False, attn_mask=mask, is_causal=is_causal)[
                0
            ]
        )

    def _feed(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


def _activation(given):
    if isinstance(given, str):
        if given not in ("relu", "gelu"):
            raise ValueError(f"Transformer: activation is {given!r}; pass 'relu', 'gelu' or a function")
        return F.relu if given == "relu" else F.gelu
    return given


class TransformerEncoderLayer(_Layer):
    """Attention to itself and a feed-forward part, each added to its input and normalized."""

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """src to its like. Masks are those of MultiheadAttention: attn_mask and key_padding_mask."""
        masks = src_mask, src_key_padding_mask, is_causal
        if self.norm_first:
            src = src + self._attend(self.norm1(src), *masks)
            return src + self.dropout2(self._feed(self.norm2(src)))
        src = self.norm1(src + self._attend(src, *masks))
        return self.norm2(src + self.dropout2(self._feed(src)))


class TransformerDecoderLayer(_Layer):
    """Attention to itself, attention to what an encoder gave, and a feed-forward part."""

    _attends_to_memory = True

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        """tgt to its like. Masks are those of MultiheadAttention: attn_mask and key_padding_mask."""
        masks = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        of_memory = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        if self.norm_first:
            tgt = tgt + self._attend(self.norm1(tgt), *masks)
            tgt = tgt + self._remember(self.norm2(tgt), *of_memory)
            return tgt + self.dropout3(self._feed(self.norm3(tgt)))
        tgt = self.norm1(tgt + self._attend(tgt, *masks))
        tgt = self.norm2(tgt + self._remember(tgt, *of_memory))
        return self.norm3(tgt + self.dropout3(self._feed(tgt)))

    def _remember(self, x, memory, mask, padding, is_causal):
        return self.dropout2(
            self.multihead_attn(
                x, memory, memory, key_padding_mask=padding, need_weights=False, attn_mask=mask, is_causal=is_causal
            )[0]
        )


class _Stack(Module):
    """Copies of a layer, one after the other, and a normalization behind them, which may be None."""

    def _begin(self, layer, num_layers, norm):
        check_whole(self._get_name(), "num_layers", num_layers, 0)
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.register_module("norm", norm)


class TransformerEncoder(_Stack):
    """Copies of an encoder layer, one after the other.

    Args:
        norm: a normalization behind them. enable_nested_tensor, mask_check: for PyTorch's callers; they change nothing
        here.
    """

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self._begin(encoder_layer, num_layers, norm)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """src to its like. is_causal: whether the mask hides all that comes later."""
        is_causal = _is_causal(mask, is_causal)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """Copies of a decoder layer, one after the other."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self._begin(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        """tgt to its like, attending to memory. tgt_is_causal: whether tgt_mask hides all that comes later."""
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal)
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask,
                memory_mask,
                tgt_key_padding_mask,
                memory_key_padding_mask,
                tgt_is_causal,
                memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


def _is_causal(mask, said):
    """What was said. Nobody looks into a mask: that would wait for the device, and the mask says the same."""
    return bool(said) and mask is not None


class Transformer(Module):
    """An encoder and a decoder. Matrices begin as xavier_uniform_.

    Args:
        custom_encoder, custom_decoder: modules in place of the two. Others as those of the layers.
    """

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        options = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )

        def norm():
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, norm()
        )
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        """[target length, batch, d_model], like tgt. Masks are those of MultiheadAttention."""
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and tgt.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise ValueError(
                f"Transformer: src and tgt have batches of {src.shape[batch]} and {tgt.shape[batch]}; let them be the "
                "same"
            )
        for name, each in (("src", src), ("tgt", tgt)):
            if each.shape[-1] != self.d_model:
                raise ValueError(f"Transformer: {name} has {each.shape[-1]} features, d_model is {self.d_model}")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """What to add to scores so that each query sees the keys up to its own place: 0 there, and -inf behind."""
        return _rows["triu"](_rows["full"]([sz, sz], -math.inf, dtype=dtype, device=device), 1)
