#include "function.hpp"

#include <algorithm>

#include "capture.hpp"
#include "device.hpp"

namespace opencl {

Function::Function(cl_program program, OwnedKernel kernel, cl_device_id device,
                   const std::string& name, const bp::LaunchLimits& limits)
    : program_(program), name_(name), limits_(limits) {
  require("asking for a kernel's arguments",
          clGetKernelInfo(kernel.get(), CL_KERNEL_NUM_ARGS, sizeof num_arguments_, &num_arguments_,
                          nullptr));
  size_t most = 0;
  if (clGetKernelWorkGroupInfo(kernel.get(), device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                               nullptr) == CL_SUCCESS &&
      most != 0)
    limits_.all_items = std::min<uint64_t>(limits_.all_items, most);
  clGetKernelWorkGroupInfo(kernel.get(), device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local_memory_,
                           &local_memory_, nullptr);
  bp::Status status = limits_.check_local_memory(name_.c_str(), local_memory_);
  if (!status.is_ok()) throw bp::Failure{status};
  instances_.add_first(std::make_unique<Instance>(std::move(kernel), num_arguments_));
}

bp::Status Function::launch(const bp_launch& launch, Device& device, Queue& queue) {
  Memory& memory = device.memory();
  Shape shape;
  if (bp::Status status = shape_of(launch, shape); !status.is_ok()) return status;
  if (Recording* recording = queue.recording()) return record(launch, shape, memory, *recording);
  Instance& instance = instances_.take([this] {
    cl_int unused = CL_SUCCESS;
    return make(unused);
  });
  std::lock_guard lock(instance.mutex, std::adopt_lock);
  if (bp::Status status = set_arguments(instance, launch, memory); !status.is_ok()) return status;
  cl_int error = CL_SUCCESS;
  bp::Status status = queue.submit("launch", [&](cl_command_queue commands) {
    return error = clEnqueueNDRangeKernel(commands, instance.kernel.get(), shape.dimensions,
                                          nullptr, shape.global, shape.local, 0, nullptr, nullptr);
  });
  return error == CL_SUCCESS ? status : explain(error, shape);
}

// With a kernel of its own: PoCL 3.1 reads the arguments when the recording is replayed, not when it is made.
bp::Status Function::record(const bp_launch& launch, const Shape& shape, Memory& memory,
                            Recording& recording) const {
  cl_int error = CL_SUCCESS;
  const std::unique_ptr<Instance> instance = make(error);
  if (error != CL_SUCCESS) return failed(name_.c_str(), error);
  if (bp::Status status = set_arguments(*instance, launch, memory); !status.is_ok()) return status;
  error = recording.add_launch(std::move(instance->kernel), shape.dimensions, shape.global,
                               shape.local);
  return error == CL_SUCCESS ? bp::ok : explain(error, shape);
}

// Null with the error if the driver makes none.
std::unique_ptr<Function::Instance> Function::make(cl_int& error) const {
  OwnedKernel kernel(clCreateKernel(program_, name_.c_str(), &error));
  if (error != CL_SUCCESS) return nullptr;
  return std::make_unique<Instance>(std::move(kernel), num_arguments_);
}

bp::Status Function::shape_of(const bp_launch& launch, Shape& shape) const {
  if (!limits_.takes(launch, num_arguments_)) [[unlikely]]
    return limits_.refuse(name_.c_str(), launch, num_arguments_);
  shape.dimensions = 1;
  for (cl_uint i = 0; i < 3; ++i) {
    uint64_t global;
    if (__builtin_mul_overflow(launch.items[i], launch.groups[i], &global)) {
      return bp::bad_argument("%s: %llu groups of %llu work-items along dimension %u are too many",
                              name_.c_str(), number(launch.groups[i]), number(launch.items[i]), i);
    }
    shape.local[i] = launch.items[i];
    shape.global[i] = global;
    if (global > 1) shape.dimensions = i + 1;
  }
  return bp::ok;
}

bp::Status Function::set_arguments(Instance& instance, const bp_launch& launch,
                                   Memory& memory) const {
  return instance.set_arguments(
      name_.c_str(), launch, memory.generation(),
      [&](uint32_t index, const bp_launch_argument& given) {
        const cl_kernel kernel = instance.kernel.get();
        const cl_int error = given.kind == BP_LAUNCH_MEMORY
                                 ? memory.set_argument(kernel, index, given.u.handle)
                                 : clSetKernelArg(kernel, index, given.bytes, given.u.bytes);
        return error == CL_SUCCESS ? std::string() : name_of(error);
      });
}

bp::Status Function::explain(cl_int error, const Shape& shape) const {
  const bool misfit = error == CL_INVALID_WORK_GROUP_SIZE || error == CL_INVALID_WORK_ITEM_SIZE ||
                      error == CL_INVALID_GLOBAL_WORK_SIZE || error == CL_OUT_OF_RESOURCES;
  if (!misfit) return failed(name_.c_str(), error);
  return bp::error(
      error == CL_OUT_OF_RESOURCES ? BP_UNSUPPORTED : BP_BAD_ARGUMENT,
      "%s: the device refuses %zux%zux%zu work-items in groups of %zux%zux%zu (at most %llu in a "
      "group; %llu of %llu bytes of local memory): %s",
      name_.c_str(), shape.global[0], shape.global[1], shape.global[2], shape.local[0],
      shape.local[1], shape.local[2], number(limits_.all_items), number(local_memory_),
      number(limits_.local_memory), name_of(error).c_str());
}

}  // namespace opencl
