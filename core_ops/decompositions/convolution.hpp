// Convolutions and their gradients, from other operators.
#pragma once

#include <optional>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// Products of the kernels with the windows of the input. The transposed one is a convolution too: of
// its input with zeros between the elements, by the kernels read from their ends.
Tensor convolution_by_windows(const Tensor& input, const Tensor& weight, const Tensor& bias,
                              IntList stride, IntList padding, IntList dilation, bool transposed,
                              IntList output_padding, std::int64_t groups);
Tensor convolution_weight_by_windows(const Tensor& grad_output, const Tensor& input,
                                     IntList weight_size, IntList stride, IntList padding,
                                     IntList dilation, std::int64_t groups);

// The public forms over `rank` dimensions: the input's batch may be absent.
Tensor conv_over(std::int64_t rank, const char* name, const Tensor& input, const Tensor& weight,
                 const Tensor& bias, IntList stride, IntList padding, IntList dilation,
                 std::int64_t groups);
Tensor conv_transpose_over(std::int64_t rank, const char* name, const Tensor& input,
                           const Tensor& weight, const Tensor& bias, IntList stride,
                           IntList padding, IntList output_padding, std::int64_t groups,
                           IntList dilation);

// The weight in panels of 32 results, and the convolution by it.
Tensor weight_in_panels(const Tensor& weight, std::int64_t groups);
Tensor convolution_of_packed(const Tensor& input, const Tensor& weight, const Tensor& bias,
                             const Tensor& other, IntList weight_size, IntList stride,
                             IntList padding, IntList dilation, std::int64_t groups,
                             std::optional<double> min, std::optional<double> max);

}  // namespace bp
