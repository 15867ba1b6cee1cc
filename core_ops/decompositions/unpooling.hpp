// Pools of powers and pools undone, from other operators.
#pragma once

#include <cstdint>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// Over `rank` dimensions: the input's batch may be absent.
Tensor power_pool_over(std::int64_t rank, const char* name, const Tensor& input, double norm_type,
                       IntList kernel_size, IntList stride, bool ceil_mode);
Tensor unpooled_over(std::int64_t rank, const char* name, const Tensor& input,
                     const Tensor& indices, IntList kernel_size, IntList stride, IntList padding,
                     DimList output_size);

}  // namespace bp
