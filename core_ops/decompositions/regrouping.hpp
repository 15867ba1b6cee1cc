// Margins, blocks of channels, and sequences of several lengths, from other operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor middle_of_size(const Tensor& input, IntList size, DimList dim);
Tensor channels_to_blocks(const Tensor& input, std::int64_t blocksize, std::string_view mode);
Tensor blocks_to_channels(const Tensor& input, std::int64_t blocksize);
Tensor turned_up_to_length(const Tensor& input, const Tensor& sequence_lens,
                           std::int64_t batch_axis, std::int64_t time_axis);
PackPaddedSequenceResult packed_by_steps(const Tensor& input, const Tensor& lengths,
                                         bool batch_first);
PadPackedSequenceResult padded_by_steps(const Tensor& data, const Tensor& batch_sizes,
                                        bool batch_first, double padding_value,
                                        std::optional<std::int64_t> total_length);

}  // namespace bp
