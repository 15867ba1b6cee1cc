// For backends that find their devices when they are first asked: what was found, kept for the process, and how it is
// told. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_DISCOVERY_HPP
#define BACKPLANE_PLUGIN_DISCOVERY_HPP

#include <string>
#include <vector>

#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

// `Device` is the backend's: what it knows of a device that it has not opened.
template <class Device> struct FoundDevices {
  std::vector<Device> devices;
  std::string why_none;  // for a person; of use only if there are none

  // Like a backend's own probe and num_devices.
  Status probe() const {
    return devices.empty() ? unsupported("%s", why_none.c_str()) : Status(ok);
  }
  uint32_t count() const { return static_cast<uint32_t>(devices.size()); }

  // Throws Failure with BP_BAD_ARGUMENT if there is none. `backend` is its name: "acme".
  const Device& at(const char* backend, uint32_t index) const {
    if (index < devices.size()) return devices[index];
    throw Failure{bad_argument("there is no %s:%u; the drivers here offer %zu devices", backend,
                               index, devices.size())};
  }
};

// What `look()` returned when it was called for the first time, and only then. Never destroyed: drivers' threads
// outlive static objects. Threads: any.
template <auto look> const auto& found_once() {
  static const auto* const found = new auto(look());
  return *found;
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_DISCOVERY_HPP
