#include "driver.hpp"

#include <cstring>

#include "faults.hpp"
#include "tables.hpp"

namespace over_opencl {
namespace {

// Processors only: work that OpenCL has no command for runs as a native kernel, on the same addresses. SPIR-V goes in
// as it is or, as PoCL takes it, translated to LLVM.
bool can_serve(cl_device_id device) {
  const auto execution =
      device_value<cl_device_exec_capabilities>(device, CL_DEVICE_EXECUTION_CAPABILITIES);
  const auto svm = device_value<cl_device_svm_capabilities>(device, CL_DEVICE_SVM_CAPABILITIES);
  const bool takes_modules =
      device_text(device, CL_DEVICE_IL_VERSION).find("SPIR-V") != std::string::npos ||
      device_text(device, CL_DEVICE_EXTENSIONS).find("cl_khr_spir") != std::string::npos;
  return takes_modules && (execution & CL_EXEC_NATIVE_KERNEL) != 0 &&
         (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
}

std::vector<cl_device_id> devices_of(cl_platform_id platform) {
  cl_uint count = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 0, nullptr, &count) != CL_SUCCESS) return {};
  std::vector<cl_device_id> devices(count);
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, count, devices.data(), nullptr) != CL_SUCCESS)
    return {};
  std::erase_if(devices, [](cl_device_id device) { return !can_serve(device); });
  return devices;
}

std::vector<std::unique_ptr<Driver>> find_drivers() {
  std::vector<std::unique_ptr<Driver>> found;
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return found;
  std::vector<cl_platform_id> platforms(count);
  if (clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) return found;
  for (cl_platform_id platform : platforms) {
    const std::vector<cl_device_id> devices = devices_of(platform);
    if (devices.empty()) continue;
    try {
      found.push_back(std::make_unique<Driver>(platform, devices));
    } catch (const Failure&) {
      continue;  // the others may serve
    }
  }
  return found;
}

}  // namespace

const std::vector<std::unique_ptr<Driver>>& drivers() {
  static const auto* found = new std::vector<std::unique_ptr<Driver>>(find_drivers());
  return *found;
}

Driver::Driver(cl_platform_id platform, const std::vector<cl_device_id>& devices)
    : platform_(platform) {
  cl_int error = CL_SUCCESS;
  context_ = clCreateContext(nullptr, static_cast<cl_uint>(devices.size()), devices.data(), nullptr,
                             nullptr, &error);
  require(error);
  for (uint32_t i = 0; i < devices.size(); ++i)
    devices_.push_back(std::make_unique<Device>(*this, devices[i], i));
  allocations_ = std::make_unique<Allocations>(context_);
}

