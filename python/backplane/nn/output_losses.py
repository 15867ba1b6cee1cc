"""Losses that hold the layers before them: classifiers of many classes."""

import math

from .. import _core
from . import functional as F
from .containers import ModuleList, Sequential
from .functional.losses import check_reduction
from .linear import Linear
from .module import Module
from .sizes import check_whole

_rows = _core.operators

__all__ = ["AdaptiveLogSoftmaxWithLoss", "LinearCrossEntropyLoss"]


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over many classes, of which frequent ones come first (Grave et al., 2017).

    Those up to the first cutoff are scored at once, those up to each further one only for targets among them, by fewer
    features.

    Args:
        cutoffs: numbers that rise from 1 to n_classes - 1.
        div_value: by how much each cluster's features are fewer than those of the one before.

    Attributes:
        head: a Linear of [in_features] to the first classes and the clusters. tail: for each cluster, two Linear
        without bias.
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        layer = "AdaptiveLogSoftmaxWithLoss"
        self.in_features = check_whole(layer, "in_features", in_features, 1)
        self.n_classes = check_whole(layer, "n_classes", n_classes, 1)
        cutoffs = [check_whole(layer, "a cutoff", cutoff, 1) for cutoff in cutoffs]
        if not cutoffs or sorted(set(cutoffs)) != cutoffs or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                f"{layer}: cutoffs {cutoffs} for {n_classes} classes; pass numbers that rise from 1 to {n_classes - 1}"
            )
        if not div_value > 0:
            raise ValueError(f"{layer}: div_value is {div_value}; pass a number above 0")
        self.cutoffs, self.div_value, self.head_bias = [*cutoffs, n_classes], div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        made = dict(device=device, dtype=dtype)
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            features, size = int(in_features // div_value ** (i + 1)), self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, features, bias=False, **made), Linear(features, size, bias=False, **made)
                )
            )

    def reset_parameters(self):
        """Draws new weights."""
        for layer in [self.head, *(one for cluster in self.tail for one in cluster)]:
            layer.reset_parameters()

    def forward(self, input, target):
        """[N, in_features] and classes [N] to the logarithm of each target's probability, [N], and the mean loss; or
        without N.

        Waits for the device, to find who is in which cluster.
        """
        if target.ndim > 1 or input.ndim != target.ndim + 1 or target.ndim and input.shape[0] != target.shape[0]:
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: the input is {list(input.shape)} and the target "
                f"{list(target.shape)}; pass "
                "[N, features] and [N], or [features] and one class"
            )
        if target.ndim == 0:
            output, loss = self.forward(input.unsqueeze(0), target.unsqueeze(0))
            return output.squeeze(0), loss
        if not ((target >= 0) & (target < self.n_classes)).all().item():
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: a target is not a class; pass numbers from 0 to {self.n_classes - 1}"
            )
        zero = _rows["zeros_like"](target)
        places = _rows["where"](target < self.cutoffs[0], target, zero)  # in the head's result
        output = _rows["zeros"]([input.shape[0]], dtype=input.dtype, device=input.device)
        for i, cluster in enumerate(self.tail):
            is_inside = (target >= self.cutoffs[i]) & (target < self.cutoffs[i + 1])
            rows = _rows["nonzero"](is_inside).squeeze(1)
            if rows.numel() == 0:
                continue
            places = _rows["where"](is_inside, zero + (self.shortlist_size + i), places)
            scores = F.log_softmax(cluster(input.index_select(0, rows)), 1)
            chosen = (target.index_select(0, rows) - self.cutoffs[i]).unsqueeze(1)
            output = output.scatter_add(0, rows, scores.gather(1, chosen).squeeze(1))
        head = F.log_softmax(self.head(input), 1)
        output = output + head.gather(1, places.unsqueeze(1)).squeeze(1)
        return _Result(output, -output.mean())

    def log_prob(self, input):
        """[N, n_classes], the logarithms of all probabilities."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head.narrow(1, 0, self.shortlist_size)]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), 1) + head.narrow(1, self.shortlist_size + i, 1))
        return _rows["cat"](parts, 1)

    def predict(self, input):
        """[N], the most likely class."""
        return _rows["argmax"](self.log_prob(input), 1)


class _Result(tuple):
    """The logarithm of each target's probability, and the loss."""

    def __new__(cls, output, loss):
        return super().__new__(cls, (output, loss))

    output = property(lambda self: self[0])
    loss = property(lambda self: self[1])


class LinearCrossEntropyLoss(Module):
    """CrossEntropyLoss of a Linear: [N, in_features] or [in_features], and classes [N, *out_features] or their
    probabilities.

    Args:
        out_features: dimensions of the target beside the batch. weight: of each class, [num_classes].

    Attributes:
        linear: a Linear of in_features to num_classes times the product of out_features.
    """

    def __init__(
        self,
        in_features,
        num_classes,
        *,
        out_features=(),
        bias=False,
        device=None,
        dtype=None,
        reduction="mean",
        weight=None,
        ignore_index=None,
        label_smoothing=0.0,
    ):
        super().__init__()
        layer = "LinearCrossEntropyLoss"
        check_reduction(layer, reduction)
        if not 0 <= label_smoothing <= 1:
            raise ValueError(f"{layer}: label_smoothing is {label_smoothing}; pass a number from 0 to 1")
        self.in_features, self.num_classes = in_features, check_whole(layer, "num_classes", num_classes, 0)
        self.out_features = tuple(check_whole(layer, "out_features", size, 0) for size in out_features)
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ValueError(
                f"{layer}: weight is {list(weight.shape)} for {num_classes} classes; pass one number for each"
            )
        self.register_buffer("weight", weight)
        self.linear = Linear(
            in_features, num_classes * math.prod(self.out_features), bias=bias, device=device, dtype=dtype
        )
        self.reduction, self.ignore_index, self.label_smoothing = reduction, ignore_index, label_smoothing

    def forward(self, input, target):
        if input.ndim not in (1, 2):
            raise ValueError(
                f"LinearCrossEntropyLoss: the input is {list(input.shape)}; pass [N, features] or [features]"
            )
        scores = self.linear(input).reshape([*input.shape[:-1], self.num_classes, *self.out_features])
        return F.cross_entropy(
            scores,
            target,
            self.weight,
            ignore_index=-100 if self.ignore_index is None else self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options=None"
        )
