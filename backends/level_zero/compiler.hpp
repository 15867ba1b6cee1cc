// The extension bp.compiler: from SPIR-V or an earlier binary to kernels, through the driver's own compiler.
#pragma once

#include <atomic>
#include <string>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin/launch_limits.hpp>

#include "discovery.hpp"
#include "function.hpp"
#include "level_zero.hpp"

namespace level_zero {

// What is constant about one device's compiler.
class Compiler {
 public:
  explicit Compiler(const FoundDevice& found);

  bp::Status describe(bp_compiler_info& info) const;
  // To be given with every build, until the driver has refused it.
  const char* options() const { return takes_options_ ? options_ : ""; }
  void refuse_options() { takes_options_ = false; }
  const bp::LaunchLimits& limits() const { return limits_; }

 private:
  const FoundDevice& found_;
  const char* options_ = "";
  std::atomic<bool> takes_options_{true};
  std::string identity_;
  bp::LaunchLimits limits_;
};

extern const bp_compiler compiler_functions;

}  // namespace level_zero
