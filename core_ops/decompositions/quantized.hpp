// Quantized numbers, from other operators. A step is a whole number that stands for (step - zero point) * scale.
#pragma once

#include <cstdint>
#include <optional>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor rounded_to_steps(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                        std::int64_t axis, std::int64_t block_size, std::optional<Dtype> dtype);
Tensor steps_to_numbers(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                        std::int64_t axis, std::int64_t block_size, std::optional<Dtype> dtype);
DynamicQuantizeLinearResult rounded_to_own_steps(const Tensor& input);

Tensor scaled_product(const Tensor& input, const Tensor& mat2, const Tensor& scale_a,
                      const Tensor& scale_b, const Tensor& bias, const Tensor& scale_result,
                      std::optional<Dtype> out_dtype);
Tensor product_of_steps(const Tensor& input, const Tensor& other, const Tensor& input_zero_point,
                        const Tensor& other_zero_point);
Tensor convolution_of_steps(const Tensor& input, const Tensor& weight,
                            const Tensor& input_zero_point, const Tensor& weight_zero_point,
                            IntList stride, IntList padding, IntList dilation, std::int64_t groups);
Tensor product_in_steps(const Tensor& input, const Tensor& input_scale,
                        const Tensor& input_zero_point, const Tensor& other,
                        const Tensor& other_scale, const Tensor& other_zero_point,
                        const Tensor& scale, const Tensor& zero_point);
Tensor convolution_in_steps(const Tensor& input, const Tensor& input_scale,
                            const Tensor& input_zero_point, const Tensor& weight,
                            const Tensor& weight_scale, const Tensor& weight_zero_point,
                            const Tensor& scale, const Tensor& zero_point, const Tensor& bias,
                            IntList stride, IntList padding, IntList dilation, std::int64_t groups);

}  // namespace bp
