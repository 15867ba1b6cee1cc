// Running extremes and logarithms of sums, places in sorted lines, and what is reduced by index.
#pragma once

#include <cstdint>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// Elements and where they stand: the results of several rows.
struct PlacedElements {
  Tensor values, indices;
  operator CummaxResult() && { return {std::move(values), std::move(indices)}; }
  operator CumminResult() && { return {std::move(values), std::move(indices)}; }
  operator ModeResult() && { return {std::move(values), std::move(indices)}; }
  operator KthvalueResult() && { return {std::move(values), std::move(indices)}; }
};
PlacedElements running_extreme(const Tensor& input, std::int64_t dim, bool is_largest);
Tensor running_logsumexp(const Tensor& input, std::int64_t dim);
PlacedElements most_frequent(const Tensor& input, std::int64_t dim, bool keepdim);
PlacedElements element_in_order(const Tensor& input, std::int64_t k, std::int64_t dim,
                                bool keepdim);
Tensor quantile_without_nan(const Tensor& input, double q, std::optional<std::int64_t> dim,
                            bool keepdim, std::string_view interpolation);

Tensor reduced_by_index(const Tensor& input, std::int64_t dim, const Tensor& index,
                        const Tensor& src, std::string_view reduce, bool include_self);
Tensor slices_reduced_by_index(const Tensor& input, std::int64_t dim, const Tensor& index,
                               const Tensor& source, std::string_view reduce, bool include_self);
Tensor bags_of_rows(const Tensor& input, const Tensor& weight, const Tensor& offsets,
                    std::string_view mode, const Tensor& per_sample_weights,
                    bool include_last_offset, std::int64_t padding_idx);
Tensor distances_of_pairs(const Tensor& input, double p);

}  // namespace bp
