#include "bare_launch.hpp"

#include <cstdint>
#include <stdexcept>

namespace bench {
namespace {

void check(ze_result_t result, const char* what) {
  if (result != ZE_RESULT_SUCCESS)
    throw std::runtime_error(std::string(what) + " failed with " + std::to_string(result));
}

}  // namespace

BareLaunch::BareLaunch(const std::string& spirv, const char* name) {
  check(zeInit(0), "zeInit");
  uint32_t one = 1;
  ze_driver_handle_t driver = nullptr;
  check(zeDriverGet(&one, &driver), "zeDriverGet");
  ze_device_handle_t device = nullptr;
  check(zeDeviceGet(driver, &(one = 1), &device), "zeDeviceGet");
  ze_context_desc_t context{};
  context.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  check(zeContextCreate(driver, &context, &context_), "zeContextCreate");
  ze_command_queue_desc_t queue{};
  queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  queue.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  check(zeCommandListCreateImmediate(context_, device, &queue, &list_),
        "zeCommandListCreateImmediate");
  ze_module_desc_t module{};
  module.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  module.format = ZE_MODULE_FORMAT_IL_SPIRV;
  module.inputSize = spirv.size();
  module.pInputModule = reinterpret_cast<const uint8_t*>(spirv.data());
  check(zeModuleCreate(context_, device, &module, &module_, nullptr), "zeModuleCreate");
  ze_kernel_desc_t kernel{};
  kernel.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
  kernel.pKernelName = name;
  check(zeKernelCreate(module_, &kernel, &kernel_), "zeKernelCreate");
  ze_device_mem_alloc_desc_t memory{};
  memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  check(zeMemAllocDevice(context_, &memory, 64, 64, device, &memory_), "zeMemAllocDevice");
  const uint64_t value = 0;
  check(zeKernelSetGroupSize(kernel_, 1, 1, 1), "zeKernelSetGroupSize");
  check(zeKernelSetArgumentValue(kernel_, 0, sizeof memory_, &memory_), "argument 0");
  check(zeKernelSetArgumentValue(kernel_, 1, sizeof value, &value), "argument 1");
  ze_event_pool_desc_t pool{};
  pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  pool.count = 1;
  check(zeEventPoolCreate(context_, &pool, 0, nullptr, &pool_), "zeEventPoolCreate");
  ze_event_desc_t event{};
  event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  event.signal = event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
  check(zeEventCreate(pool_, &event, &event_), "zeEventCreate");
}

BareLaunch::~BareLaunch() {
  zeEventDestroy(event_);
  zeEventPoolDestroy(pool_);
  zeKernelDestroy(kernel_);
  zeModuleDestroy(module_);
  zeCommandListDestroy(list_);
  zeMemFree(context_, memory_);
  zeContextDestroy(context_);
}

void BareLaunch::launch() {
  const ze_group_count_t groups{1, 1, 1};
  check(zeCommandListAppendLaunchKernel(list_, kernel_, &groups, nullptr, 0, nullptr),
        "zeCommandListAppendLaunchKernel");
}

void BareLaunch::finish() {
  check(zeEventHostReset(event_), "zeEventHostReset");
  check(zeCommandListAppendBarrier(list_, event_, 0, nullptr), "zeCommandListAppendBarrier");
  check(zeEventHostSynchronize(event_, UINT64_MAX), "zeEventHostSynchronize");
}

}  // namespace bench
