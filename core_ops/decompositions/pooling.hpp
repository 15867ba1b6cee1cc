// Pools, from other operators.
#pragma once

#include <optional>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// By tables of the coordinates that each window takes along each dimension. Those outside repeat one
// inside, which changes no maximum.
MaxPoolWithIndicesResult max_pool_by_gather(const Tensor& input, IntList kernel_size,
                                            IntList stride, IntList padding, IntList dilation,
                                            bool ceil_mode);
AdaptiveMaxPoolWithIndicesResult adaptive_max_pool_by_gather(const Tensor& input,
                                                             IntList output_size);

Tensor max_pool_backward_by_scatter(const Tensor& grad_output, const Tensor& indices, IntList size);

Tensor avg_pool_by_sums(const Tensor& input, IntList kernel_size, IntList stride, IntList padding,
                        bool ceil_mode, bool count_include_pad,
                        std::optional<std::int64_t> divisor_override);
Tensor avg_pool_backward_by_sums(const Tensor& grad_output, IntList size, IntList kernel_size,
                                 IntList stride, IntList padding, bool ceil_mode,
                                 bool count_include_pad,
                                 std::optional<std::int64_t> divisor_override);

// The public forms over `rank` dimensions: the input's batch may be absent.
Tensor max_pool_over(std::int64_t rank, const char* name, const Tensor& input, IntList kernel_size,
                     IntList stride, IntList padding, IntList dilation, bool ceil_mode);
Tensor avg_pool_over(std::int64_t rank, const char* name, const Tensor& input, IntList kernel_size,
                     IntList stride, IntList padding, bool ceil_mode, bool count_include_pad,
                     std::optional<std::int64_t> divisor_override);
Tensor adaptive_max_pool_over(std::int64_t rank, const char* name, const Tensor& input,
                              IntList output_size);
Tensor adaptive_avg_pool_over(std::int64_t rank, const char* name, const Tensor& input,
                              IntList output_size);

}  // namespace bp
