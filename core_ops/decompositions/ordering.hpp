// Searching in sorted sequences, sets, histograms and quantiles, from other operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor places_by_halving(const Tensor& sequence, const Tensor& input, bool is_narrow, bool right);
Tensor found_in_sorted(const Tensor& elements, const Tensor& test_elements, bool invert);
Tensor counted_by_value(const Tensor& input, const Tensor& weights, std::int64_t minlength);
Tensor counted_in_parts(const Tensor& input, std::int64_t bins, const Scalar& min,
                        const Scalar& max);
UniqueAllResult different_elements(const Tensor& input);
Tensor quantile_by_sort(const Tensor& input, double q, std::optional<std::int64_t> dim,
                        bool keepdim, std::string_view interpolation);
Tensor quantile_without_nan(const Tensor& input, double q, std::optional<std::int64_t> dim,
                            bool keepdim, std::string_view interpolation);

}  // namespace bp
