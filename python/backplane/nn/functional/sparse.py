"""Rows of tables by their numbers."""

from ... import _core
from ...autograd import no_grad
from ..arguments import of_tensors

_rows = _core.operators
_embedding = _rows["embedding"]

__all__ = ["embedding", "embedding_bag"]


@of_tensors
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of the weight, [rows, features], that the input's integers name: [..., features].

    Args:
        padding_idx: a row that gets no gradient.
        max_norm: rows of a greater norm are scaled to it, in the weight itself.
        scale_grad_by_freq: divide gradients by how often the input names a row.
        sparse: not supported: gradients are dense.
    """
    _refuse_sparse("embedding", sparse)
    if padding_idx is not None:
        padding_idx = checked_padding("embedding", padding_idx, weight.shape[0])
    if max_norm is not None or scale_grad_by_freq:
        weight = _prepared(weight, input, max_norm, norm_type, scale_grad_by_freq)
    return _embedding(weight, input, -1 if padding_idx is None else padding_idx)


@of_tensors
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The sum, mean or maximum of the rows in each bag.

    Bags are the rows of an input of two dimensions, or parts of one of one dimension that begin at `offsets`.

    Args:
        per_sample_weights: factors of the rows, of the input's shape, with mode "sum".
        padding_idx: a row that does not count. Others as in `embedding`.
    """
    _refuse_sparse("embedding_bag", sparse)
    if mode not in ("mean", "sum", "max"):
        raise ValueError(f"embedding_bag: mode is {mode!r}; pass 'mean', 'sum' or 'max'")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("embedding_bag: scale_grad_by_freq with mode 'max'; use 'mean' or 'sum'")
    if padding_idx is not None:
        padding_idx = checked_padding("embedding_bag", padding_idx, weight.shape[0])
    if max_norm is not None or scale_grad_by_freq:
        weight = _prepared(weight, input, max_norm, norm_type, scale_grad_by_freq)
    return _rows["embedding_bag"](
        input,
        weight,
        offsets,
        mode=mode,
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
        padding_idx=-1 if padding_idx is None else padding_idx,
    )


def checked_padding(layer, index, num_embeddings):
    """The row from 0 on. Raises ValueError where there is none."""
    if not -num_embeddings <= index < num_embeddings:
        raise ValueError(f"{layer}: padding_idx {index} is not among {num_embeddings} rows; take a number below")
    return index % num_embeddings


def _refuse_sparse(layer, sparse):
    if sparse:
        raise ValueError(f"{layer}: sparse gradients are not supported; leave out sparse=True")


def _prepared(weight, input, max_norm, norm_type, scale_grad_by_freq):
    if max_norm is not None:
        _limit_norms(weight, input, max_norm, norm_type)
    return _scaled_by_frequency(weight, input) if scale_grad_by_freq else weight


def _limit_norms(weight, indices, max_norm, norm_type):
    """Scales the rows that `indices` names and whose norm is above max_norm, in place."""
    with no_grad():
        rows = _rows["unique_all"](indices.flatten())[0]
        values = _rows["index_select"](weight.detach(), 0, rows)
        norms = _rows["norm"](values, norm_type, [1], True)
        factors = _rows["where"](norms > max_norm, max_norm / (norms + 1e-7), _rows["ones_like"](norms))
        weight[rows] = values * factors


def _scaled_by_frequency(weight, indices):
    """The weight, through which gradients go divided by how often `indices` names each row."""
    alias = weight.view(weight.shape)
    if not alias.requires_grad:
        return alias
    counts = _rows["bincount"](indices.flatten(), None, weight.shape[0])
    divisors = _rows["clamp_min"](counts, 1).to(weight.dtype).unsqueeze(1)
    alias.register_hook(lambda gradient: gradient / divisors)
    return alias
