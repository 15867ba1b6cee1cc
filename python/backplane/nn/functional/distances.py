"""Lengths and distances of vectors."""

from ... import _core

_rows = _core.operators

__all__ = ["cosine_similarity", "normalize", "one_hot", "pairwise_distance", "pdist"]

cosine_similarity, pairwise_distance, pdist, one_hot = (
    _rows[name] for name in ("cosine_similarity", "pairwise_distance", "pdist", "one_hot")
)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """x divided by its norm along `dim`, or by eps where the norm is less."""
    if out is not None:
        return _rows["normalize"](input, p, dim, eps, out=out)
    return _rows["normalize"](input, p, dim, eps)