Device& device_of(const Context& context, ze_device_handle_t handle) {
  Device& device = *from<Device>(handle);
  check(&device.driver() == &context.driver(), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  return device;
}

namespace {

ze_result_t ZE_APICALL driver_initialize(ze_init_flags_t) {
  return guarded([] {
    static std::once_flag once;
    std::call_once(once, read_faults);
    check(!drivers().empty(), ZE_RESULT_ERROR_UNINITIALIZED);
  });
}

ze_result_t ZE_APICALL driver_get(uint32_t* count, ze_driver_handle_t* handles) {
  return guarded([&] {
    write_list(count, handles != nullptr, static_cast<uint32_t>(drivers().size()),
               [&](uint32_t i) { handles[i] = to_handle<ze_driver_handle_t>(drivers()[i].get()); });
  });
}

ze_result_t ZE_APICALL driver_api_version(ze_driver_handle_t driver, ze_api_version_t* version) {
  return guarded([&] {
    from<Driver>(driver);
    required(version) = ZE_API_VERSION_1_4;
  });
}

ze_result_t ZE_APICALL driver_properties(ze_driver_handle_t driver,
                                         ze_driver_properties_t* properties) {
  return guarded([&] {
    const std::string name = platform_text(from<Driver>(driver)->platform(), CL_PLATFORM_NAME);
    required(properties).driverVersion = 1;
    properties->uuid = {};
    std::memcpy(properties->uuid.id, name.data(), std::min(name.size(), sizeof properties->uuid));
  });
}

ze_result_t ZE_APICALL driver_ipc_properties(ze_driver_handle_t driver,
                                             ze_driver_ipc_properties_t* properties) {
  return guarded([&] {
    from<Driver>(driver);
    required(properties).flags = 0;
  });
}

ze_result_t ZE_APICALL driver_extensions(ze_driver_handle_t driver, uint32_t* count,
                                         ze_driver_extension_properties_t*) {
  return guarded([&] {
    from<Driver>(driver);
    required(count) = 0;
  });
}

ze_result_t ZE_APICALL driver_function(ze_driver_handle_t driver, const char* name,
                                       void** function) {
  return guarded([&] {
    from<Driver>(driver);
    required(function) = nullptr;
    const bool known = std::strcmp(&required(name), "zeOverOpenclReadFaults") == 0;
    check(known, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
    *function = reinterpret_cast<void*>(&read_faults);
  });
}

ze_result_t ZE_APICALL context_create(ze_driver_handle_t driver, const ze_context_desc_t* given,
                                      ze_context_handle_t* context) {
  return guarded([&] {
    Driver& of = *from<Driver>(driver);
    required(given);
    required(context) = to_handle<ze_context_handle_t>(new Context(of));
  });
}

ze_result_t ZE_APICALL context_create_for(ze_driver_handle_t driver, const ze_context_desc_t* given,
                                          uint32_t count, ze_device_handle_t* devices,
                                          ze_context_handle_t* context) {
  return guarded([&] {
    const Context probe(*from<Driver>(driver));
    if (count != 0) required(devices);
    for (uint32_t i = 0; i < count; ++i) device_of(probe, devices[i]);
    return context_create(driver, given, context);
  });
}

ze_result_t ZE_APICALL context_destroy(ze_context_handle_t context) {
  return guarded([&] { delete from<Context>(context); });
}

ze_result_t ZE_APICALL context_status(ze_context_handle_t context) {
  return guarded([&] {
    for (const auto& device : from<Context>(context)->driver().devices()) device->check_not_lost();
  });
}

// Writes of a processor are seen by its other threads at synchronization, and its memory is always resident.
ze_result_t ZE_APICALL context_barrier(ze_context_handle_t context, ze_device_handle_t device) {
  return guarded([&] { device_of(*from<Context>(context), device).check_not_lost(); });
}

ze_result_t ZE_APICALL context_make_resident(ze_context_handle_t context, ze_device_handle_t device,
                                             void* start, size_t bytes) {
  return guarded([&] {
    device_of(*from<Context>(context), device).check_not_lost();
    required(start);
    check(bytes != 0, ZE_RESULT_ERROR_INVALID_SIZE);
  });
}

}  // namespace

void fill(ze_global_dditable_t& table) {
  table.pfnInit = driver_initialize;
}

void fill(ze_driver_dditable_t& table) {
  table.pfnGet = driver_get;
  table.pfnGetApiVersion = driver_api_version;
  table.pfnGetProperties = driver_properties;
  table.pfnGetIpcProperties = driver_ipc_properties;
  table.pfnGetExtensionProperties = driver_extensions;
  table.pfnGetExtensionFunctionAddress = driver_function;
}

void fill(ze_context_dditable_t& table) {
  table.pfnCreate = context_create;
  table.pfnCreateEx = context_create_for;
  table.pfnDestroy = context_destroy;
  table.pfnGetStatus = context_status;
  table.pfnSystemBarrier = context_barrier;
  table.pfnMakeMemoryResident = context_make_resident;
  table.pfnEvictMemory = context_make_resident;
}

}  // namespace over_opencl
