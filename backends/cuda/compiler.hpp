// The extension bp.compiler: from CUDA C++ or an earlier binary to kernels.
#pragma once

#include <string>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin/launch_limits.hpp>

#include "discovery.hpp"

namespace cuda_backend {

// What is constant about one card's compiler.
class Compiler {
 public:
  explicit Compiler(const FoundDevice& found);

  bp::Status describe(bp_compiler_info& info) const;
  const bp::LaunchLimits& limits() const { return limits_; }

 private:
  CUdevice id_;
  std::string identity_;
  bp::LaunchLimits limits_;
};

extern const bp_compiler compiler_functions;

}  // namespace cuda_backend
