// The gradients of pools.
#pragma once

#include <backplane/core_ops/creation.hpp>

namespace bp::autograd {

// What lies at these places of planes, [batch, channels, size...], in the shape of the places.
Tensor elements_of_planes(const Tensor& planes, const Tensor& places);

}  // namespace bp::autograd
