// Lengths and angles, from other operators.
#pragma once

#include <cstdint>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor cosine_by_lengths(const Tensor& x1, const Tensor& x2, std::int64_t dim, double eps);

}  // namespace bp
