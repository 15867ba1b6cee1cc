from modules.cases import case, cases

SIZES = (3, 4, 2)
BATCH = [((4,), {}), ((4,), {"momentum": 0.3, "eps": 1e-3}), ((4,), {"momentum": None}), ((4,), {"affine": False}),
         ((4,), {"track_running_stats": False}), ((4,), {"bias": False})]  # fmt: skip
INSTANCE = [((4,), {}), ((4,), {"affine": True}), ((4,), {"track_running_stats": True}),
            ((4,), {"affine": True, "track_running_stats": True, "momentum": 0.3, "eps": 1e-3, "bias": False})]  # fmt: skip


CASES = [
    *(one for rank in (1, 2, 3) for one in cases(f"BatchNorm{rank}d", BATCH, of=[(5, 4, *SIZES[:rank])])),
    *cases("BatchNorm1d", BATCH, of=[(5, 4)]),
    *(one for rank in (1, 2, 3) for one in cases(f"InstanceNorm{rank}d", INSTANCE, of=[(5, 4, *SIZES[:rank])])),
    *(one for rank in (1, 2, 3) for one in cases(f"InstanceNorm{rank}d", INSTANCE[:2], of=[(4, *SIZES[:rank])])),
    *cases("LayerNorm", [((5,), {}), (((4, 5),), {"eps": 1e-3}), ((5,), {"bias": False}), ((5,), {"elementwise_affine": False})],
           of=[(3, 4, 5)]),
    *cases("RMSNorm", [((5,), {}), (((4, 5),), {"eps": 1e-3}), ((5,), {"elementwise_affine": False})], of=[(3, 4, 5)]),
    *cases("GroupNorm", [((2, 6), {}), ((3, 6), {"eps": 1e-3}), ((6, 6), {"affine": False}), ((1, 6), {"bias": False})], of=[(3, 6, 4, 2)]),
    *case("GroupNorm", 2, 6, of=[(3, 6)]),
    *cases("LocalResponseNorm", [((3,), {}), ((2,), {"alpha": 0.1, "beta": 0.5, "k": 2.0})], of=[(2, 6, 3, 4)]),
    *case("LocalResponseNorm", 3, of=[(2, 6, 5)]),
]  # fmt: skip
