// Images in other sizes and at other places, and windows as columns, from other operators.
#pragma once

#include <cstdint>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor resized(const Tensor& input, IntList size, std::string_view mode, bool align_corners);
Tensor mapped_places(const Tensor& theta, IntList size, bool align_corners);
Tensor sampled_at(const Tensor& input, const Tensor& grid, std::string_view mode,
                  std::string_view padding_mode, bool align_corners);
Tensor windows_as_columns(const Tensor& input, IntList kernel_size, IntList dilation,
                          IntList padding, IntList stride);
Tensor columns_as_windows(const Tensor& input, IntList output_size, IntList kernel_size,
                          IntList dilation, IntList padding, IntList stride);

}  // namespace bp
