#include "rules/pooling.hpp"

#include <backplane/core_ops/generated/all.hpp>

namespace bp::autograd {

Tensor scatter_to_planes(const Tensor& elements, const Tensor& places, IntList shape) {
  std::int64_t plane = 1, each = 1;
  for (std::size_t dim = 2; dim < shape.size(); ++dim) {
    plane *= shape[dim];
    each *= elements.shape()[dim];
  }
  const Tensor planes = zeros({shape[0], shape[1], plane}, elements.dtype(), elements.device());
  const Dims flat{shape[0], shape[1], each};
  return reshape(scatter_add(planes, 2, reshape(places, flat), reshape(elements, flat)), shape);
}

}  // namespace bp::autograd
