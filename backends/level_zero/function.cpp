#include "function.hpp"

#include <algorithm>

#include "device.hpp"

namespace level_zero {

ze_result_t KernelHandle::make(ze_module_handle_t module, const char* name, KernelHandle& made) {
  auto wanted = describe<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
  wanted.pKernelName = name;
  return loader.zeKernelCreate(module, &wanted, &made.kernel_);
}

Function::Function(ze_module_handle_t module, KernelHandle kernel, const char* name,
                   const bp::LaunchLimits& limits)
    : module_(module), name_(name), limits_(limits) {
  auto needs = describe<ze_kernel_properties_t>(ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES);
  require("zeKernelGetProperties", loader.zeKernelGetProperties(kernel.get(), &needs));
  num_arguments_ = needs.numKernelArgs;
  bp::Status status = limits_.check_local_memory(name, needs.localMemSize);
  if (!status.is_ok()) throw bp::Failure{status};
  instances_.add_first(std::make_unique<Instance>(std::move(kernel), num_arguments_));
}

bp::Status Function::launch(const bp_launch& launch, Device& device, Queue& queue) {
  if (!limits_.takes(launch, num_arguments_)) [[unlikely]]
    return limits_.refuse(name_.c_str(), launch, num_arguments_);
  Instance& instance = instances_.take([this] { return make(); });
  std::lock_guard lock(instance.mutex, std::adopt_lock);
  if (bp::Status status = set_group(instance, launch, device); !status.is_ok()) return status;
  bp::Status status = set_arguments(instance, launch, device.memory());
  if (!status.is_ok()) return status;
  const auto size = [](uint64_t value) { return static_cast<uint32_t>(value); };
  const ze_group_count_t groups{size(launch.groups[0]), size(launch.groups[1]),
                                size(launch.groups[2])};
  // What is appended keeps the arguments of this moment.
  return queue.submit(name_.c_str(), "zeCommandListAppendLaunchKernel", [&](OrderedList& list) {
    return list.append([&](ze_command_list_handle_t into) {
      return loader.zeCommandListAppendLaunchKernel(into, instance.kernel.get(), &groups, nullptr,
                                                    0, nullptr);
    });
  });
}

// Null if the driver makes none.
std::unique_ptr<Function::Instance> Function::make() const {
  KernelHandle kernel;
  if (KernelHandle::make(module_, name_.c_str(), kernel) != ZE_RESULT_SUCCESS) return nullptr;
  return std::make_unique<Instance>(std::move(kernel), num_arguments_);
}

bp::Status Function::set_group(Instance& instance, const bp_launch& launch, Device& device) const {
  if (std::equal(instance.group, instance.group + 3, launch.items)) return bp::ok;
  uint32_t items[3];
  std::transform(launch.items, launch.items + 3, items,
                 [](uint64_t value) { return static_cast<uint32_t>(value); });
  const ze_result_t result =
      loader.zeKernelSetGroupSize(instance.kernel.get(), items[0], items[1], items[2]);
  if (result == ZE_RESULT_SUCCESS) {
    std::copy_n(items, 3, instance.group);
    return bp::ok;
  }
  if (result != ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION)
    return device.check(name_.c_str(), "zeKernelSetGroupSize", result);
  return bp::bad_argument(
      "%s: the device refuses groups of %ux%ux%u work-items (at most %llu in a group): "
      "zeKernelSetGroupSize: %s",
      name_.c_str(), items[0], items[1], items[2], number(limits_.all_items),
      name_of(result).c_str());
}

// An address is looked up when it is set, and a new allocation may have an old one's.
bp::Status Function::set_arguments(Instance& instance, const bp_launch& launch,
                                   Memory& memory) const {
  return instance.set_arguments(name_.c_str(), launch, memory.generation(),
                                [&](uint32_t index, const bp_launch_argument& given) {
                                  const bool is_memory = given.kind == BP_LAUNCH_MEMORY;
                                  const void* value = given.u.bytes;
                                  if (is_memory)
                                    value = given.u.handle == 0 ? nullptr : &given.u.handle;
                                  const ze_result_t result = loader.zeKernelSetArgumentValue(
                                      instance.kernel.get(), index,
                                      is_memory ? sizeof(void*) : given.bytes, value);
                                  if (result == ZE_RESULT_SUCCESS) return std::string();
                                  return "zeKernelSetArgumentValue: " + name_of(result);
                                });
}

}  // namespace level_zero
