// How a backend written in C++ describes its devices and their memory to the host. Part of plugin.hpp.
#ifndef BACKPLANE_PLUGIN_DEVICE_INFO_HPP
#define BACKPLANE_PLUGIN_DEVICE_INFO_HPP

#include <cstdio>
#include <cstring>

#include <backplane/plugin/values.hpp>

namespace BP_SDK BP_HIDDEN {

// The NUMA node of the device at a PCI address ("0000:17:00.0"), as the system reports it. -1: it does not
// say, or there is only one.
inline int32_t numa_node_of_pci(const char* address) {
  char path[96];
  std::snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", address);
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return -1;
  int node = -1;
  const int read = std::fscanf(file, "%d", &node);
  std::fclose(file);
  return read == 1 ? node : -1;
}

// Preset: name as the backend's, DLPack's kDLExtDev, offsets aligned to 64, no NUMA node, synchronous if
// the class has no synchronize of its own, all else 0, which says of most facts that they are unknown.
struct DeviceInfo : bp_device_info {
  // Longer texts are cut.
  void set_name(const char* text) { std::snprintf(name, sizeof name, "%s", text); }
  void set_driver(const char* text) { std::snprintf(driver, sizeof driver, "%s", text); }
  // 16 bytes, those that the maker's other interfaces show for the unit.
  void set_uuid(const void* bytes) { std::memcpy(uuid, bytes, sizeof uuid); }
  // The address as Linux writes it, and the NUMA node that the system knows for it.
  void set_pci(uint32_t domain, uint32_t bus_number, uint32_t device, uint32_t function) {
    std::snprintf(bus, sizeof bus, "%04x:%02x:%02x.%x", domain, bus_number, device, function);
    numa_node = numa_node_of_pci(bus);
  }
  // As create_stream takes them: lower is more urgent.
  void set_priorities(int32_t least, int32_t greatest) {
    least_priority = least;
    greatest_priority = greatest;
  }
};

// One of a device's memories; preset to zeros.
struct SpaceInfo : bp_space_info {
  void set_name(const char* text) { std::snprintf(name, sizeof name, "%s", text); }
};

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_DEVICE_INFO_HPP
