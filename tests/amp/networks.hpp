// Small networks and values for the tests of mixed precision.
#pragma once

#include <backplane/amp/autocast.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {

using testing::HasSubstr;

// Numbers between -1 and 1, the same on every machine.
inline Tensor waves(IntList shape, double frequency = 0.7, Dtype dtype = f32) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return cast(reshape(sin(arange(0, count, 1, f64) * frequency + frequency), shape), dtype);
}

inline Tensor weight(IntList shape, double frequency = 0.7, Dtype dtype = f32) {
  return set_requires_grad(waves(shape, frequency, dtype));
}

inline Values numbers_in(const Tensor& a) {
  return a.defined() ? values_of(cast(detach(a), f64)) : Values{};
}

}  // namespace bp::test
