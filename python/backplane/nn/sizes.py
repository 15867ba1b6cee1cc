"""Arguments of layers that are sizes: one number, or one for each dimension."""

import operator

__all__ = ["check_whole", "each"]

_LARGEST = 1 << 40  # beyond it no memory holds a tensor, and products would leave 64 bits


def check_whole(layer, name, value, least):
    """The integer that `value` is. Raises TypeError for others, ValueError for one below `least` or too large."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{layer}: {name} must be an int, not {type(value).__name__}")
    whole = operator.index(value)
    if not least <= whole <= _LARGEST:
        raise ValueError(
            f"{layer}: {name} is {whole}; pass {least} or more"
            if whole < least
            else f"{layer}: {name} is {whole}; pass {_LARGEST} at most"
        )
    return whole


def each(layer, name, value, rank, least):
    """A tuple of one integer for each of `rank` dimensions, of one integer or of a list of so many."""
    if hasattr(value, "__index__"):
        return (check_whole(layer, name, value, least),) * rank
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{layer}: {name} must be an int or a tuple of {rank}, not {type(value).__name__}")
    if len(value) != rank:
        raise ValueError(f"{layer}: {name} has {len(value)} numbers, {tuple(value)}; pass one, or {rank}")
    return tuple(check_whole(layer, name, one, least) for one in value)
