// What a device says about itself.
#include <CL/cl_ext.h>
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "driver.hpp"
#include "faults.hpp"
#include "queue.hpp"
#include "tables.hpp"

namespace over_opencl {
namespace {

uint64_t time_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// Which one a runtime measures by, it does not say (PoCL 3.1 has no clGetDeviceAndHostTimer): one that runs by while a
// command does.
clockid_t find_clock(cl_context context, cl_device_id device) {
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  const OwnedQueue queue(clCreateCommandQueueWithProperties(context, device, properties, nullptr));
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME}) {
    cl_event made = nullptr;
    cl_ulong end = 0;
    const uint64_t before = time_ns(clock);
    if (clEnqueueMarkerWithWaitList(queue.get(), 0, nullptr, &made) != CL_SUCCESS) break;
    const OwnedEvent marker(made);
    clWaitForEvents(1, &made);
    clGetEventProfilingInfo(made, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr);
    if (before <= end && end <= time_ns(clock)) return clock;
  }
  return CLOCK_MONOTONIC;
}

}  // namespace

Device::Device(Driver& driver, cl_device_id id, uint32_t index)
    : driver_(driver), id_(id), index_(index) {
  takes_spirv_ = device_text(id, CL_DEVICE_IL_VERSION).find("SPIR-V") != std::string::npos;
  max_allocation_ = device_value<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  max_group_size_ = device_value<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  clock_ = find_clock(driver.context(), id);
}

uint64_t Device::now_ns() const {
  return time_ns(clock_);
}

void Device::lose() {
  lost_in_ = fault_generation();
}

bool Device::is_lost() const {
  const uint64_t lost_in = lost_in_.load(std::memory_order_relaxed);
  return lost_in != 0 && lost_in == fault_generation();
}

