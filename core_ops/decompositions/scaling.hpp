// What divides by norms, neighbours and moments, from other operators.
#pragma once

#include <cstdint>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor ones_at_largest(const Tensor& input, std::int64_t dim);
Tensor without_mean_over_deviation(const Tensor& input, DimList dim);
Tensor over_neighbouring_channels(const Tensor& input, std::int64_t size, double alpha, double beta,
                                  double k);
Tensor direction_times_length(const Tensor& v, const Tensor& g, std::int64_t dim);

}  // namespace bp
