// Plugins and their devices.
#include <algorithm>

#include <backplane/loading/loader.hpp>
#include <backplane/runtime/stream.hpp>

#include "boundary.hpp"
#include "functions.hpp"

namespace bp::client {
namespace {

const DeviceRecord& known_device(const char* function, std::uint32_t device) {
  bp::find_device("meta");  // the first question makes it known
  const DeviceRecord* record =
      device < max_devices ? detail::device_records[device].load() : nullptr;
  BP_CHECK(record, "{}: there is no device {}; find_device gives the numbers of those that are",
           function, device);
  return *record;
}

}  // namespace

bp_code load_plugin(const char* path, const char** name) noexcept {
  if (name) *name = nullptr;
  return guarded("load_plugin", [&] {
    check_pointer("load_plugin", "path", path);
    const Backend& backend = bp::load_plugin(path);
    if (name) *name = kept_text(backend.name);
  });
}

bp_code load_all_plugins() noexcept {
  return guarded("load_all_plugins", [] { bp::load_all_plugins(); });
}

bp_code unload_plugin(const char* name) noexcept {
  return guarded("unload_plugin", [&] {
    check_pointer("unload_plugin", "name", name);
    Backend* backend = find_backend(name);
    BP_CHECK(backend, "unload_plugin: no loaded plugin has devices called '{}'", name);
    bp::unload_plugin(*backend);
  });
}

bp_code find_device(const char* name, std::uint32_t* device) noexcept {
  return guarded("find_device", [&] {
    clear_output("find_device", "device", device);
    check_pointer("find_device", "name", name);
    *device = bp::device(name).number;
  });
}

bp_code devices(std::uint32_t* count, std::uint32_t* devices) noexcept {
  return guarded("devices", [&] {
    check_pointer("devices", "count", count);
    const std::vector<const DeviceRecord*> all = registered_devices();
    const std::size_t room = devices ? *count : 0;
    for (std::size_t i = 0; i < std::min(room, all.size()); ++i) devices[i] = all[i]->device.number;
    *count = static_cast<std::uint32_t>(all.size());
  });
}

bp_code device_name(std::uint32_t device, const char** name) noexcept {
  return guarded("device_name", [&] {
    clear_output("device_name", "name", name);
    *name = kept_text(known_device("device_name", device).name);
  });
}

bp_code describe_device(std::uint32_t device, bp_device_info* out) noexcept {
  return guarded("describe_device", [&] {
    fill_struct("describe_device", known_device("describe_device", device).info, out);
  });
}

bp_code synchronize(std::uint32_t device) noexcept {
  return guarded("synchronize", [&] { bp::synchronize({device}); });
}

}  // namespace bp::client
