// Other sizes by ONNX's rules, from other operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor resampled(const Tensor& input, IntList size, DimList dim, std::string_view mode,
                 std::string_view coordinates, std::string_view nearest_mode, double cubic_coeff_a,
                 bool exclude_outside, bool antialias, std::optional<double> scale,
                 double roi_start, double roi_end, double extrapolation_value);

}  // namespace bp
