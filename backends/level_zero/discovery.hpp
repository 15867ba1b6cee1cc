// Which devices there are: all of all drivers that the loader knows, in its order, and what is constant about each.
#pragma once

#include <string>
#include <vector>

#include <backplane/plugin/discovery.hpp>

#include "level_zero.hpp"

namespace level_zero {

// The extension of API 1.7 that keeps the commands of a list in order; newer than the headers of some systems.
constexpr ze_command_queue_flags_t queue_in_order = ZE_BIT(1);
constexpr ze_command_list_flags_t list_in_order = ZE_BIT(3);

struct FoundDevice {
  ze_driver_handle_t driver;
  ze_device_handle_t id;
  ze_device_properties_t properties;  // times in cycles per second
  ze_device_compute_properties_t compute;
  ze_device_module_properties_t module;
  uint64_t memory;           // bytes in all
  uint32_t queue_ordinal;    // of the first queues that compute
  uint32_t num_queues;       // of that group
  uint64_t largest_pattern;  // that such a queue fills with
  bool keeps_order;          // the driver knows queue_in_order
  std::string driver_text;   // its versions
  bool has_address;
  ze_pci_address_ext_t address;  // if it has one
};

using Found = bp::FoundDevices<FoundDevice>;

// Looked for once in a process. A driver or device that fails is a line in the log and missing here. Threads: any.
const Found& all_found();
inline const std::vector<FoundDevice>& found_devices() {
  return all_found().devices;
}

// One for all devices of a driver, so that they can reach each other's memory; never released. Throws bp::Failure.
ze_context_handle_t context_of(ze_driver_handle_t driver);

}  // namespace level_zero
