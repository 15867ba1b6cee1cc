// Finds out where a NaN, or an error in backward, comes from.
#pragma once

#include <backplane/tensor/api.hpp>

namespace bp::autograd {

// While one lives, this thread's recorded calls remember how they were called, and its backward names
// the forward call in errors and throws bad_argument where a derivative holds NaN. It waits for the
// device after each call: for debugging only.
class BP_API DetectAnomaly {
 public:
  DetectAnomaly();
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;
};

}  // namespace bp::autograd
