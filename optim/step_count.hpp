// A count of steps that several parameters share, on their device: one call counts for all of them.
#pragma once

#include <cstdint>

#include <backplane/tensor/tensor.hpp>

namespace bp::optim {

// A tensor and not a number, since a step that `found_inf` has skipped is not counted, and only the device knows.
struct StepCount {
  Tensor value;           // f32, of one element
  std::size_t users = 0;  // parameters with this count
};

}  // namespace bp::optim
