"""What torch.nn.utils.parametrizations makes of a Linear: the name of a case is the function's."""

from torch import nn
from torch.nn.utils import parametrizations

from modules.cases import Case, normal


def parametrized(function, in_features, out_features, **kwargs):
    def make(in_features, out_features, **kwargs):
        return getattr(parametrizations, function)(nn.Linear(in_features, out_features), **kwargs)

    args = {"in_features": in_features, "out_features": out_features, **kwargs}
    return [Case(function, args, lambda: [normal(3, in_features)], mode, make=make) for mode in (True, False)]


CASES = [
    *parametrized("weight_norm", 4, 3), *parametrized("weight_norm", 4, 3, dim=1),
    *parametrized("spectral_norm", 4, 3), *parametrized("spectral_norm", 4, 3, n_power_iterations=3, dim=1),
    *parametrized("spectral_norm", 4, 3, name="bias"),
]  # fmt: skip
for map_ in ("matrix_exp", "cayley", "householder"):
    for sizes in ((4, 4), (4, 2), (2, 4)):
        CASES += parametrized("orthogonal", *sizes, orthogonal_map=map_)
        CASES += parametrized("orthogonal", *sizes, orthogonal_map=map_, use_trivialization=False)
