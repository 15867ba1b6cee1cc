// A count of steps that several parameters share, on their device: one call counts for all of them.
#pragma once

#include <cstdint>

#include <backplane/optim/optimizer.hpp>

namespace bp::optim {

// A tensor and not a number, since a step that `found_inf` has skipped is not counted, and only the device knows.
struct StepCount {
  Tensor value;           // f32, of one element
  std::size_t users = 0;  // parameters with this count
};

// As before advance_counts, for an update that has failed.
void take_back_counts(const Batch& batch, const GradScaling& scaling);

}  // namespace bp::optim
