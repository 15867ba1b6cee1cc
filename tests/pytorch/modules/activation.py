import torch

from modules.cases import case, cases

SHAPE = [(3, 4, 5)]
PLAIN = ("LogSigmoid", "Sigmoid", "Softsign", "Tanh", "Tanhshrink")
INPLACE = ("Hardsigmoid", "Hardswish", "Mish", "ReLU", "ReLU6", "SELU", "SiLU")


def slopes(module, inputs, outcome):
    """Each number below 0 is multiplied by one of the range, and not all by the same."""
    x, result = inputs[0].detach(), outcome["results"][0]
    below = x <= 0
    factors = (result / x)[below]
    if not torch.equal(result[~below], x[~below]):
        return "numbers above 0 change"
    if factors.min() < module.lower - 1e-12 or factors.max() > module.upper + 1e-12:
        return f"slopes from {factors.min()} to {factors.max()}"
    spread = (module.upper - module.lower) / 12**0.5
    if abs(factors.mean() - (module.lower + module.upper) / 2) > 5 * spread / factors.numel() ** 0.5:
        return f"slopes with a mean of {factors.mean()}"
    return "" if factors.std() > spread / 2 else "slopes do not differ"


CASES = [
    *(one for name in PLAIN for one in case(name, of=SHAPE)),
    *(one for name in INPLACE for one in cases(name, [{}, {"inplace": True}], of=SHAPE)),
    *cases("ELU", [{}, {"alpha": 0.7}, {"alpha": 1.5, "inplace": True}], of=SHAPE),
    *cases("CELU", [{}, {"alpha": 0.7}, {"alpha": 1.5, "inplace": True}], of=SHAPE),
    *cases("LeakyReLU", [{}, {"negative_slope": 0.2}, {"negative_slope": 0.1, "inplace": True}], of=SHAPE),
    *cases("Hardtanh", [{}, {"min_val": -0.3, "max_val": 0.5}, {"min_val": 0.0, "max_val": 6.0, "inplace": True}], of=SHAPE),
    *cases("Threshold", [((0.1, 20.0), {}), ((-0.5, 1.0), {"inplace": True})], of=SHAPE),
    *cases("RReLU", [{}, {"lower": 0.1, "upper": 0.4}, {"inplace": True}], of=SHAPE, training=(False,)),
    *cases("RReLU", [{}, {"lower": 0.1, "upper": 0.4}], of=[(40, 50)], training=(True,), check=slopes),
    *cases("GELU", [{}, {"approximate": "tanh"}], of=SHAPE),
    *cases("Softplus", [{}, {"beta": 2.0, "threshold": 1.0}], of=SHAPE),
    *cases("Hardshrink", [{}, {"lambd": 0.1}], of=SHAPE),
    *cases("Softshrink", [{}, {"lambd": 0.1}], of=SHAPE),
    *cases("GLU", [{}, {"dim": 1}], of=[(3, 4, 6)]),
    *cases("Softmax", [{"dim": 1}, {"dim": -1}, {"dim": None}, {}], of=SHAPE),
    *cases("LogSoftmax", [{"dim": 1}, {"dim": -1}, {}], of=SHAPE),
    *cases("Softmin", [{"dim": 1}, {"dim": -1}, {}], of=SHAPE),
    *case("Softmax", of=[(3, 4)]),
    *case("Softmax2d", of=[(2, 3, 4, 5)]),
    *case("Softmax2d", of=[(3, 4, 5)]),
    *cases("PReLU", [{}, {"init": 0.1}, {"num_parameters": 4}], of=SHAPE),
    *case("PReLU", of=[(4,)]),
]
