#include "discovery.hpp"

#include <cstdio>
#include <map>
#include <mutex>

namespace level_zero {
namespace {

void leave_out(const char* what, ze_result_t result) {
  bp::log(bp::LogLevel::warning, "a driver or device is left out: %s: %s", what,
          name_of(result).c_str());
}

// What a function of the loader lists, in two calls; empty with a line in the log if it fails.
template <class T, class Ask>
std::vector<T> list_of(const char* what, Ask ask, const T& blank = T{}) {
  uint32_t count = 0;
  std::vector<T> all;
  ze_result_t result = ask(&count, nullptr);
  if (result == ZE_RESULT_SUCCESS && count > 0) {
    all.assign(count, blank);
    result = ask(&count, all.data());
    all.resize(count);
  }
  if (result == ZE_RESULT_SUCCESS) return all;
  leave_out(what, result);
  return {};
}

bool find_queues(FoundDevice& found) {
  const auto groups = list_of<ze_command_queue_group_properties_t>(
      "zeDeviceGetCommandQueueGroupProperties",
      [&](uint32_t* count, ze_command_queue_group_properties_t* to) {
        return loader.zeDeviceGetCommandQueueGroupProperties(found.id, count, to);
      },
      describe<ze_command_queue_group_properties_t>(
          ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES));
  for (uint32_t i = 0; i < groups.size(); ++i) {
    if ((groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) == 0) continue;
    found.queue_ordinal = i;
    found.num_queues = groups[i].numQueues;
    found.largest_pattern = groups[i].maxMemoryFillPatternSize;
    return found.num_queues > 0;
  }
  return false;
}

void find_memory(FoundDevice& found) {
  const auto memories = list_of<ze_device_memory_properties_t>(
      "zeDeviceGetMemoryProperties",
      [&](uint32_t* count, ze_device_memory_properties_t* to) {
        return loader.zeDeviceGetMemoryProperties(found.id, count, to);
      },
      describe<ze_device_memory_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES));
  for (const ze_device_memory_properties_t& memory : memories) found.memory += memory.totalSize;
}

void find_driver_version(FoundDevice& found) {
  ze_api_version_t api = ZE_API_VERSION_1_0;
  loader.zeDriverGetApiVersion(found.driver, &api);
  auto driver = describe<ze_driver_properties_t>(ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
  loader.zeDriverGetProperties(found.driver, &driver);
  found.keeps_order = api >= ZE_MAKE_VERSION(1, 7);
  char text[64];
  std::snprintf(text, sizeof text, "Level Zero %u.%u; driver %u", ZE_MAJOR_VERSION(api),
                ZE_MINOR_VERSION(api), driver.driverVersion);
  found.driver_text = text;
}

// Not every driver offers the extension, nor hangs every device on a bus.
void find_address(FoundDevice& found) {
  if (loader.zeDevicePciGetPropertiesExt == nullptr) return;
  auto pci = describe<ze_pci_ext_properties_t>(ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
  found.has_address = loader.zeDevicePciGetPropertiesExt(found.id, &pci) == ZE_RESULT_SUCCESS;
  found.address = pci.address;
}

// False, with a line in the log, if the device does not answer or does not compute.
bool describe_device(FoundDevice& found) {
  found.properties = describe<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
  found.compute =
      describe<ze_device_compute_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
  found.module =
      describe<ze_device_module_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
  ze_result_t result = loader.zeDeviceGetProperties(found.id, &found.properties);
  if (result == ZE_RESULT_SUCCESS)
    result = loader.zeDeviceGetComputeProperties(found.id, &found.compute);
  if (result == ZE_RESULT_SUCCESS)
    result = loader.zeDeviceGetModuleProperties(found.id, &found.module);
  if (result != ZE_RESULT_SUCCESS) {
    leave_out("asking for a device's properties", result);
    return false;
  }
  find_memory(found);
  find_driver_version(found);
  find_address(found);
  if (find_queues(found)) return true;
  bp::log(bp::LogLevel::warning,
          "the device '%s' is left out: it has no queue that "
          "computes",
          found.properties.name);
  return false;
}

Found look() {
  Found found;
  found.why_none = load_loader();
  if (!found.why_none.empty()) return found;
  const auto drivers = list_of<ze_driver_handle_t>("zeDriverGet", loader.zeDriverGet);
  for (ze_driver_handle_t driver : drivers) {
    const auto devices =
        list_of<ze_device_handle_t>("zeDeviceGet", [&](uint32_t* count, ze_device_handle_t* to) {
          return loader.zeDeviceGet(driver, count, to);
        });
    for (ze_device_handle_t id : devices) {
      FoundDevice device{};
      device.driver = driver;
      device.id = id;
      if (describe_device(device)) found.devices.push_back(std::move(device));
    }
  }
  if (found.devices.empty())
    found.why_none = "Level Zero drivers are installed, but none of them offers a device";
  return found;
}

}  // namespace

const Found& all_found() {
  return bp::found_once<look>();
}

ze_context_handle_t context_of(ze_driver_handle_t driver) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const all = new std::map<ze_driver_handle_t, ze_context_handle_t>;
  std::lock_guard lock(*mutex);
  ze_context_handle_t& context = (*all)[driver];
  if (context == nullptr) {
    const auto wanted = describe<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
    require("zeContextCreate", loader.zeContextCreate(driver, &wanted, &context));
  }
  return context;
}

}  // namespace level_zero
