#include "function.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "device.hpp"

namespace cuda_backend {
namespace {

uint64_t attribute_of(CUfunction function, CUfunction_attribute attribute) {
  int value = 0;
  require("asking for a kernel's needs", driver.cuFuncGetAttribute(&value, attribute, function));
  return static_cast<uint64_t>(value);
}

}  // namespace

const char* lasting_text(std::string_view text) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const all = new std::set<std::string, std::less<>>;
  std::lock_guard lock(*mutex);
  const auto found = all->find(text);
  return (found != all->end() ? found : all->emplace(text).first)->c_str();
}

Function::Function(CUfunction function, const char* name, const bp::LaunchLimits& limits)
    : function_(function), name_(lasting_text(name)), limits_(limits) {
  limits_.all_items =
      std::min(limits_.all_items, attribute_of(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  own_local_memory_ = attribute_of(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  size_t offset = 0, bytes = 0;
  while (driver.cuFuncGetParamInfo(function, num_arguments_, &offset, &bytes) == CUDA_SUCCESS) {
    if (num_arguments_ == most_arguments) {
      throw bp::Failure{
          bp::unsupported("%s: it has more than %zu parameters", name_, size_t{most_arguments})};
    }
    bytes_[num_arguments_++] = static_cast<uint32_t>(bytes);
  }
}

bp::Status Function::launch(const bp_launch& launch, Device& device, Queue& queue) const {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  if (!limits_.takes(launch, num_arguments_)) [[unlikely]]
    return limits_.refuse(name_, launch, num_arguments_);
  void* parameters[most_arguments];
  for (uint32_t i = 0; i < num_arguments_; ++i) {
    const bp_launch_argument& given = launch.arguments[i];
    const bool is_memory = given.kind == BP_LAUNCH_MEMORY;
    if ((is_memory ? sizeof(CUdeviceptr) : given.bytes) != bytes_[i]) [[unlikely]]
      return refuse_arguments(launch);
    // The driver reads both before it returns. A handle is the address itself.
    parameters[i] =
        const_cast<void*>(is_memory ? static_cast<const void*>(&given.u.handle) : given.u.bytes);
  }
  const Current current(device.context());
  const auto size = [](uint64_t value) { return static_cast<unsigned int>(value); };
  const CUresult error =
      driver.cuLaunchKernel(function_, size(launch.groups[0]), size(launch.groups[1]),
                            size(launch.groups[2]), size(launch.items[0]), size(launch.items[1]),
                            size(launch.items[2]), 0, queue.get(), parameters, nullptr);
  if (error != CUDA_SUCCESS) [[unlikely]]
    return explain(error, launch, queue);
  queue.note(name_);
  return bp::ok;
}

bp::Status Function::refuse_arguments(const bp_launch& launch) const {
  for (uint32_t i = 0; i < num_arguments_; ++i) {
    const bp_launch_argument& given = launch.arguments[i];
    const bool is_memory = given.kind == BP_LAUNCH_MEMORY;
    const auto bytes = is_memory ? static_cast<uint32_t>(sizeof(CUdeviceptr)) : given.bytes;
    if (bytes == bytes_[i]) continue;
    return bp::bad_argument(
        "%s: argument %u, of %u bytes, does not suit the kernel, which takes %u", name_, i, bytes,
        bytes_[i]);
  }
  return bp::internal("%s: its arguments changed while they were read", name_);
}

bp::Status Function::explain(int error, const bp_launch& launch, const Queue& queue) const {
  if (error != CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) return queue.explain(name_, error);
  return bp::unsupported(
      "%s: the card refuses groups of %llux%llux%llu work-items (at most %llu in a group; %llu of "
      "%llu bytes of local memory): %s",
      name_, number(launch.items[0]), number(launch.items[1]), number(launch.items[2]),
      number(limits_.all_items), number(own_local_memory_), number(limits_.local_memory),
      name_of(error).c_str());
}

}  // namespace cuda_backend
