import torch

from modules.cases import case, cases

IMAGE = [(2, 3, 5, 6)]
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}
SIZES = (5, 6, 3)


def by_index(module, inputs):
    """Upsample's function, whose derivative in PyTorch is that of another one where a size stays or doubles in one or three
    dimensions and the factor says otherwise."""
    x = inputs[0]
    for dim in range(2, x.dim()):
        places = torch.arange(int(x.shape[dim] * module.scale_factor), dtype=torch.float64) / module.scale_factor
        x = x.index_select(dim, places.long())
    return x


def upsampled(rank):
    modes = ["nearest", "nearest-exact", LINEAR[rank], "area"] + (["bicubic"] if rank == 2 else [])
    listed = [{"mode": mode, **sized} for mode in modes
              for sized in ({"scale_factor": 2}, {"size": 7}, {"scale_factor": 1.3}, {"scale_factor": 0.6})]  # fmt: skip
    with_corners = [mode for mode in modes if "linear" in mode or mode == "bicubic"]
    listed += [{"mode": mode, "align_corners": True, **sized} for mode in with_corners for sized in ({"scale_factor": 1.7}, {"size": 8})]
    listed += [{"mode": LINEAR[rank], "scale_factor": 1.7, "recompute_scale_factor": True}]
    broken = [one for one in listed if rank == 3 and one["mode"] == "nearest" and one.get("scale_factor") == 1.3]
    of = {"of": [(2, 3, *SIZES[:rank])], "training": (True,)}
    return cases("Upsample", [one for one in listed if one not in broken], **of) + cases("Upsample", broken, called=by_index, **of)


CASES = [
    *cases("Flatten", [{}, {"start_dim": 0}, {"start_dim": 1, "end_dim": 2}], of=IMAGE),
    *cases("Unflatten", [((1, (2, 3)), {}), ((-1, (-1, 2)), {})], of=[(2, 6, 4)]),
    *cases("Unfold", [((2,), {}), (((2, 3),), {"padding": 1, "stride": (2, 1)}), ((2,), {"dilation": 2})], of=IMAGE),
    *case("Unfold", 2, of=[(3, 5, 6)]),
    *case("Fold", (4, 5), (2, 3), of=[(2, 12, 9)]),
    *case("Fold", 5, 2, stride=2, padding=1, dilation=(1, 2), of=[(3, 12, 9)]),
    *case("Fold", (4, 5), (2, 3), of=[(12, 9)]),
    *case("PixelShuffle", 2, of=[(2, 8, 3, 4)]),
    *case("PixelShuffle", 3, of=[(9, 2, 3)]),
    *case("PixelUnshuffle", 2, of=[(2, 3, 4, 6)]),
    *case("PixelUnshuffle", 3, of=[(1, 6, 3)]),
    *case("ChannelShuffle", 2, of=[(2, 6, 3, 4)]),
    *case("ChannelShuffle", 3, of=[(2, 6, 3)]),
    *(one for rank in (1, 2, 3) for one in upsampled(rank)),
    *case("Upsample", scale_factor=(2.0, 1.5), of=IMAGE),
    *cases("Upsample", [{"mode": mode} for mode in ("nearest", "nearest-exact", "bilinear", "bicubic")], scale_factor=1.3, of=[(2, 3, 3, 5)]),
    *cases("Upsample", [{"mode": mode} for mode in ("nearest", "nearest-exact", "bilinear", "bicubic")], scale_factor=2.3, of=[(2, 3, 3, 4)]),
    *cases("Upsample", [{"mode": mode, "scale_factor": factor} for mode in ("nearest-exact", "linear") for factor in (1.3, 2.3)],
           of=[(2, 4, 3)]),
    *cases("Upsample", [{"scale_factor": factor} for factor in (1.3, 2.3)], of=[(2, 4, 3)], called=by_index),
    *case("Upsample", scale_factor=2.3, of=[(2, 3, 3, 4, 2)], called=by_index),
    *case("Upsample", size=(4, 9), mode="bilinear", of=IMAGE),
    *cases("UpsamplingNearest2d", [{"scale_factor": 2}, {"size": 7}, {"size": (3, 8)}], of=IMAGE),
    *cases("UpsamplingBilinear2d", [{"scale_factor": 2}, {"size": 7}, {"scale_factor": (1.5, 2.5)}], of=IMAGE),
    *cases("CosineSimilarity", [{}, {"dim": -1, "eps": 1e-3}, {"dim": 0}], of=[(4, 5, 3), (4, 5, 3)]),
    *case("CosineSimilarity", of=[(4, 5, 3), (1, 5, 1)]),
    *cases("PairwiseDistance", [{}, {"p": 1.0, "keepdim": True}, {"p": 3.0, "eps": 1e-3}], of=[(4, 5), (4, 5)]),
    *case("PairwiseDistance", of=[(5,), (5,)]),
]
