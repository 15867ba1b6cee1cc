import torch

from modules.cases import case, cases

FLOOR = -1.7580993408473766  # what SELU gives far below 0


def linear_map(name, p):
    """(a, b, c): what is kept becomes a * x + b, and the rest c."""
    if "Alpha" not in name:
        return 1 / (1 - p), 0.0, 0.0
    a = 1 / ((FLOOR * FLOOR * p + 1) * (1 - p)) ** 0.5
    return a, -a * FLOOR * p, a * FLOOR * (1 - p)


def dropped(grouped_dims):
    """A check that each group, which the first dimensions tell, is kept or dropped as a whole, and in what part."""

    def check(module, inputs, outcome):
        x, result = inputs[0].detach(), outcome["results"][0]
        a, b, c = linear_map(type(module).__name__, module.p)
        kept = torch.isclose(result, a * x + b, rtol=1e-12, atol=1e-12)
        gone = torch.isclose(result, torch.full_like(x, c), rtol=1e-12, atol=1e-12)
        if not (kept | gone).all():
            return f"{result[~(kept | gone)][0]} of {x[~(kept | gone)][0]}"
        groups = kept.flatten(grouped_dims) if grouped_dims < x.dim() else kept.unsqueeze(-1)
        if not (groups.all(-1) | ~groups.any(-1)).all():
            return "a group is dropped in part"
        decided = groups[..., 0].double()
        spread = (module.p * (1 - module.p) / decided.numel()) ** 0.5
        if abs(decided.mean() - (1 - module.p)) > 5 * spread:
            return f"{1 - decided.mean()} are dropped of p={module.p}"
        gradient = outcome["gradients"][0]
        return "" if ((gradient == 0) == gone).all() else "gradients are dropped elsewhere"

    return check


OF = {"Dropout": ((40, 50), 2), "AlphaDropout": ((40, 50), 2), "Dropout1d": ((30, 20, 3), 2), "Dropout2d": ((30, 20, 2, 3), 2),
      "Dropout3d": ((30, 20, 2, 2, 2), 2), "FeatureAlphaDropout": ((30, 20, 2, 3), 2)}  # fmt: skip

CASES = [
    *(one for name, (shape, _) in OF.items()
      for one in cases(name, [{}, {"p": 0.2}, {"p": 0.7, "inplace": True}], of=[shape], training=(False,))),
    *(one for name, (shape, dims) in OF.items()
      for one in cases(name, [{}, {"p": 0.2}, {"p": 0.7, "inplace": True}], of=[shape], training=(True,), check=dropped(dims))),
    *(one for name, (shape, _) in OF.items() for one in case(name, 0.0, of=[shape], training=(True,))),
    *(one for name, (shape, _) in OF.items() for one in case(name, 1.0, of=[shape], training=(True,))),
    *case("Dropout1d", of=[(200, 3)], training=(True,), check=dropped(1)),
    *case("Dropout2d", of=[(20, 20, 3)], training=(True,), check=dropped(2)),
    *case("Dropout3d", of=[(200, 2, 2, 2)], training=(True,), check=dropped(1)),
]
