"""Attention of several heads."""

from .. import _core
from . import functional as F
from . import init
from .linear import NonDynamicallyQuantizableLinear
from .module import Module
from .parameter import Parameter
from .sizes import check_whole

_empty = _core.operators["empty"]

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Softmax of the scaled products of projected queries and keys, times the projected values, projected once more.

    (Vaswani et al., Attention is all you need, 2017.) Query, key and value are [length, batch, features], [batch,
    length, features] with `batch_first`, or [length, features]. Weights begin as xavier_uniform_, biases as zeros.

    Args:
        dropout: of the weights, in training. add_bias_kv: one more key and value, which are parameters.
        add_zero_attn: one more of zeros. kdim, vdim: features of keys and values, by default embed_dim.

    Attributes:
        in_proj_weight: [3 * embed_dim, embed_dim]; with kdim or vdim q_proj_weight, k_proj_weight and v_proj_weight
        instead.
        in_proj_bias: [3 * embed_dim], or None. out_proj: a Linear. bias_k, bias_v: [1, 1, embed_dim], or None.

    Raises:
        ValueError: num_heads does not divide embed_dim.
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.embed_dim = check_whole("MultiheadAttention", "embed_dim", embed_dim, 1)
        self.num_heads = check_whole("MultiheadAttention", "num_heads", num_heads, 1)
        if embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: embed_dim {embed_dim} is not divisible into {num_heads} heads; choose a divisor"
            )
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self.head_dim = embed_dim // num_heads
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim

        def made(*shape):
            return Parameter(_empty(shape, device=device, dtype=dtype))

        same = self._qkv_same_embed_dim
        self.register_parameter("in_proj_weight", made(3 * embed_dim, embed_dim) if same else None)
        self.register_parameter("q_proj_weight", None if same else made(embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", None if same else made(embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", None if same else made(embed_dim, self.vdim))
        self.register_parameter("in_proj_bias", made(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.register_parameter("bias_k", made(1, 1, embed_dim) if add_bias_kv else None)
        self.register_parameter("bias_v", made(1, 1, embed_dim) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        """The output, like the query, and the weights.

        Args:
            key_padding_mask: [batch, keys], or [keys]: true for keys that nobody sees, or numbers to add to the scores.
            need_weights: without them the computation is one scaled_dot_product_attention, and None comes in their
            place.
            attn_mask: [queries, keys], or [batch * num_heads, queries, keys]: true for keys that the query does not
            see, or numbers.
            average_attn_weights: weights are means over the heads, [batch, queries, keys]; else [batch, num_heads,
            queries, keys].
            is_causal: says that attn_mask hides all that comes after the query; it must be given all the same.
        """
        if key.shape[-1] != self.kdim or value.shape[-1] != self.vdim:
            raise ValueError(
                f"MultiheadAttention: key and value have {key.shape[-1]} and {value.shape[-1]} features; they were to "
                f"have {self.kdim} and {self.vdim}"
            )
        turned = self.batch_first and query.ndim == 3
        if turned:
            # What was one tensor stays one, so that it is projected by one product.
            steps = query.transpose(0, 1)
            keys = steps if key is query else key.transpose(0, 1)
            value = keys if value is key else value.transpose(0, 1)
            query, key = steps, keys
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(0, 1) if turned else output, weights
