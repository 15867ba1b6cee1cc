"""Sequences of several lengths: padded, and packed step by step."""

import collections

from ... import _core
from ..._core import Tensor

_rows = _core.operators

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

_Packed = collections.namedtuple("PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(_Packed):
    """Sequences, the longest first, as all their first elements, then all their second ones, and so on.

    Args:
        data: [elements, ...]. batch_sizes: int64, how many sequences reach each step.
        sorted_indices, unsorted_indices: which sequence stands where, and back; None if they came sorted.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            raise ValueError("PackedSequence: batch_sizes is missing; use pack_padded_sequence")
        if unsorted_indices is None and sorted_indices is not None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **keywords):
        """Like Tensor.to, of the data; the indices go to its device."""
        data = self.data.to(*args, **keywords)
        order, back = (
            None if each is None else each.to(data.device) for each in (self.sorted_indices, self.unsorted_indices)
        )
        return type(self)(data, self.batch_sizes, order, back)

    def cpu(self):
        """On the host."""
        return self.to("cpu")

    def float(self):
        """As float32."""
        return self.to(_core.float32)

    def double(self):
        """As float64."""
        return self.to(_core.float64)


def _lengths(function, lengths):
    given = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    if isinstance(lengths, Tensor) and (lengths.ndim != 1 or lengths.is_floating_point()):
        raise ValueError(
            f"{function}: lengths is {lengths.dtype.name} of shape {list(lengths.shape)}; pass one int for each "
            "sequence"
        )
    if not all(isinstance(length, int) for length in given):
        raise TypeError(f"{function}: lengths must be ints")
    return given


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs [steps, batch, ...], or [batch, steps, ...], of which each sequence is so long as `lengths` says.

    Args:
        lengths: int64 [batch] on the host, or a list. enforce_sorted: they fall; else the sequences are sorted here.

    Raises:
        ValueError: lengths do not fit the input, are below 1, or rise where they must not.
    """
    all_lengths = _lengths("pack_padded_sequence", lengths)
    if input.ndim < 2:
        raise ValueError(f"pack_padded_sequence: the input has shape {list(input.shape)}; pass [steps, batch, ...]")
    batch, steps = input.shape[0 if batch_first else 1], input.shape[1 if batch_first else 0]
    if len(all_lengths) != batch or not batch:
        raise ValueError(
            f"pack_padded_sequence: {len(all_lengths)} lengths for {batch} sequences; pass one for each, and at least one sequence"
        )
    for i, length in enumerate(all_lengths):
        if not 0 < length <= steps:
            raise ValueError(
                f"pack_padded_sequence: sequence {i} has length {length} of {steps} steps; pass lengths of 1 to these"
            )
        if enforce_sorted and i and length > all_lengths[i - 1]:
            raise ValueError(
                f"pack_padded_sequence: sequence {i} has length {length} and the one before it "
                f"{all_lengths[i - 1]}; sort "
                "them, the longest first, or pass enforce_sorted=False"
            )
    order = None
    if not enforce_sorted:
        places = sorted(range(batch), key=lambda i: -all_lengths[i])
        order = _core.tensor(places, dtype=_core.int64).to(input.device)
        input, all_lengths = input.index_select(0 if batch_first else 1, order), [all_lengths[i] for i in places]
    data, batch_sizes = _rows["pack_padded_sequence"](input, _core.tensor(all_lengths, dtype=_core.int64), batch_first)
    return PackedSequence(data, batch_sizes.cpu(), order)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Packed sequences as one tensor, [steps, batch, ...] or [batch, steps, ...], and their lengths."""
    if not isinstance(sequence, PackedSequence):
        raise TypeError(f"pad_packed_sequence: give a PackedSequence, not {type(sequence).__name__}")
    data, batch_sizes, _, back = sequence
    output, lengths = _rows["pad_packed_sequence"](data, batch_sizes, batch_first, padding_value, total_length)
    if back is None:
        return output, lengths
    return output.index_select(0 if batch_first else 1, back), lengths.index_select(0, back.to(lengths.device))


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences [length, ...] as one tensor, [longest, batch, ...] or [batch, longest, ...]."""
    sequences = list(sequences)
    if not sequences:
        raise ValueError("pad_sequence: no sequence; pass at least one")
    if padding_side not in ("right", "left"):
        raise ValueError(f"pad_sequence: the padding side is {padding_side!r}; use 'right' or 'left'")
    if any(each.ndim == 0 for each in sequences):
        raise ValueError("pad_sequence: a number is not a sequence; pass [length, ...]")
    longest = max(each.shape[0] for each in sequences)
    padded = []
    for each in sequences:
        more = longest - each.shape[0]
        sides = [0] * (2 * each.ndim - 2) + ([0, more] if padding_side == "right" else [more, 0])
        padded.append(_rows["constant_pad_nd"](each, sides, padding_value))
    return _rows["stack"](padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences [length, ...] of one tensor."""
    all_lengths, dim = _lengths("unpad_sequence", lengths), 0 if batch_first else 1
    if len(all_lengths) != padded_sequences.shape[dim]:
        raise ValueError(
            f"unpad_sequence: {len(all_lengths)} lengths of {padded_sequences.shape[dim]} sequences; pass one for each"
        )
    return [padded_sequences.select(dim, i).narrow(0, 0, length) for i, length in enumerate(all_lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs sequences [length, ...]."""
    sequences = list(sequences)
    return pack_padded_sequence(
        pad_sequence(sequences), [each.shape[0] for each in sequences], enforce_sorted=enforce_sorted
    )


def unpack_sequence(packed_sequences):
    """The sequences that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def invert_permutation(permutation):
    """The permutation that undoes this one."""
    return None if permutation is None else _rows["sort"](permutation, 0)[1]
