// Sequences of different lengths in one tensor.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <backplane/core_ops/arguments.hpp>

namespace bp::nn {

// The elements of sequences step by step, those of the longest sequence first within a step: what a recurrent layer reads
// without padding. Made by the functions below.
struct PackedSequence {
  Tensor data;         // [sum of lengths, ...]
  Tensor batch_sizes;  // int64 on the host: how many sequences reach each step
  // The order that sorted the sequences by length, and its inverse; undefined if they came sorted.
  Tensor sorted_indices = {};
  Tensor unsorted_indices = {};
};

namespace utils::rnn {

// Of [steps, batch, ...], or [batch, steps, ...] with `batch_first`, and the int64 lengths, each at least 1. Throws bad_argument
// with `enforce_sorted` unless the longest comes first. Waits for the device of the lengths.
BP_API PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                           bool batch_first = false, bool enforce_sorted = true);
// The inverse, with `padding_value` after the ends: the padded sequences in their first order, and
// their lengths. `total_length` makes it that many steps; bad_argument if that is less than the
// longest.
BP_API std::pair<Tensor, Tensor> pad_packed_sequence(
    const PackedSequence& sequence, bool batch_first = false, double padding_value = 0,
    std::optional<std::int64_t> total_length = std::nullopt);
// Sequences [length, ...] as one tensor [longest, batch, ...], or [batch, longest, ...]; `padding_side` is "right" or "left".
BP_API Tensor pad_sequence(TensorList sequences, bool batch_first = false, double padding_value = 0,
                           std::string_view padding_side = "right");
// Back, by their lengths.
BP_API std::vector<Tensor> unpad_sequence(const Tensor& padded_sequences, const Tensor& lengths,
                                          bool batch_first = false);
BP_API PackedSequence pack_sequence(TensorList sequences, bool enforce_sorted = true);
BP_API std::vector<Tensor> unpack_sequence(const PackedSequence& packed_sequences);
// The permutation that undoes this one.
BP_API Tensor invert_permutation(const Tensor& permutation);

}  // namespace utils::rnn
}  // namespace bp::nn
