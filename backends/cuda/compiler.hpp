// The extension bp.compiler: from CUDA C++ or an earlier binary to kernels.
#pragma once

#include <string>

#include <backplane/extensions/compiler.h>

#include "discovery.hpp"

namespace cuda_backend {

// What a card allows to one launch; constant.
struct LaunchLimits {
  uint64_t items[3];  // of a group
  uint64_t groups[3];
  uint64_t all_items;  // of a group
  uint64_t local_memory;
};

// What is constant about one card's compiler.
class Compiler {
 public:
  explicit Compiler(const FoundDevice& found);

  bp::Status describe(bp_compiler_info& info) const;
  const LaunchLimits& limits() const { return limits_; }

 private:
  CUdevice id_;
  std::string identity_;
  LaunchLimits limits_;
};

extern const bp_compiler compiler_functions;

}  // namespace cuda_backend
