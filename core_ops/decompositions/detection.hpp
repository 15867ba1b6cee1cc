// Boxes, the regions that they cut out of images, and windows that follow offsets, from other operators.
#pragma once

#include <cstdint>
#include <optional>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// Boxes: detection.cpp.
Tensor overlaps_of_boxes(const Tensor& boxes1, const Tensor& boxes2);
Tensor best_boxes(const Tensor& boxes, const Tensor& scores, double iou_threshold);
Tensor best_boxes_of_classes(const Tensor& boxes, const Tensor& scores, std::int64_t most,
                             double iou_threshold, std::optional<double> score_threshold,
                             bool center_point_box);

// Regions of images: regions.cpp.
Tensor averaged_regions(const Tensor& input, const Tensor& boxes, IntList output_size,
                        double spatial_scale, std::int64_t sampling_ratio, bool aligned);
Tensor largest_of_regions(const Tensor& input, const Tensor& boxes, IntList output_size,
                          double spatial_scale);

// Windows: deformed.cpp.
Tensor convolved_at_offsets(const Tensor& input, const Tensor& offset, const Tensor& weight,
                            const Tensor& bias, IntList stride, IntList padding, IntList dilation,
                            const Tensor& mask);

}  // namespace bp
