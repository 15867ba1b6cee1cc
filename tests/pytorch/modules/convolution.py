import torch

from modules.cases import case, cases

SIZES = (7, 6, 5)
PLAIN = [
    ((4, 6, 3), {}), ((4, 6, 3), {"stride": 2, "padding": 1}), ((4, 6, 3), {"dilation": 2, "bias": False}),
    ((4, 6, 2), {"groups": 2}), ((4, 8, 1), {"groups": 4, "stride": 2}), ((4, 6, 3), {"padding": "same"}),
    ((4, 6, 2), {"padding": "same", "dilation": 3}), ((4, 6, 3), {"padding": "valid"}),
    ((4, 6, 3), {"padding": 2, "padding_mode": "reflect"}), ((4, 6, 3), {"padding": 1, "padding_mode": "replicate", "stride": 2}),
    ((4, 6, 2), {"padding": "same", "padding_mode": "circular"}), ((4, 6, 3), {"padding": 1, "padding_mode": "circular"}),
]  # fmt: skip
TRANSPOSED = [
    ((4, 6, 3), {}), ((4, 6, 3), {"stride": 2, "padding": 1, "output_padding": 1}), ((4, 6, 3), {"dilation": 2, "bias": False}),
    ((4, 6, 2), {"groups": 2}), ((4, 4, 3), {"groups": 4, "stride": 2}),
]  # fmt: skip
EACH = [((4, 6, (3, 2)), {"stride": (1, 2), "padding": (0, 1), "dilation": (2, 1)})]


def wanted_size(module, inputs):
    return module(inputs[0], inputs[1].tolist())


CASES = [
    *(one for rank in (1, 2, 3) for one in cases(f"Conv{rank}d", PLAIN, of=[(2, 4, *SIZES[:rank])])),
    *(one for rank in (1, 2, 3) for one in cases(f"Conv{rank}d", PLAIN[:2], of=[(4, *SIZES[:rank])], training=(True,))),
    *(one for rank in (1, 2, 3) for one in cases(f"ConvTranspose{rank}d", TRANSPOSED, of=[(2, 4, *SIZES[:rank])])),
    *(one for rank in (1, 2, 3) for one in cases(f"ConvTranspose{rank}d", TRANSPOSED[:2], of=[(4, *SIZES[:rank])], training=(True,))),
    *cases("Conv2d", EACH, of=[(2, 4, 7, 6)]),
    *cases("ConvTranspose2d", EACH, of=[(2, 4, 7, 6)]),
    *case("Conv3d", 2, 3, (1, 2, 3), stride=(2, 1, 1), padding=(0, 1, 2), of=[(2, 2, 4, 5, 6)]),
    *case("Conv1d", 2, 3, (2,), stride=(2,), of=[(2, 2, 9)]),
    *case("ConvTranspose1d", 2, 3, 3, stride=2, of=[(2, 2, 5), torch.tensor([12])], called=wanted_size),
    *case("ConvTranspose2d", 2, 3, 3, stride=3, padding=1, of=[(2, 2, 5, 4), torch.tensor([15, 11])], called=wanted_size),
    *case("ConvTranspose2d", 2, 3, 3, stride=3, padding=1, of=[(2, 5, 4), torch.tensor([3, 14, 12])], called=wanted_size),
    *case("ConvTranspose3d", 2, 3, 3, stride=2, of=[(2, 2, 2, 3, 2), torch.tensor([2, 3, 6, 7, 5])], called=wanted_size),
]
