"""Attention: means of values, weighted by how queries and keys agree."""

import math

from ... import _core
from ..arguments import of_tensors

_rows = _core.operators
_linear = _rows["linear"]

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

scaled_dot_product_attention = _rows["scaled_dot_product_attention"]


@of_tensors
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """What MultiheadAttention computes, of [length, batch, features] or [length, features], with its weights as
    arguments.

    Returns:
        The output, like the query, and the weights, [batch, queries, keys], or None unless they are needed.
    """
    is_batched = query.ndim == 3
    _check(query, key, value, embed_dim_to_check, num_heads, is_causal, attn_mask)
    if not is_batched:
        query, key, value = _unsqueezed(query, key, value)
    queries, batch, embed_dim = query.shape
    head_dim = embed_dim // num_heads
    q, k, v = _projected(
        query,
        key,
        value,
        in_proj_weight,
        in_proj_bias,
        (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None,
    )
    if bias_k is not None:
        k = _rows["cat"]([k, bias_k.expand([1, batch, embed_dim])])
        v = _rows["cat"]([v, bias_v.expand([1, batch, embed_dim])])
    q = q.reshape([queries, batch * num_heads, head_dim]).transpose(0, 1)
    k = static_k if static_k is not None else k.reshape([k.shape[0], batch * num_heads, head_dim]).transpose(0, 1)
    v = static_v if static_v is not None else v.reshape([v.shape[0], batch * num_heads, head_dim]).transpose(0, 1)
    num_keys = k.shape[1] - (bias_k is not None)
    if add_zero_attn:
        zero = _rows["zeros"]([batch * num_heads, 1, head_dim], dtype=q.dtype, device=q.device)
        k, v = _rows["cat"]([k, zero], 1), _rows["cat"]([v, zero], 1)
    by_flag = is_causal and key_padding_mask is None and not need_weights
    mask = None
    if not by_flag:
        mask = _joined_mask(attn_mask, key_padding_mask, q, batch, num_heads, queries, num_keys, k.shape[1])
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        output, weights = _weighed(q, k, v, mask, dropout_p)
        weights = weights.reshape([batch, num_heads, queries, k.shape[1]])
        if average_attn_weights:
            weights = weights.mean(1)
        weights = weights if is_batched else weights.squeeze(0)
    else:
        q, k, v = (each.reshape([batch, num_heads, each.shape[1], head_dim]) for each in (q, k, v))
        if mask is not None:
            mask = mask.unsqueeze(0) if mask.shape[0] == 1 else mask.reshape([batch, num_heads, -1, k.shape[2]])
        output = scaled_dot_product_attention(q, k, v, mask, dropout_p, by_flag).permute([2, 0, 1, 3])
        weights = None
    output = _linear(output.reshape([queries, batch, embed_dim]), out_proj_weight, out_proj_bias)
    return (output if is_batched else output.squeeze(1)), weights


def _check(query, key, value, embed_dim, num_heads, is_causal, attn_mask):
    if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
        raise ValueError(
            f"attention: query, key and value have {query.ndim}, {key.ndim} and {value.ndim} dimensions; pass 3, or 2 "
            "without a batch"
        )
    if query.shape[-1] != embed_dim:
        raise ValueError(f"attention: the query has {query.shape[-1]} features and embed_dim is {embed_dim}; make them equal")
    if embed_dim % num_heads:
        raise ValueError(f"attention: embed_dim {embed_dim} is not divisible into {num_heads} heads; choose a divisor")
    if key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            f"attention: key and value have shapes {list(key.shape)} and {list(value.shape)}; they may differ only in features"
        )
    if query.ndim == 3 and query.shape[1] != key.shape[1]:
        raise ValueError(
            f"attention: query and key have batches of {query.shape[1]} and {key.shape[1]}; let them be the same"
        )
    if is_causal and attn_mask is None:
        raise ValueError("attention: is_causal only describes attn_mask; pass attn_mask too")


def _unsqueezed(query, key, value):
    """What was one tensor stays one, so that it is projected by one product."""
    q = query.unsqueeze(1)
    k = q if key is query else key.unsqueeze(1)
    v = k if value is key else value.unsqueeze(1)
    return q, k, v


def _projected(query, key, value, weight, bias, separate):
    embed_dim = query.shape[-1]
    if separate:
        biases = (None,) * 3 if bias is None else bias.chunk(3)
        return [_linear(x, one, b) for x, one, b in zip((query, key, value), separate, biases)]
    if query is key and key is value:
        return _linear(query, weight, bias).chunk(3, -1)
    first, rest = weight.split([embed_dim, 2 * embed_dim])
    first_bias, rest_bias = (None, None) if bias is None else bias.split([embed_dim, 2 * embed_dim])
    q = _linear(query, first, first_bias)
    if key is value:
        return q, *_linear(key, rest, rest_bias).chunk(2, -1)
    (of_k, of_v), (bias_k, bias_v) = rest.chunk(2), (None, None) if bias is None else rest_bias.chunk(2)
    return q, _linear(key, of_k, bias_k), _linear(value, of_v, bias_v)


def additive_mask(name, mask, dtype):
    """Numbers to add to scores: a bool mask hides where it is true."""
    if mask is None:
        return None
    if mask.dtype == _core.bool:
        zeros = _rows["zeros"](mask.shape, dtype=dtype, device=mask.device)
        return _rows["masked_fill"](zeros, mask, -math.inf)
    if not mask.is_floating_point():
        raise ValueError(f"attention: {name} is {mask.dtype.name}; pass bools, or numbers to add")
    return mask.to(dtype)


def _joined_mask(attn_mask, key_padding_mask, q, batch, num_heads, queries, num_keys, length):
    """What is added to the scores [batch * num_heads, queries, keys], or None."""
    mask = additive_mask("attn_mask", attn_mask, q.dtype)
    padding = additive_mask("key_padding_mask", key_padding_mask, q.dtype)
    rows = batch * num_heads
    if mask is not None:
        if tuple(mask.shape) not in ((queries, num_keys), (rows, queries, num_keys)):
            raise ValueError(
                f"attention: attn_mask has shape {list(mask.shape)}; pass {[queries, num_keys]} or "
                f"{[rows, queries, num_keys]}"
            )
        mask = mask.unsqueeze(0) if mask.ndim == 2 else mask
        mask = _longer(mask, length - num_keys)
    if padding is None:
        return mask
    padding = padding.unsqueeze(0) if padding.ndim == 1 else padding
    if tuple(padding.shape) != (batch, num_keys):
        raise ValueError(
            f"attention: key_padding_mask has shape {list(key_padding_mask.shape)}; pass {[batch, num_keys]}"
        )
    padding = (
        _longer(padding, length - num_keys).unsqueeze(1).expand([batch, num_heads, length]).reshape([rows, 1, length])
    )
    return padding if mask is None else mask + padding


def _longer(mask, more):
    """For more keys, which all see."""
    return _rows["constant_pad_nd"](mask, [0, more]) if more else mask


def _weighed(q, k, v, mask, dropout_p):
    scores = _rows["bmm"](q * math.sqrt(1 / q.shape[2]), k.transpose(1, 2))
    weights = _rows["softmax"](scores if mask is None else scores + mask, -1)
    if dropout_p > 0:
        weights = _rows["dropout"](weights, dropout_p, True)
    return _rows["bmm"](weights, v).transpose(0, 1), weights
