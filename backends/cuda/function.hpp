// One kernel of a module, and its launch.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <backplane/extensions/compiler.h>

#include "compiler.hpp"
#include "cuda.hpp"
#include "queue.hpp"

namespace cuda_backend {

// The same text for as long as the process lives: work outlives what was launched, and messages name it.
const char* lasting_text(std::string_view text);

class Function {
 public:
  static constexpr size_t most_arguments = 128;

  // The module's context is current. Throws bp::Failure if the kernel needs more than the card has.
  Function(CUfunction function, const char* name, const bp::LaunchLimits& limits);

  // Threads: any.
  bp::Status launch(const bp_launch& launch, Device& device, Queue& queue) const;

 private:
  bp::Status refuse_arguments(const bp_launch& launch) const;
  bp::Status explain(int error, const bp_launch& launch, const Queue& queue) const;

  CUfunction function_;
  const char* name_;
  bp::LaunchLimits limits_;
  uint32_t num_arguments_ = 0;
  uint64_t own_local_memory_ = 0;
  std::array<uint32_t, most_arguments> bytes_{};  // of each parameter
};

}  // namespace cuda_backend
