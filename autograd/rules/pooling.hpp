// The gradients of pools.
#pragma once

#include <backplane/core_ops/creation.hpp>

namespace bp::autograd {

// Zeros of this shape, [batch, channels, size...], to which the elements are added at their places in the
// planes.
Tensor scatter_to_planes(const Tensor& elements, const Tensor& places, IntList shape);

}  // namespace bp::autograd
