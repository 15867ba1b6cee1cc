import torch

from modules.cases import case, cases, integers, normal, uniform

REDUCTIONS = [{}, {"reduction": "sum"}, {"reduction": "none"}]
PAIR = [(4, 5), (4, 5)]


def weights(count, seed=5):
    return torch.rand(count, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) + 0.5


def classes(*shape, high):
    return lambda: integers(*shape, high=high)


def signs(*shape):
    return lambda: integers(*shape, high=2).double() * 2 - 1


def probabilities(*shape):
    return lambda: torch.rand(shape, dtype=torch.float64).softmax(1).requires_grad_()


def log_probabilities(*shape):
    return lambda: torch.randn(shape, dtype=torch.float64).log_softmax(-1).requires_grad_()


def crossed(name, variants, of):
    """Each variant with each reduction."""
    return [one for variant in variants for reduction in REDUCTIONS for one in case(name, of=of, training=(True,), **variant, **reduction)]


def by_logits(module, inputs, results, gradients):
    """The gradients by what log_softmax was taken of: ours is without a part that this takes off."""
    probabilities = inputs[0].detach().exp()
    return results + [one - probabilities * one.sum(-1, keepdim=True) for one in gradients]


def taxicab(a, b):
    return (a - b).abs().sum(1)


def scored(module, inputs):
    return [module.log_prob(inputs[0]), module.predict(inputs[0])]


LABELS = torch.tensor([[3, 0, -1, 1], [2, -1, 0, 0], [0, 1, 2, 3], [-1, 1, 2, 0]])
LENGTHS = [torch.tensor([12, 12, 10]), torch.tensor([4, 3, 2])]

CASES = [
    *crossed("CrossEntropyLoss", [{}, {"weight": weights(5)}, {"ignore_index": 1}, {"label_smoothing": 0.2, "weight": weights(5)}],
             [(8, 5), classes(8, high=5)]),
    *crossed("CrossEntropyLoss", [{}, {"weight": weights(5)}, {"label_smoothing": 0.1}], [(4, 5, 2, 3), classes(4, 2, 3, high=5)]),
    *crossed("CrossEntropyLoss", [{}, {"weight": weights(5), "label_smoothing": 0.1}], [(4, 5), probabilities(4, 5)]),
    *crossed("CrossEntropyLoss", [{}], [(5,), torch.tensor(3)]),
    *crossed("NLLLoss", [{}, {"weight": weights(5)}, {"ignore_index": 1}], [log_probabilities(8, 5), classes(8, high=5)]),
    *crossed("NLLLoss", [{"weight": weights(5)}], [(4, 5, 2, 3), classes(4, 2, 3, high=5)]),
    *crossed("MSELoss", [{}], PAIR),
    *crossed("L1Loss", [{}], PAIR),
    *crossed("SmoothL1Loss", [{}, {"beta": 0.3}, {"beta": 0.0}], PAIR),
    *crossed("HuberLoss", [{}, {"delta": 0.3}], PAIR),
    *crossed("BCELoss", [{}, {"weight": weights(5)}], [lambda: uniform(4, 5, low=0.01, high=0.99), lambda: torch.rand(4, 5)]),
    *crossed("BCEWithLogitsLoss", [{}, {"weight": weights(5)}, {"pos_weight": weights(5)}, {"weight": weights(5), "pos_weight": weights(5, 6)}],
             [(4, 5), lambda: torch.rand(4, 5)]),
    *crossed("KLDivLoss", [{}], [log_probabilities(4, 5), probabilities(4, 5)]),
    *crossed("KLDivLoss", [{"log_target": True}], [log_probabilities(4, 5), log_probabilities(4, 5)]),
    *case("KLDivLoss", reduction="batchmean", of=[log_probabilities(4, 5), probabilities(4, 5)]),
    *crossed("PoissonNLLLoss", [{}, {"full": True}], [(4, 5), lambda: integers(4, 5, high=6).double()]),
    *crossed("PoissonNLLLoss", [{"log_input": False, "eps": 1e-3}], [lambda: uniform(4, 5, low=0.1), lambda: integers(4, 5, high=6).double()]),
    *crossed("GaussianNLLLoss", [{}, {"full": True}, {"eps": 0.5}], [*PAIR, lambda: uniform(4, 5, low=0.2)]),
    *crossed("GaussianNLLLoss", [{}], [*PAIR, lambda: uniform(4, 1, low=0.2)]),
    *crossed("GaussianNLLLoss", [{}], [*PAIR, lambda: uniform(4, low=0.2)]),
    *(one for variant in ({}, {"blank": 2}, {"zero_infinity": True}) for reduction in REDUCTIONS
      for one in case("CTCLoss", **variant, **reduction, training=(True,), prepare=by_logits,
                      of=[log_probabilities(12, 3, 6), torch.tensor([[1, 3, 3, 4], [5, 1, 4, 0], [4, 4, 0, 0]]), *LENGTHS])),
    *case("CTCLoss", prepare=by_logits, of=[log_probabilities(12, 3, 6), torch.tensor([1, 3, 3, 4, 5, 1, 4, 4, 4]), *LENGTHS]),
    *crossed("HingeEmbeddingLoss", [{}, {"margin": 0.5}], [(4, 5), signs(4, 5)]),
    *crossed("MarginRankingLoss", [{}, {"margin": 0.5}], [(9,), (9,), signs(9)]),
    *crossed("SoftMarginLoss", [{}], [(4, 5), signs(4, 5)]),
    *crossed("MultiMarginLoss", [{}, {"p": 2}, {"margin": 0.5, "weight": weights(5)}], [(6, 5), classes(6, high=5)]),
    *crossed("MultiLabelMarginLoss", [{}], [(4, 4), LABELS]),
    *crossed("MultiLabelMarginLoss", [{}], [(4,), LABELS[0]]),
    *crossed("MultiLabelSoftMarginLoss", [{}, {"weight": weights(5)}], [(4, 5), lambda: integers(4, 5, high=2).double()]),
    *crossed("CosineEmbeddingLoss", [{}, {"margin": 0.2}], [(6, 5), (6, 5), signs(6)]),
    *crossed("TripletMarginLoss", [{}, {"margin": 0.5, "p": 1.0}, {"swap": True, "eps": 1e-3}], [(6, 5), (6, 5), (6, 5)]),
    *crossed("TripletMarginWithDistanceLoss", [{}, {"margin": 0.5, "swap": True}, {"distance_function": taxicab}],
             [(6, 5), (6, 5), (6, 5)]),
    *cases("AdaptiveLogSoftmaxWithLoss", [{}, {"head_bias": True, "div_value": 2.0}], in_features=16, n_classes=20, cutoffs=[5, 12],
           of=[(9, 16), torch.tensor([0, 4, 5, 11, 12, 19, 3, 7, 18])]),
    *case("AdaptiveLogSoftmaxWithLoss", 16, 20, [5], of=[(16,), torch.tensor(7)]),
    *case("AdaptiveLogSoftmaxWithLoss", 16, 20, [5, 12], of=[(9, 16)], called=scored),
    *crossed("LinearCrossEntropyLoss", [{"in_features": 6, "num_classes": 5, **more} for more in
                                        ({}, {"bias": True, "weight": weights(5)}, {"label_smoothing": 0.1}, {"ignore_index": 2})],
             [lambda: normal(8, 6), classes(8, high=5)]),
    *case("LinearCrossEntropyLoss", 6, 5, out_features=(2, 3), bias=True, of=[(4, 6), classes(4, 2, 3, high=5)]),
]  # fmt: skip
