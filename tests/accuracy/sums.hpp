// How far long sums are from the exact ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp::accuracy {

struct SumError {
  std::string what, values;  // "sum", "cancelling"
  Dtype dtype;
  std::int64_t size;
  double units;  // of u * the sum of absolute terms, u being half a unit in the last place of 1
};

std::vector<SumError> sum_errors(Device device, std::int64_t largest);

}  // namespace bp::accuracy