namespace {

ze_result_t ZE_APICALL device_get(ze_driver_handle_t driver, uint32_t* count,
                                  ze_device_handle_t* handles) {
  return guarded([&] {
    const auto& devices = from<Driver>(driver)->devices();
    write_list(count, handles != nullptr, static_cast<uint32_t>(devices.size()),
               [&](uint32_t i) { handles[i] = to_handle<ze_device_handle_t>(devices[i].get()); });
  });
}

ze_result_t ZE_APICALL device_get_none(ze_device_handle_t device, uint32_t* count,
                                       ze_device_handle_t*) {
  return guarded([&] {
    from<Device>(device);
    required(count) = 0;
  });
}

bool has_extension(const Device& device, const char* name) {
  return device_text(device.id(), CL_DEVICE_EXTENSIONS).find(name) != std::string::npos;
}

// That of the unit, where OpenCL tells it. Level Zero has no word for "unknown".
void write_uuid(const Device& device, const std::string& name, ze_device_uuid_t& to) {
  to = {};
  if (has_extension(device, "cl_khr_device_uuid") &&
      clGetDeviceInfo(device.id(), CL_DEVICE_UUID_KHR, sizeof to, &to, nullptr) == CL_SUCCESS)
    return;
  std::memcpy(to.id, name.data(), std::min(name.size(), sizeof to - 1));
  to.id[sizeof to - 1] = static_cast<uint8_t>(device.index());
}

ze_result_t ZE_APICALL device_properties(ze_device_handle_t handle, ze_device_properties_t* to) {
  return guarded([&] {
    const Device& device = *from<Device>(handle);
    required(to).type = ZE_DEVICE_TYPE_CPU;
    to->vendorId = device_value<cl_uint>(device.id(), CL_DEVICE_VENDOR_ID);
    to->deviceId = device.index();
    to->flags = ZE_DEVICE_PROPERTY_FLAG_INTEGRATED;
    to->subdeviceId = 0;
    to->coreClockRate = device_value<cl_uint>(device.id(), CL_DEVICE_MAX_CLOCK_FREQUENCY);
    to->maxMemAllocSize = device.max_allocation();
    to->maxHardwareContexts = 1024;
    to->maxCommandQueuePriority = 0;
    to->numThreadsPerEU = 1;
    to->physicalEUSimdWidth =
        std::max(1u, device_value<cl_uint>(device.id(), CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
    to->numEUsPerSubslice = device_value<cl_uint>(device.id(), CL_DEVICE_MAX_COMPUTE_UNITS);
    to->numSubslicesPerSlice = to->numSlices = 1;
    // Timestamps are nanoseconds; the newer structure asks for their number in a second.
    to->timerResolution = to->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1000000000 : 1;
    to->timestampValidBits = to->kernelTimestampValidBits = 64;
    const std::string name = device_text(device.id(), CL_DEVICE_NAME);
    write_uuid(device, name, to->uuid);
    std::snprintf(to->name, sizeof to->name, "%s", name.c_str());
  });
}

ze_result_t ZE_APICALL device_pci_properties(ze_device_handle_t handle,
                                             ze_pci_ext_properties_t* to) {
  return guarded([&] {
    const Device& device = *from<Device>(handle);
    cl_device_pci_bus_info_khr at{};
    check(has_extension(device, "cl_khr_pci_bus_info"), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
    check(clGetDeviceInfo(device.id(), CL_DEVICE_PCI_BUS_INFO_KHR, sizeof at, &at, nullptr) ==
              CL_SUCCESS,
          ZE_RESULT_ERROR_UNKNOWN);
    required(to).address = {at.pci_domain, at.pci_bus, at.pci_device, at.pci_function};
    to->maxSpeed = {-1, -1, -1};  // nobody tells
  });
}

ze_result_t ZE_APICALL device_compute_properties(ze_device_handle_t handle,
                                                 ze_device_compute_properties_t* to) {
  return guarded([&] {
    const Device& device = *from<Device>(handle);
    size_t items[3] = {};
    clGetDeviceInfo(device.id(), CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, nullptr);
    required(to).maxTotalGroupSize = static_cast<uint32_t>(device.max_group_size());
    to->maxGroupSizeX = static_cast<uint32_t>(items[0]);
    to->maxGroupSizeY = static_cast<uint32_t>(items[1]);
    to->maxGroupSizeZ = static_cast<uint32_t>(items[2]);
    to->maxGroupCountX = to->maxGroupCountY = to->maxGroupCountZ = UINT32_MAX;
    to->maxSharedLocalMemory =
        static_cast<uint32_t>(device_value<cl_ulong>(device.id(), CL_DEVICE_LOCAL_MEM_SIZE));
    // A processor's work-items come one by one, as far as a kernel can see.
    to->numSubGroupSizes = 1;
    to->subGroupSizes[0] = 1;
  });
}

// Both are sets of bits with one meaning; only Level Zero's order is another.
ze_device_fp_flags_t float_flags(cl_device_fp_config config) {
  constexpr struct {
    cl_device_fp_config of_opencl;
    ze_device_fp_flags_t of_level_zero;
  } pairs[] = {{CL_FP_DENORM, ZE_DEVICE_FP_FLAG_DENORM},
               {CL_FP_INF_NAN, ZE_DEVICE_FP_FLAG_INF_NAN},
               {CL_FP_ROUND_TO_NEAREST, ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST},
               {CL_FP_ROUND_TO_ZERO, ZE_DEVICE_FP_FLAG_ROUND_TO_ZERO},
               {CL_FP_ROUND_TO_INF, ZE_DEVICE_FP_FLAG_ROUND_TO_INF},
               {CL_FP_FMA, ZE_DEVICE_FP_FLAG_FMA},
               {CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT},
               {CL_FP_SOFT_FLOAT, ZE_DEVICE_FP_FLAG_SOFT_FLOAT}};
  ze_device_fp_flags_t flags = 0;
  for (const auto& pair : pairs)
    if ((config & pair.of_opencl) != 0) flags |= pair.of_level_zero;
  return flags;
}

ze_result_t ZE_APICALL device_module_properties(ze_device_handle_t handle,
                                                ze_device_module_properties_t* to) {
  return guarded([&] {
    const cl_device_id id = from<Device>(handle)->id();
    const auto config = [id](cl_device_info what) {
      return float_flags(device_value<cl_device_fp_config>(id, what));
    };
    const bool has_half =
        device_text(id, CL_DEVICE_EXTENSIONS).find("cl_khr_fp16") != std::string::npos;
    required(to).spirvVersionSupported = ZE_MAKE_VERSION(1, 2);
    to->fp16flags = has_half ? config(CL_DEVICE_HALF_FP_CONFIG) : 0;
    to->fp32flags = config(CL_DEVICE_SINGLE_FP_CONFIG);
    to->fp64flags = config(CL_DEVICE_DOUBLE_FP_CONFIG);
    to->flags = ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
    if (to->fp16flags != 0) to->flags |= ZE_DEVICE_MODULE_FLAG_FP16;
    if (to->fp64flags != 0) to->flags |= ZE_DEVICE_MODULE_FLAG_FP64;
    to->maxArgumentsSize =
        static_cast<uint32_t>(device_value<size_t>(id, CL_DEVICE_MAX_PARAMETER_SIZE));
    to->printfBufferSize =
        static_cast<uint32_t>(device_value<size_t>(id, CL_DEVICE_PRINTF_BUFFER_SIZE));
    to->nativeKernelSupported = {};
  });
}

ze_result_t ZE_APICALL device_queue_groups(ze_device_handle_t handle, uint32_t* count,
                                           ze_command_queue_group_properties_t* to) {
  return guarded([&] {
    from<Device>(handle);
    write_list(count, to != nullptr, num_queue_groups, [&](uint32_t i) {
      to[i].flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
      if (i == compute_group) to[i].flags |= ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
      to[i].maxMemoryFillPatternSize = largest_pattern;
      to[i].numQueues = queues_per_group;
    });
  });
}

ze_result_t ZE_APICALL device_memory_properties(ze_device_handle_t handle, uint32_t* count,
                                                ze_device_memory_properties_t* to) {
  return guarded([&] {
    const Device& device = *from<Device>(handle);
    write_list(count, to != nullptr, 1, [&](uint32_t i) {
      to[i].flags = 0;
      to[i].maxClockRate = to[i].maxBusWidth = 0;  // nobody tells
      to[i].totalSize = device_value<cl_ulong>(device.id(), CL_DEVICE_GLOBAL_MEM_SIZE);
      const uint64_t limit = faults().memory_bytes;
      if (limit != 0) to[i].totalSize = std::min<uint64_t>(to[i].totalSize, limit);
      std::snprintf(to[i].name, sizeof to[i].name, "memory of the host");
    });
  });
}

ze_result_t ZE_APICALL device_access_properties(ze_device_handle_t handle,
                                                ze_device_memory_access_properties_t* to) {
  return guarded([&] {
    const Device& device = *from<Device>(handle);
    const auto svm =
        device_value<cl_device_svm_capabilities>(device.id(), CL_DEVICE_SVM_CAPABILITIES);
    ze_memory_access_cap_flags_t all = ZE_MEMORY_ACCESS_CAP_FLAG_RW;
    if ((svm & CL_DEVICE_SVM_ATOMICS) != 0)
      all |= ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT |
             ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
    required(to).hostAllocCapabilities = to->deviceAllocCapabilities = all;
    to->sharedSingleDeviceAllocCapabilities = to->sharedCrossDeviceAllocCapabilities = all;
    // Kernels could; but an application that relies on it would not run on another driver.
    to->sharedSystemAllocCapabilities = 0;
  });
}

ze_result_t ZE_APICALL device_cache_properties(ze_device_handle_t handle, uint32_t* count,
                                               ze_device_cache_properties_t* to) {
  return guarded([&] {
    const Device& device = *from<Device>(handle);
    write_list(count, to != nullptr, 1, [&](uint32_t i) {
      to[i].flags = 0;
      to[i].cacheSize = device_value<cl_ulong>(device.id(), CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    });
  });
}

bool reach_each_other(ze_device_handle_t device, ze_device_handle_t peer) {
  return &from<Device>(device)->driver() == &from<Device>(peer)->driver();
}

ze_result_t ZE_APICALL device_peer_properties(ze_device_handle_t device, ze_device_handle_t peer,
                                              ze_device_p2p_properties_t* to) {
  return guarded([&] {
    const bool reach = reach_each_other(device, peer);
    required(to).flags = reach ? ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS : 0;
  });
}

ze_result_t ZE_APICALL device_can_access(ze_device_handle_t device, ze_device_handle_t peer,
                                         ze_bool_t* can) {
  return guarded([&] { required(can) = reach_each_other(device, peer); });
}

ze_result_t ZE_APICALL device_status(ze_device_handle_t device) {
  return guarded([&] { from<Device>(device)->check_not_lost(); });
}

ze_result_t ZE_APICALL device_timestamps(ze_device_handle_t device, uint64_t* of_host,
                                         uint64_t* of_device) {
  return guarded([&] {
    const Device& of = *from<Device>(device);
    of.check_not_lost();
    required(of_host);
    required(of_device) = *of_host = of.now_ns();
  });
}

}  // namespace

void fill(ze_device_dditable_t& table) {
  table.pfnGet = device_get;
  table.pfnGetSubDevices = device_get_none;
  table.pfnGetProperties = device_properties;
  table.pfnPciGetPropertiesExt = device_pci_properties;
  table.pfnGetComputeProperties = device_compute_properties;
  table.pfnGetModuleProperties = device_module_properties;
  table.pfnGetCommandQueueGroupProperties = device_queue_groups;
  table.pfnGetMemoryProperties = device_memory_properties;
  table.pfnGetMemoryAccessProperties = device_access_properties;
  table.pfnGetCacheProperties = device_cache_properties;
  table.pfnGetP2PProperties = device_peer_properties;
  table.pfnCanAccessPeer = device_can_access;
  table.pfnGetStatus = device_status;
  table.pfnGetGlobalTimestamps = device_timestamps;
}

}  // namespace over_opencl
