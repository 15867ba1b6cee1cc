#include "function.hpp"

#include <algorithm>
#include <cstring>

#include "device.hpp"

namespace level_zero {

ze_result_t KernelHandle::make(ze_module_handle_t module, const char* name, KernelHandle& made) {
  auto wanted = describe<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
  wanted.pKernelName = name;
  return loader.zeKernelCreate(module, &wanted, &made.kernel_);
}

Function::Function(ze_module_handle_t module, KernelHandle kernel, const char* name,
                   const GroupLimits& limits)
    : module_(module), name_(name), limits_(limits) {
  auto needs = describe<ze_kernel_properties_t>(ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES);
  require("zeKernelGetProperties", loader.zeKernelGetProperties(kernel.get(), &needs));
  num_arguments_ = needs.numKernelArgs;
  if (needs.localMemSize > limits_.local_memory) {
    throw bp::Failure{bp::unsupported(
        "%s: it needs %u bytes of local memory for a group, and the device has %llu", name,
        needs.localMemSize, number(limits_.local_memory))};
  }
  instances_[0] = std::make_unique<Instance>(std::move(kernel), num_arguments_);
  num_instances_ = 1;
}

bp::Status Function::launch(const bp_launch& launch, Memory& memory, Queue& queue) {
  if (!takes(launch)) [[unlikely]]
    return refuse(launch);
  Instance& instance = take();
  std::lock_guard lock(instance.mutex, std::adopt_lock);
  if (bp::Status status = set_group(instance, launch, queue); !status.is_ok()) return status;
  if (bp::Status status = set_arguments(instance, launch, memory); !status.is_ok()) return status;
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
  KernelHandle kernel;
  if (KernelHandle::make(module_, name_.c_str(), kernel) != ZE_RESULT_SUCCESS) return nullptr;
  instances_[count] = std::make_unique<Instance>(std::move(kernel), num_arguments_);
  instances_[count]->mutex.lock();
  num_instances_.store(count + 1, std::memory_order_release);
  return instances_[count].get();
}

bool Function::takes(const bp_launch& launch) const {
  uint64_t all_items = 1;
  bool fits = launch.num_arguments == num_arguments_;
  for (int i = 0; i < 3; ++i) {
    // A 0 wraps to more than any limit.
    fits &= launch.items[i] - 1 < limits_.items[i] && launch.groups[i] - 1 < limits_.groups[i];
    all_items *= launch.items[i];
  }
  return fits && all_items <= limits_.all_items;
}

bp::Status Function::refuse(const bp_launch& launch) const {
  const char* name = name_.c_str();
  for (int i = 0; i < 3; ++i) {
    const uint64_t items = launch.items[i], groups = launch.groups[i];
    if (items == 0 || groups == 0) {
      return bp::bad_argument("%s: %llu groups of %llu work-items along dimension %d", name,
                              number(groups), number(items), i);
    }
    if (items > limits_.items[i]) {
      return bp::bad_argument(
          "%s: a group of %llu work-items along dimension %d; this device takes %llu", name,
          number(items), i, number(limits_.items[i]));
    }
    if (groups > limits_.groups[i]) {
      return bp::bad_argument("%s: %llu groups along dimension %d; this device takes %llu", name,
                              number(groups), i, number(limits_.groups[i]));
    }
  }
  const uint64_t all_items = launch.items[0] * launch.items[1] * launch.items[2];
  if (all_items > limits_.all_items) {
    return bp::bad_argument("%s: a group of %llu work-items; this device takes %llu", name,
                            number(all_items), number(limits_.all_items));
  }
  return bp::bad_argument("%s: launched with %u arguments, and it has %u", name,
                          launch.num_arguments, num_arguments_);
}

bp::Status Function::set_group(Instance& instance, const bp_launch& launch, Queue& queue) const {
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
    return queue.device().check(name_.c_str(), "zeKernelSetGroupSize", result);
  return bp::bad_argument(
      "%s: the device refuses groups of %ux%ux%u work-items (at most %llu in a group): "
      "zeKernelSetGroupSize: %s",
      name_.c_str(), items[0], items[1], items[2], number(limits_.all_items),
      name_of(result).c_str());
}

// Only what has changed since the instance's last launch: a call with the same tensors sets nothing.
bp::Status Function::set_arguments(Instance& instance, const bp_launch& launch,
                                   Memory& memory) const {
  const uint64_t generation = memory.generation();
  if (instance.generation != generation) {
    // A new allocation may have an old one's address, and drivers look allocations up when arguments are set.
    for (Argument& argument : instance.arguments)
      if (argument.kind == BP_LAUNCH_MEMORY) argument.kind = 0;
    instance.generation = generation;
  }
  for (uint32_t i = 0; i < num_arguments_; ++i) {
    const ze_result_t result = set_argument(instance, i, launch.arguments[i]);
    if (result == ZE_RESULT_SUCCESS) continue;
    instance.arguments[i].kind = 0;
    return bp::bad_argument(
        "%s: argument %u, of %u bytes, does not suit the kernel: zeKernelSetArgumentValue: %s",
        name_.c_str(), i, launch.arguments[i].bytes, name_of(result).c_str());
  }
  return bp::ok;
}

ze_result_t Function::set_argument(Instance& instance, uint32_t index,
                                   const bp_launch_argument& given) {
  Argument& last = instance.arguments[index];
  if (given.kind == BP_LAUNCH_MEMORY) {
    if (last.kind == BP_LAUNCH_MEMORY && last.handle == given.u.handle) return ZE_RESULT_SUCCESS;
    last.kind = BP_LAUNCH_MEMORY;
    last.handle = given.u.handle;
    const void* address = given.u.handle == 0 ? nullptr : &given.u.handle;
    return loader.zeKernelSetArgumentValue(instance.kernel.get(), index, sizeof(void*), address);
  }
  if (given.kind != BP_LAUNCH_BYTES || given.bytes == 0) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (last.kind == BP_LAUNCH_BYTES && last.bytes.size() == given.bytes &&
      std::memcmp(last.bytes.data(), given.u.bytes, given.bytes) == 0)
    return ZE_RESULT_SUCCESS;
  const char* bytes = static_cast<const char*>(given.u.bytes);
  last.kind = BP_LAUNCH_BYTES;
  last.bytes.assign(bytes, bytes + given.bytes);
  return loader.zeKernelSetArgumentValue(instance.kernel.get(), index, given.bytes, bytes);
}

}  // namespace level_zero
