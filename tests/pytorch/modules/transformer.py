import torch
from torch import nn

from modules.cases import Case, normal

CAUSAL = nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)
PADDED = torch.tensor([[False, False, False, True], [False, False, False, False]])
SMALL = {"d_model": 6, "nhead": 2, "dim_feedforward": 5, "dropout": 0.0}
VARIANTS = [{}, {"norm_first": True}, {"bias": False}, {"batch_first": True}, {"activation": nn.functional.gelu},
            {"layer_norm_eps": 0.01}]  # fmt: skip


def of(*made, masks):
    return lambda: [*(normal(*shape) for shape in made), *masks]


def layer_call(module, inputs):
    src, mask, padding = inputs
    return module(src, src_mask=mask, src_key_padding_mask=padding)


def encoder_call(module, inputs):
    src, mask, padding = inputs
    return module(src, mask=mask, src_key_padding_mask=padding)


def decoder_call(module, inputs):
    tgt, memory, tgt_mask, memory_mask, tgt_padding, memory_padding = inputs
    return module(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_padding,
                  memory_key_padding_mask=memory_padding)  # fmt: skip


def whole_call(module, inputs):
    src, tgt, src_mask, tgt_mask, src_padding = inputs
    return module(src, tgt, src_mask=src_mask, tgt_mask=tgt_mask, src_key_padding_mask=src_padding,
                  memory_key_padding_mask=src_padding)  # fmt: skip


def shape(kwargs, length):
    return (2, length, 6) if kwargs.get("batch_first") else (length, 2, 6)


def encoder_of(num_layers, norm, **layer):
    made = nn.TransformerEncoderLayer(**layer)
    return nn.TransformerEncoder(made, num_layers, nn.LayerNorm(6) if norm else None)


def decoder_of(num_layers, norm, **layer):
    made = nn.TransformerDecoderLayer(**layer)
    return nn.TransformerDecoder(made, num_layers, nn.LayerNorm(6) if norm else None)


MEMORY_MASK = torch.randn(4, 3, dtype=torch.float64)
ENCODER_MASKS = [[None, None], [CAUSAL, None], [None, PADDED], [CAUSAL.isinf(), PADDED]]
DECODER_MASKS = [[None] * 4, [CAUSAL, MEMORY_MASK, None, None], [CAUSAL.isinf(), None, PADDED, PADDED[:, 1:]]]
CASES = []
for mode in (True, False):
    for kwargs in VARIANTS:
        layer = {**SMALL, **kwargs}
        for masks in ENCODER_MASKS:
            CASES.append(Case("TransformerEncoderLayer", layer, of(shape(kwargs, 4), masks=masks), mode, called=layer_call))
        for masks in DECODER_MASKS:
            inputs = of(shape(kwargs, 4), shape(kwargs, 3), masks=masks)
            CASES.append(Case("TransformerDecoderLayer", layer, inputs, mode, called=decoder_call))
        for norm in (False, True):
            stack = {**layer, "num_layers": 2, "norm": norm}
            CASES.append(Case("TransformerEncoder", stack, of(shape(kwargs, 4), masks=ENCODER_MASKS[3]), mode, called=encoder_call,
                              make=encoder_of))  # fmt: skip
            CASES.append(Case("TransformerDecoder", stack, of(shape(kwargs, 4), shape(kwargs, 3), masks=DECODER_MASKS[1]), mode,
                              called=decoder_call, make=decoder_of))  # fmt: skip
        whole = {**layer, "num_encoder_layers": 2, "num_decoder_layers": 1}
        CASES.append(Case("Transformer", whole, of(shape(kwargs, 4), shape(kwargs, 4), masks=[CAUSAL, CAUSAL, PADDED]), mode,
                          called=whole_call))  # fmt: skip
    CASES.append(Case("TransformerEncoderLayer", SMALL, of((4, 6), masks=[CAUSAL, None]), mode, called=layer_call))
CASES.append(Case("TransformerEncoderLayer", {**SMALL, "dropout": 0.2}, of((4, 2, 6), masks=[None, None]), False, called=layer_call))
