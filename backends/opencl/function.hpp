// One kernel of a module, and its launch.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include <backplane/extensions/compiler.h>

#include "memory.hpp"
#include "opencl.hpp"
#include "queue.hpp"

namespace opencl {

// What a device allows to one group; constant.
struct GroupLimits {
  uint64_t items[3];
  uint64_t all_items;
  uint64_t local_memory;
};

class Function {
 public:
  // `kernel` is the first instance; others are made from `program`, which outlives this. Throws bp::Failure if the
  // kernel needs more than the device has.
  Function(cl_program program, OwnedKernel kernel, cl_device_id device, const std::string& name,
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
  // OpenCL keeps the arguments in the kernel object, so that one object serves one thread at a time.
  struct Instance {
    Instance(OwnedKernel from, size_t num_arguments)
        : kernel(std::move(from)), arguments(num_arguments) {}

    std::mutex mutex;
    OwnedKernel kernel;
    std::vector<Argument> arguments;
    uint64_t generation = 0;  // of the memory to which the handles above belong
  };
  struct Shape {
    cl_uint dimensions;
    size_t global[3], local[3];
  };

  bp::Status record(const bp_launch& launch, const Shape& shape, Memory& memory,
                    Recording& recording) const;
  // Locked.
  Instance& take();
  Instance* add();
  bp::Status shape_of(const bp_launch& launch, Shape& shape) const;
  bp::Status set_arguments(Instance& instance, const bp_launch& launch, Memory& memory) const;
  cl_int set_argument(Instance& instance, cl_uint index, const bp_launch_argument& given,
                      Memory& memory) const;
  bp::Status explain(cl_int error, const Shape& shape) const;

  cl_program program_;
  std::string name_;
  GroupLimits limits_;
  cl_uint num_arguments_ = 0;
  cl_ulong local_memory_ = 0;
  std::array<std::unique_ptr<Instance>, 16> instances_;
  std::atomic<size_t> num_instances_{0};
  std::mutex growth_;
};

}  // namespace opencl
