// The extension bp.compiler: from source, IL or an earlier binary to kernels, through the driver's own compiler.
#pragma once

#include <string>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin/launch_limits.hpp>

#include "function.hpp"
#include "opencl.hpp"

namespace opencl {

// What is constant about one device's compiler.
class Compiler {
 public:
  Compiler(cl_platform_id platform, cl_device_id device);

  bp::Status describe(bp_compiler_info& info) const;
  // For the languages of its list.
  bool takes(const char* language) const;
  // A program of SPIR-V, not yet built.
  cl_program make_from_il(cl_context context, const void* code, size_t bytes, cl_int* error) const;
  // Given with every build of a source.
  const std::string& options() const { return options_; }
  const bp::LaunchLimits& limits() const { return limits_; }

 private:
  using MakeFromIl = cl_program(CL_API_CALL*)(cl_context, const void*, size_t, cl_int*);

  cl_device_id device_;
  MakeFromIl make_from_il_ = nullptr;
  std::string options_, languages_, identity_;
  bp::LaunchLimits limits_;
};

extern const bp_compiler compiler_functions;

}  // namespace opencl
