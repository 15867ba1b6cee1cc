#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/forms.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/nn/packed_sequence.hpp>
#include <backplane/tensor/check.hpp>

#include "recurrent.hpp"

namespace bp::nn {
namespace {

std::vector<std::int64_t> lengths_in(const char* function, const Tensor& lengths) {
  BP_CHECK(lengths.ndim() == 1 && lengths.dtype() == i64,
           "{}: lengths is {} of shape {}; pass one int64 for each sequence", function,
           bp::name(lengths.dtype()), bp::to_string(lengths.shape()));
  return to_vector<std::int64_t>(cpu(lengths));
}

}  // namespace

void check_order(const char* function, const PackedSequence& sequence, std::int64_t batch) {
  for (const Tensor& order : {sequence.sorted_indices, sequence.unsorted_indices})
    BP_CHECK(
        !order.defined() || order.shape() == IntList({batch}),
        "{}: the packed input's indices have shape {} for {} sequences; pass what packing gave",
        function, bp::to_string(order.shape()), batch);
}

namespace utils::rnn {

PackedSequence pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first,
                                    bool enforce_sorted) {
  const std::vector<std::int64_t> all = lengths_in("pack_padded_sequence", lengths);
  const Tensor on_host = tensor(all);
  BP_CHECK(input.ndim() >= 2,
           "pack_padded_sequence: the input has shape {}; pass [steps, batch, ...]",
           bp::to_string(input.shape()));
  const std::int64_t batch = input.size(batch_first ? 0 : 1),
                     steps = input.size(batch_first ? 1 : 0);
  BP_CHECK(static_cast<std::int64_t>(all.size()) == batch && batch > 0,
           "pack_padded_sequence: {} lengths for {} sequences; pass one for each, and at least one "
           "sequence",
           all.size(), batch);
  for (std::size_t i = 0; i < all.size(); ++i)
    BP_CHECK(
        all[i] > 0 && all[i] <= steps,
        "pack_padded_sequence: sequence {} has length {} of {} steps; pass lengths of 1 to these",
        i, all[i], steps);
  PackedSequence packed;
  if (enforce_sorted) {
    const auto rise = std::is_sorted_until(all.begin(), all.end(), std::greater<>());
    BP_CHECK(rise == all.end(),
             "pack_padded_sequence: sequence {} has length {} and the one before it {}; sort them, "
             "the longest first, or pass enforce_sorted=false",
             rise - all.begin(), *rise, *(rise - 1));
  } else {
    packed.sorted_indices = to(sort(on_host, 0, true).indices, input.device());
    packed.unsorted_indices = invert_permutation(packed.sorted_indices);
  }
  const bool is_sorted = !packed.sorted_indices.defined();
  const PackPaddedSequenceResult result = bp::pack_padded_sequence(
      is_sorted ? input : index_select(input, batch_first ? 0 : 1, packed.sorted_indices),
      is_sorted ? on_host : sort(on_host, 0, true).values, batch_first);
  packed.data = result.data;
  packed.batch_sizes = cpu(result.batch_sizes);
  return packed;
}

std::pair<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first,
                                              double padding_value,
                                              std::optional<std::int64_t> total_length) {
  PadPackedSequenceResult result = bp::pad_packed_sequence(
      sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length);
  check_order("pad_packed_sequence", sequence, result.lengths.size(0));
  if (!sequence.unsorted_indices.defined()) return {result.output, result.lengths};
  return {index_select(result.output, batch_first ? 0 : 1, sequence.unsorted_indices),
          index_select(result.lengths, 0, to(sequence.unsorted_indices, result.lengths.device()))};
}

Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value,
                    std::string_view padding_side) {
  BP_CHECK(!sequences.span().empty(), "pad_sequence: no sequence; pass one at least");
  BP_CHECK(padding_side == "right" || padding_side == "left",
           "pad_sequence: the padding side is '{}'; use 'right' or 'left'", padding_side);
  std::int64_t longest = 0;
  for (const Tensor& each : sequences.span()) {
    BP_CHECK(each.ndim() > 0, "pad_sequence: a number is not a sequence; pass [length, ...]");
    longest = std::max(longest, each.size(0));
  }
  std::vector<Tensor> padded;
  for (const Tensor& each : sequences.span()) {
    std::vector<std::int64_t> pad(static_cast<std::size_t>(2 * each.ndim()), 0);
    pad[pad.size() - (padding_side == "right" ? 1 : 2)] = longest - each.size(0);
    padded.push_back(constant_pad_nd(each, pad, padding_value));
  }
  return stack(padded, batch_first ? 0 : 1);
}

std::vector<Tensor> unpad_sequence(const Tensor& padded_sequences, const Tensor& lengths,
                                   bool batch_first) {
  const std::int64_t batch_dim = batch_first ? 0 : 1;
  const std::vector<std::int64_t> all = lengths_in("unpad_sequence", lengths);
  BP_CHECK(static_cast<std::int64_t>(all.size()) == padded_sequences.size(batch_dim),
           "unpad_sequence: {} lengths of {} sequences; pass one for each", all.size(),
           padded_sequences.size(batch_dim));
  std::vector<Tensor> sequences;
  for (std::size_t i = 0; i < all.size(); ++i)
    sequences.push_back(
        narrow(select(padded_sequences, batch_dim, static_cast<std::int64_t>(i)), 0, 0, all[i]));
  return sequences;
}

PackedSequence pack_sequence(TensorList sequences, bool enforce_sorted) {
  const Tensor padded = pad_sequence(sequences);
  std::vector<std::int64_t> lengths;
  for (const Tensor& each : sequences.span()) lengths.push_back(each.size(0));
  return pack_padded_sequence(padded, tensor(lengths), false, enforce_sorted);
}

std::vector<Tensor> unpack_sequence(const PackedSequence& packed_sequences) {
  const auto [padded, lengths] = pad_packed_sequence(packed_sequences, true);
  return unpad_sequence(padded, lengths, true);
}

Tensor invert_permutation(const Tensor& permutation) {
  return argsort(permutation);
}

}  // namespace utils::rnn
}  // namespace bp::nn
