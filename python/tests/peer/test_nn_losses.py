"""Losses beside PyTorch's."""

import pytest

torch = pytest.importorskip("torch")
from test_nn_layers import case, check_layer, classes, positive, r, signs  # noqa: E402

LOSSES = []
for reduction in ("mean", "sum", "none"):
    k = {"reduction": reduction}
    LOSSES += [
        case("MSELoss", **k, inputs=lambda: [r(3, 4), r(3, 4)]),
        case("L1Loss", **k, inputs=lambda: [r(3, 4), r(3, 4)]),
        case("SmoothL1Loss", **k, beta=0.5, inputs=lambda: [r(3, 4), r(3, 4)]),
        case("SmoothL1Loss", **k, beta=0.0, inputs=lambda: [r(3, 4), r(3, 4)]),
        case("HuberLoss", **k, delta=0.7, inputs=lambda: [r(3, 4), r(3, 4)]),
        case("CrossEntropyLoss", **k, inputs=lambda: [r(3, 4), classes(4, 3)]),
        case(
            "CrossEntropyLoss",
            positive(4),
            **k,
            label_smoothing=0.1,
            ignore_index=1,
            inputs=lambda: [r(3, 4, 5), classes(4, 3, 5)],
        ),
        case("CrossEntropyLoss", positive(4), **k, inputs=lambda: [r(3, 4), r(3, 4).softmax(1)]),
        case("CrossEntropyLoss", **k, inputs=lambda: [r(4), classes(4)]),
        case("NLLLoss", positive(4), **k, inputs=lambda: [r(3, 4).log_softmax(1), classes(4, 3)]),
        case("NLLLoss", ignore_index=2, **k, inputs=lambda: [r(3, 4, 2, 2).log_softmax(1), classes(4, 3, 2, 2)]),
        case("BCELoss", positive(4), **k, inputs=lambda: [positive(3, 4), positive(3, 4)]),
        case(
            "BCEWithLogitsLoss", positive(3, 4), **k, pos_weight=positive(4), inputs=lambda: [r(3, 4), positive(3, 4)]
        ),
        case("KLDivLoss", **k, inputs=lambda: [r(3, 4).log_softmax(1), positive(3, 4)]),
        case("KLDivLoss", **k, log_target=True, inputs=lambda: [r(3, 4).log_softmax(1), r(3, 4)]),
        case("PoissonNLLLoss", **k, full=True, inputs=lambda: [r(3, 4), positive(3, 4) * 4]),
        case("PoissonNLLLoss", False, **k, inputs=lambda: [positive(3, 4), positive(3, 4)]),
        case("GaussianNLLLoss", **k, full=True, inputs=lambda: [r(3, 4), r(3, 4), positive(3, 4)]),
        case("GaussianNLLLoss", **k, eps=0.3, inputs=lambda: [r(3, 4), r(3, 4), positive(3)]),
        case("HingeEmbeddingLoss", 0.5, **k, inputs=lambda: [r(3, 4), signs(3, 4)]),
        case("MarginRankingLoss", 0.5, **k, inputs=lambda: [r(3), r(3), signs(3)]),
        case("SoftMarginLoss", **k, inputs=lambda: [r(3, 4), signs(3, 4)]),
        case("MultiMarginLoss", **k, inputs=lambda: [r(3, 4), classes(4, 3)]),
        case("MultiMarginLoss", 2, 0.5, positive(4), **k, inputs=lambda: [r(3, 4), classes(4, 3)]),
        case("MultiLabelMarginLoss", **k, inputs=lambda: [r(2, 4), torch.tensor([[1, 3, -1, 0], [0, -1, 1, 2]])]),
        case("MultiLabelMarginLoss", **k, inputs=lambda: [r(4), torch.tensor([2, -1, 1, 0])]),
        case("MultiLabelSoftMarginLoss", positive(4), **k, inputs=lambda: [r(3, 4), positive(3, 4).round()]),
        case("CosineEmbeddingLoss", 0.2, **k, inputs=lambda: [r(3, 4), r(3, 4), signs(3)]),
        case("TripletMarginLoss", **k, inputs=lambda: [r(3, 4), r(3, 4), r(3, 4)]),
        case("TripletMarginLoss", 0.5, 1.0, swap=True, **k, inputs=lambda: [r(3, 4), r(3, 4), r(3, 4)]),
        case("TripletMarginWithDistanceLoss", **k, swap=True, margin=2.0, inputs=lambda: [r(3, 4), r(3, 4), r(3, 4)]),
        case("LinearCrossEntropyLoss", 4, 3, bias=True, **k, inputs=lambda: [r(5, 4), classes(3, 5)]),
    ]
LOSSES += [
    case("KLDivLoss", reduction="batchmean", inputs=lambda: [r(3, 4).log_softmax(1), positive(3, 4)]),
    case(
        "LinearCrossEntropyLoss",
        4,
        3,
        out_features=(2,),
        label_smoothing=0.1,
        inputs=lambda: [r(5, 4), classes(3, 5, 2)],
    ),
    case("AdaptiveLogSoftmaxWithLoss", 8, 12, [3, 6], 2.0, inputs=lambda: [r(5, 8), torch.tensor([0, 4, 11, 2, 7])]),
    case("AdaptiveLogSoftmaxWithLoss", 8, 12, [5], head_bias=True, inputs=lambda: [r(8), torch.tensor(7)]),
]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name, args, keywords, inputs", LOSSES)
def test_loss(name, args, keywords, inputs, training):
    check_layer(name, args, keywords, inputs, training)
