"""Lazy modules: both are made without the size of their input, called once with `dry`, and are then ordinary ones."""

import torch

from modules.cases import Case, normal

SIZES = (7, 6, 5)
CONV = [{}, {"stride": 2, "padding": 1, "bias": False}, {"groups": 2, "dilation": 2}]
TRANSPOSED = [{}, {"stride": 2, "padding": 1, "output_padding": 1, "bias": False}, {"groups": 2, "dilation": 2}]
BATCH = [{}, {"momentum": 0.3, "eps": 1e-3}, {"affine": False}, {"track_running_stats": False}, {"bias": False}]
INSTANCE = [{}, {"affine": False}, {"track_running_stats": False}, {"affine": False, "track_running_stats": False}, {"bias": False}]


def lazy(name, variants, shape):
    def make(dry, **args):
        module = getattr(torch.nn, name)(**args).eval()
        module(dry)
        return module

    dry = torch.ones(shape, dtype=torch.float64)
    return [Case(name, {**args, "dry": dry}, lambda: [normal(*shape)], mode, make=make) for args in variants for mode in (True, False)]


def sizes(rank):
    return (4, *SIZES[:rank])


CASES = [
    *lazy("LazyLinear", [{"out_features": 3}, {"out_features": 3, "bias": False}], (4, 5)),
    *lazy("LazyLinear", [{"out_features": 3}], (2, 4, 5)),
]
for rank in (1, 2, 3):
    for name, variants in ((f"LazyConv{rank}d", CONV), (f"LazyConvTranspose{rank}d", TRANSPOSED)):
        made = [{"out_channels": 6, "kernel_size": 3, **one} for one in variants]
        CASES += lazy(name, made, (2, *sizes(rank)))
        CASES += lazy(name, made[:1], sizes(rank))
    CASES += lazy(f"LazyBatchNorm{rank}d", BATCH, (5, *sizes(rank)))
    CASES += lazy(f"LazyInstanceNorm{rank}d", INSTANCE, (5, *sizes(rank)))
CASES += lazy("LazyBatchNorm1d", BATCH[:2], (5, 4))
