#include "function.hpp"

#include <algorithm>
#include <cstring>

#include "capture.hpp"

namespace opencl {

Function::Function(cl_program program, OwnedKernel kernel, cl_device_id device,
                   const std::string& name, const GroupLimits& limits)
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
  if (local_memory_ > limits_.local_memory) {
    throw bp::Failure{bp::unsupported(
        "%s: it needs %llu bytes of local memory for a group, and the device has %llu",
        name_.c_str(), number(local_memory_), number(limits_.local_memory))};
  }
  instances_[0] = std::make_unique<Instance>(std::move(kernel), num_arguments_);
  num_instances_ = 1;
}

bp::Status Function::launch(const bp_launch& launch, Memory& memory, Queue& queue) {
  if (launch.num_arguments != num_arguments_) {
    return bp::bad_argument("%s: launched with %u arguments, and it has %u", name_.c_str(),
                            launch.num_arguments, num_arguments_);
  }
  Shape shape;
  if (bp::Status status = shape_of(launch, shape); !status.is_ok()) return status;
  if (Recording* recording = queue.recording()) return record(launch, shape, memory, *recording);
  Instance& instance = take();
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
  OwnedKernel kernel(clCreateKernel(program_, name_.c_str(), &error));
  if (error != CL_SUCCESS) return failed(name_.c_str(), error);
  Instance instance(std::move(kernel), num_arguments_);
  if (bp::Status status = set_arguments(instance, launch, memory); !status.is_ok()) return status;
  error =
      recording.add_launch(std::move(instance.kernel), shape.dimensions, shape.global, shape.local);
  return error == CL_SUCCESS ? bp::ok : explain(error, shape);
}

Function::Instance& Function::take() {
  const size_t count = num_instances_.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i)
    if (instances_[i]->mutex.try_lock()) return *instances_[i];
  if (Instance* added = add()) return *added;
  instances_[0]->mutex.lock();
  return *instances_[0];
}

// Null if there are enough, or the driver makes no more.
Function::Instance* Function::add() {
  std::lock_guard lock(growth_);
  const size_t count = num_instances_.load(std::memory_order_relaxed);
  if (count == instances_.size()) return nullptr;
  cl_int error = CL_SUCCESS;
  OwnedKernel kernel(clCreateKernel(program_, name_.c_str(), &error));
  if (error != CL_SUCCESS) return nullptr;
  instances_[count] = std::make_unique<Instance>(std::move(kernel), num_arguments_);
  instances_[count]->mutex.lock();
  num_instances_.store(count + 1, std::memory_order_release);
  return instances_[count].get();
}

bp::Status Function::shape_of(const bp_launch& launch, Shape& shape) const {
  shape.dimensions = 1;
  uint64_t all_items = 1;
  for (cl_uint i = 0; i < 3; ++i) {
    const uint64_t items = launch.items[i], groups = launch.groups[i];
    if (items == 0 || groups == 0) {
      return bp::bad_argument("%s: %llu groups of %llu work-items along dimension %u",
                              name_.c_str(), number(groups), number(items), i);
    }
    if (items > limits_.items[i]) {
      return bp::bad_argument(
          "%s: a group of %llu work-items along dimension %u; this device takes %llu",
          name_.c_str(), number(items), i, number(limits_.items[i]));
    }
    uint64_t global;
    if (__builtin_mul_overflow(items, groups, &global)) {
      return bp::bad_argument("%s: %llu groups of %llu work-items along dimension %u are too many",
                              name_.c_str(), number(groups), number(items), i);
    }
    all_items *= items;
    shape.local[i] = items;
    shape.global[i] = global;
    if (global > 1) shape.dimensions = i + 1;
  }
  if (all_items <= limits_.all_items) return bp::ok;
  return bp::bad_argument(
      "%s: a group of %llu work-items; this kernel takes at most %llu on this device",
      name_.c_str(), number(all_items), number(limits_.all_items));
}

// Only what has changed since the instance's last launch: a call with the same tensors sets nothing.
bp::Status Function::set_arguments(Instance& instance, const bp_launch& launch,
                                   Memory& memory) const {
  const uint64_t generation = memory.generation();
  if (instance.generation != generation) {
    // A new allocation may have an old one's handle.
    for (Argument& argument : instance.arguments)
      if (argument.kind == BP_LAUNCH_MEMORY) argument.kind = 0;
    instance.generation = generation;
  }
  for (cl_uint i = 0; i < num_arguments_; ++i) {
    const cl_int error = set_argument(instance, i, launch.arguments[i], memory);
    if (error == CL_SUCCESS) continue;
    instance.arguments[i].kind = 0;
    return bp::bad_argument("%s: argument %u, of %u bytes, does not suit the kernel: %s",
                            name_.c_str(), i, launch.arguments[i].bytes, name_of(error).c_str());
  }
  return bp::ok;
}

cl_int Function::set_argument(Instance& instance, cl_uint index, const bp_launch_argument& given,
                              Memory& memory) const {
  Argument& last = instance.arguments[index];
  if (given.kind == BP_LAUNCH_MEMORY) {
    if (last.kind == BP_LAUNCH_MEMORY && last.handle == given.u.handle) return CL_SUCCESS;
    last.kind = BP_LAUNCH_MEMORY;
    last.handle = given.u.handle;
    return memory.set_argument(instance.kernel.get(), index, given.u.handle);
  }
  if (given.kind != BP_LAUNCH_BYTES || given.bytes == 0) return CL_INVALID_ARG_VALUE;
  if (last.kind == BP_LAUNCH_BYTES && last.bytes.size() == given.bytes &&
      std::memcmp(last.bytes.data(), given.u.bytes, given.bytes) == 0)
    return CL_SUCCESS;
  const char* bytes = static_cast<const char*>(given.u.bytes);
  last.kind = BP_LAUNCH_BYTES;
  last.bytes.assign(bytes, bytes + given.bytes);
  return clSetKernelArg(instance.kernel.get(), index, given.bytes, bytes);
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
