// What is reduced where indices say, from other operators.
#pragma once

#include <cstdint>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor reduced_by_index(const Tensor& input, std::int64_t dim, const Tensor& index,
                        const Tensor& src, std::string_view reduce, bool include_self);
Tensor slices_reduced_by_index(const Tensor& input, std::int64_t dim, const Tensor& index,
                               const Tensor& source, std::string_view reduce, bool include_self);
Tensor bags_of_rows(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                    std::string_view mode, const Tensor& per_sample_weights,
                    bool include_last_offset, std::int64_t padding_idx);

}  // namespace bp
