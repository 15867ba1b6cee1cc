// The derivatives of transforms, which are transforms in the other direction.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp::autograd {

// Of fft_c2c.
Tensor gradient_of_transform(const Tensor& grad, std::int64_t dim, double scale, bool forward);
// Of fft_r2c of a tensor of this shape.
Tensor gradient_of_half_transform(const Tensor& grad, IntList shape, std::int64_t dim, double scale,
                                  bool forward);
// Of fft_c2r.
Tensor gradient_of_transform_of_half(const Tensor& grad, std::int64_t n, std::int64_t dim,
                                     double scale, bool forward);

}  // namespace bp::autograd
