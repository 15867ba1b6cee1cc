// One kernel of a module, and its launch.
#pragma once

#include <string>

#include <backplane/extensions/compiler.h>
#include <backplane/plugin/kernel_instances.hpp>
#include <backplane/plugin/launch_limits.hpp>

#include "memory.hpp"
#include "opencl.hpp"
#include "queue.hpp"

namespace opencl {

class Device;

class Function {
 public:
  // `kernel` is the first instance; others are made from `program`, which outlives this. Throws bp::Failure if the
  // kernel needs more than the device has.
  Function(cl_program program, OwnedKernel kernel, cl_device_id device, const std::string& name,
           const bp::LaunchLimits& limits);

  // Threads: any.
  bp::Status launch(const bp_launch& launch, Device& device, Queue& queue);

 private:
  using Instance = bp::KernelInstance<OwnedKernel>;
  struct Shape {
    cl_uint dimensions;
    size_t global[3], local[3];
  };

  bp::Status record(const bp_launch& launch, const Shape& shape, Memory& memory,
                    Recording& recording) const;
  std::unique_ptr<Instance> make(cl_int& error) const;
  bp::Status shape_of(const bp_launch& launch, Shape& shape) const;
  bp::Status set_arguments(Instance& instance, const bp_launch& launch, Memory& memory) const;
  bp::Status explain(cl_int error, const Shape& shape) const;

  cl_program program_;
  std::string name_;
  bp::LaunchLimits limits_;
  cl_uint num_arguments_ = 0;
  cl_ulong local_memory_ = 0;
  bp::KernelInstances<Instance> instances_;
};

}  // namespace opencl
