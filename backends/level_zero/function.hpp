// One kernel of a module, and its launch.
#pragma once

#include <memory>
#include <string>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin/kernel_instances.hpp>
#include <backplane/plugin/launch_limits.hpp>

#include "level_zero.hpp"
#include "memory.hpp"
#include "queue.hpp"

namespace level_zero {

// A kernel object that is destroyed with this.
class KernelHandle {
 public:
  KernelHandle() = default;
  KernelHandle(KernelHandle&& other) noexcept : kernel_(std::exchange(other.kernel_, nullptr)) {}
  KernelHandle& operator=(KernelHandle&& other) noexcept {
    std::swap(kernel_, other.kernel_);
    return *this;
  }
  ~KernelHandle() {
    if (kernel_ != nullptr) loader.zeKernelDestroy(kernel_);
  }
  static ze_result_t make(ze_module_handle_t module, const char* name, KernelHandle& made);
  ze_kernel_handle_t get() const { return kernel_; }

 private:
  ze_kernel_handle_t kernel_ = nullptr;
};

class Function {
 public:
  // `kernel` is the first instance; others are made from `module`, which outlives this. Throws bp::Failure if the
  // kernel needs more than the device has.
  Function(ze_module_handle_t module, KernelHandle kernel, const char* name,
           const bp::LaunchLimits& limits);

  // Threads: any.
  bp::Status launch(const bp_launch& launch, Device& device, Queue& queue);

 private:
  // Level Zero keeps the size of a group in the kernel object as well, until the launch is appended.
  struct Instance : bp::KernelInstance<KernelHandle> {
    using KernelInstance::KernelInstance;
    uint32_t group[3] = {0, 0, 0};
  };

  std::unique_ptr<Instance> make() const;
  bp::Status set_group(Instance& instance, const bp_launch& launch, Device& device) const;
  bp::Status set_arguments(Instance& instance, const bp_launch& launch, Memory& memory) const;

  ze_module_handle_t module_;
  std::string name_;
  bp::LaunchLimits limits_;
  uint32_t num_arguments_ = 0;
  bp::KernelInstances<Instance> instances_;
};

}  // namespace level_zero
