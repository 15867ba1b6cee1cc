// Running extremes and logarithms of sums, and elements that are chosen by their order.
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

}  // namespace bp
