// Moved dimensions, repetitions and diagonals, from other operators.
#pragma once

#include <cstdint>
#include <optional>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor moved_dims(const Tensor& input, IntList source, IntList destination);
Tensor split_dim(const Tensor& input, std::int64_t dim, IntList sizes);
Tensor tiled(const Tensor& input, IntList dims);
Tensor each_repeated(const Tensor& input, std::int64_t repeats, std::optional<std::int64_t> dim);
Tensor each_repeated_by(const Tensor& input, const Tensor& repeats,
                        std::optional<std::int64_t> dim);
Tensor diagonal_of_or_with(const Tensor& input, std::int64_t diagonal);
Tensor matrices_with_diagonal(const Tensor& input, std::int64_t offset, std::int64_t dim1,
                              std::int64_t dim2);
Tensor turned(const Tensor& input, std::int64_t k, IntList dims);
Tensor channels_to_space(const Tensor& input, std::int64_t factor);
Tensor space_to_channels(const Tensor& input, std::int64_t factor);

}  // namespace bp
