import torch

from modules.cases import case, normal

CAUSAL = torch.triu(torch.full((4, 4), float("-inf"), dtype=torch.float64), 1)
PADDED = torch.tensor([[False, False, True], [False, False, False]])


def called(module, inputs):
    query, key, value, padding, mask, flags = inputs
    need_weights, average, is_causal = map(bool, flags)
    output, weights = module(query, key, value, key_padding_mask=padding, need_weights=need_weights, attn_mask=mask,
                             average_attn_weights=average, is_causal=is_causal)  # fmt: skip
    return [output] if weights is None else [output, weights]


def attention(*args, of, padding=None, mask=None, need_weights=True, average=True, is_causal=False, training=(True, False), **kwargs):
    """As MultiheadAttention(*args, **kwargs) called with these."""
    flags = torch.tensor([need_weights, average, is_causal]).long()
    if len(of) == 1:  # the same tensor three times
        def inputs():
            one = normal(*of[0])
            return [one, one, one, padding, mask, flags]
    else:
        def inputs():
            return [*(normal(*shape) for shape in of), padding, mask, flags]
    made = case("MultiheadAttention", *args, of=[], training=training, called=called, **kwargs)
    for one in made:
        one.inputs = inputs
    return made


QKV = [(4, 2, 6), (3, 2, 6), (3, 2, 6)]
BIASES = {"add_bias_kv": True, "add_zero_attn": True}
CASES = [
    *attention(6, 2, of=QKV),
    *attention(6, 3, of=QKV, average=False),
    *attention(6, 2, of=QKV, need_weights=False),
    *attention(6, 2, of=QKV, bias=False),
    *attention(6, 2, of=[(2, 4, 6), (2, 3, 6), (2, 3, 6)], batch_first=True),
    *attention(6, 2, of=[(4, 6), (3, 6), (3, 6)]),
    *attention(6, 2, of=[(4, 6), (3, 6), (3, 6)], batch_first=True, need_weights=False),
    *attention(6, 2, of=[(4, 6), (3, 6), (3, 6)], average=False, padding=PADDED[0]),
    *attention(6, 2, of=[(4, 2, 6), (3, 2, 5), (3, 2, 7)], kdim=5, vdim=7),
    *attention(6, 2, of=[(4, 2, 6), (3, 2, 5), (3, 2, 6)], kdim=5, bias=False, need_weights=False),
    *attention(6, 2, of=QKV, padding=PADDED),
    *attention(6, 2, of=QKV, padding=PADDED, need_weights=False),
    *attention(6, 2, of=QKV, padding=torch.randn(2, 3, dtype=torch.float64)),
    *attention(6, 2, of=QKV, mask=torch.randn(4, 3, dtype=torch.float64)),
    *attention(6, 2, of=QKV, mask=torch.randn(4, 4, 3, dtype=torch.float64), need_weights=False),
    *attention(6, 2, of=[(4, 2, 6)] * 3, mask=CAUSAL.isinf()),
    *attention(6, 2, of=[(4, 2, 6)] * 3, mask=CAUSAL, is_causal=True),
    *attention(6, 2, of=[(4, 2, 6)] * 3, mask=CAUSAL, is_causal=True, need_weights=False),
    *attention(6, 2, of=QKV, mask=torch.randn(4, 3, dtype=torch.float64), padding=PADDED, **BIASES),
    *attention(6, 2, of=QKV, need_weights=False, padding=PADDED, **BIASES),
    *attention(6, 2, of=QKV, average=False, add_bias_kv=True),
    *attention(6, 2, of=QKV, add_zero_attn=True, bias=False),
    *attention(6, 2, dropout=0.3, of=QKV, training=(False,)),
]
