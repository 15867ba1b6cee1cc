import torch

from modules.cases import case, cases, uniform

SIZES = (7, 6, 5)
OF = {rank: [(2, 3, *SIZES[:rank])] for rank in (1, 2, 3)}
ALONE = {rank: [(3, *SIZES[:rank])] for rank in (1, 2, 3)}
MAX = [((2,), {}), ((3,), {"stride": 2, "padding": 1}), ((2,), {"dilation": 2, "stride": 1}), ((3,), {"stride": 2, "ceil_mode": True}),
       ((2,), {"return_indices": True})]  # fmt: skip
MEAN = [((2,), {}), ((3,), {"stride": 2, "padding": 1}), ((3,), {"stride": 2, "padding": 1, "count_include_pad": False}),
        ((3,), {"stride": 2, "ceil_mode": True})]  # fmt: skip
NORM = [((2.0, 2), {}), ((1.0, 3), {"stride": 2}), ((3.0, 2), {"stride": 1, "ceil_mode": True})]


def pooled(rank):
    """An input and its places for MaxUnpool, whose windows do not overlap."""
    torch.manual_seed(3)
    x = torch.rand(2, 3, *(2 * size for size in SIZES[:rank]), dtype=torch.float64)
    values, places = getattr(torch.nn, f"MaxPool{rank}d")(2, return_indices=True)(x)
    return [lambda: values.clone().requires_grad_(), places]


def wanted_size(module, inputs):
    return module(inputs[0], inputs[1], inputs[2].tolist())


def samples(rank, batch=2, channels=3):
    generator = torch.Generator().manual_seed(rank)
    return torch.rand(batch, channels, rank, dtype=torch.float64, generator=generator)


def fractions(rank):
    given = {"_random_samples": samples(rank)}
    return [((2,), {"output_size": 3, **given}), ((2,), {"output_ratio": 0.6, **given}),
            ((2,), {"output_size": (4, 4, 3)[:rank], "return_indices": True, **given}),
            (((3, 2, 2)[:rank],), {"output_ratio": (0.5, 0.7, 0.6)[:rank], **given}), ((1,), {"output_size": 1, **given})]  # fmt: skip


CASES = [
    *(one for rank in OF for one in cases(f"MaxPool{rank}d", MAX, of=OF[rank])),
    *(one for rank in OF for one in cases(f"MaxPool{rank}d", [MAX[0], MAX[-1]], of=ALONE[rank], training=(True,))),
    *(one for rank in OF for one in cases(f"AvgPool{rank}d", MEAN, of=OF[rank])),
    *(one for rank in OF for one in cases(f"AvgPool{rank}d", MEAN[:1], of=ALONE[rank], training=(True,))),
    *(one for rank in (2, 3) for one in case(f"AvgPool{rank}d", 2, divisor_override=3, of=OF[rank])),
    *(one for rank in OF for one in cases(f"LPPool{rank}d", NORM, of=[lambda rank=rank: uniform(2, 3, *SIZES[:rank], low=0.1)])),
    *case("MaxPool2d", (3, 2), stride=(2, 1), padding=(1, 0), of=OF[2]),
    *case("AvgPool2d", (3, 2), stride=(2, 1), padding=(1, 0), of=OF[2]),
    *case("LPPool2d", 2.0, (3, 2), stride=(2, 1), of=[lambda: uniform(2, 3, 7, 6, low=0.1)]),
    *(one for rank in OF for kind in ("Avg", "Max") for one in cases(f"Adaptive{kind}Pool{rank}d", [((3,), {}), ((1,), {})], of=OF[rank])),
    *(one for rank in OF for kind in ("Avg", "Max") for one in case(f"Adaptive{kind}Pool{rank}d", 2, of=ALONE[rank], training=(True,))),
    *(one for rank in OF for one in case(f"AdaptiveMaxPool{rank}d", 3, return_indices=True, of=OF[rank])),
    *(one for kind in ("Avg", "Max") for one in cases(f"Adaptive{kind}Pool2d", [(((None, 4),), {}), (((3, 2),), {})], of=OF[2])),
    *case("AdaptiveAvgPool3d", (None, 2, None), of=OF[3]),
    *(one for rank in OF for one in cases(f"MaxUnpool{rank}d", [((2,), {}), ((2,), {"stride": 2, "padding": 0})], of=pooled(rank))),
    *case("MaxUnpool1d", 2, of=[*pooled(1), torch.tensor([15])], called=wanted_size),
    *case("MaxUnpool2d", 2, of=[*pooled(2), torch.tensor([2, 3, 14, 13])], called=wanted_size),
    *(one for rank in (2, 3) for one in cases(f"FractionalMaxPool{rank}d", fractions(rank), of=OF[rank])),
]  # fmt: skip
