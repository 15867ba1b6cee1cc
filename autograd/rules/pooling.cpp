#include "rules/pooling.hpp"

#include <backplane/core_ops/generated/all.hpp>

namespace bp::autograd {

Tensor elements_of_planes(const Tensor& planes, const Tensor& places) {
  return reshape(gather(flatten(planes, 2), 2, flatten(places, 2)), places.shape());
}

}  // namespace bp::autograd
