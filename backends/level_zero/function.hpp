// One kernel of a module, and its launch.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <backplane/extensions/compiler.h>

#include "level_zero.hpp"
#include "memory.hpp"
#include "queue.hpp"

namespace level_zero {

// What a device allows to one launch; constant.
struct GroupLimits {
  uint64_t items[3];
  uint64_t groups[3];
  uint64_t all_items;
  uint64_t local_memory;
};

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
           const GroupLimits& limits);

  // Threads: any.
  bp::Status launch(const bp_launch& launch, Memory& memory, Queue& queue);

 private:
  // What an instance was given last at one place.
  struct Argument {
    uint32_t kind = 0;
    bp_handle handle = 0;
    std::vector<char> bytes;
  };
  // Level Zero keeps arguments and the size of a group in the kernel object until the launch is appended, so that one
  // object serves one thread at a time.
  struct Instance {
    Instance(KernelHandle from, size_t num_arguments)
        : kernel(std::move(from)), arguments(num_arguments) {}

    std::mutex mutex;
    KernelHandle kernel;
    std::vector<Argument> arguments;
    uint64_t generation = 0;  // of the memory to which the handles above belong
    uint32_t group[3] = {0, 0, 0};
  };

  // Whether sizes and the number of arguments fit.
  bool takes(const bp_launch& launch) const;
  bp::Status refuse(const bp_launch& launch) const;
  // Locked.
  Instance& take();
  Instance* add();
  bp::Status set_group(Instance& instance, const bp_launch& launch, Queue& queue) const;
  bp::Status set_arguments(Instance& instance, const bp_launch& launch, Memory& memory) const;
  static ze_result_t set_argument(Instance& instance, uint32_t index,
                                  const bp_launch_argument& given);

  ze_module_handle_t module_;
  std::string name_;
  GroupLimits limits_;
  uint32_t num_arguments_ = 0;
  std::array<std::unique_ptr<Instance>, 16> instances_;
  std::atomic<size_t> num_instances_{0};
  std::mutex growth_;
};

}  // namespace level_zero
