// Kernels: arguments go to OpenCL as they are set, so that a launch is one call.
#pragma once

#include <string>
#include <vector>

#include "module.hpp"

namespace over_opencl {

class Kernel : public Tagged<Kernel> {
 public:
  Kernel(Module& module, const char* name);  // throws Failure

  void set_argument(uint32_t index, size_t bytes, const void* value);
  void set_group_size(const uint32_t (&size)[3]);

  Device& device() const { return device_; }
  cl_kernel get() const { return kernel_.get(); }
  const KernelInterface& interface() const { return interface_; }
  const size_t* group_size() const { return group_size_; }
  size_t max_group_size() const { return max_group_size_; }
  // With the arguments of now, for a command list that is executed later: OpenCL's kernels have one set of arguments.
  OwnedKernel copy() const;

  ze_kernel_indirect_access_flags_t indirect_access = 0;

 private:
  struct Argument {
    bool is_set = false, is_null = false;
    uint64_t generation = 0;  // of the allocations, for an address
    std::vector<unsigned char> bytes;
  };
  void check_address(const void* value) const;
  cl_int give(cl_kernel to, uint32_t index) const;

  Device& device_;
  const KernelInterface interface_;
  OwnedProgram program_;
  OwnedKernel kernel_;
  std::vector<Argument> arguments_;
  size_t group_size_[3] = {1, 1, 1};
  size_t max_group_size_ = 0;
};

}  // namespace over_opencl
