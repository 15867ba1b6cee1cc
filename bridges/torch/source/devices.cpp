// Backplane's devices by PyTorch's index.
#include "devices.hpp"

#include <algorithm>
#include <array>
#include <c10/util/Exception.h>

#include <backplane/loading/loader.hpp>
#include <backplane/runtime/device_registry.hpp>

namespace bp::bridge {
namespace {

struct Found {
  std::vector<Device> devices;
  std::vector<const DeviceRecord*> records;  // no plugin is unloaded while PyTorch has its devices
  std::array<c10::DeviceIndex, max_devices> index{};
};

Found find_devices() {
  load_all_plugins();
  Found found;
  for (const DeviceRecord* record : registered_devices()) {
    if (!record->backend || found.devices.size() >= 127) continue;  // meta; an index is an int8_t
    found.index[record->device.number] = static_cast<c10::DeviceIndex>(found.devices.size());
    found.devices.push_back(record->device);
    found.records.push_back(record);
  }
  return found;
}

const Found& found() {
  static const Found once = find_devices();
  return once;
}

thread_local c10::DeviceIndex current = 0;

}  // namespace

const std::vector<Device>& devices() {
  return found().devices;
}

Device device_at(c10::DeviceIndex index) {
  if (index == -1) index = current;
  const std::vector<Device>& all = devices();
  TORCH_CHECK(index >= 0 && index < static_cast<c10::DeviceIndex>(all.size()),
              "backplane:", int{index}, ": there are ", all.size(),
              " devices; backplane_torch.devices() lists them, `backplane doctor` says why others "
              "are missing");
  return all[static_cast<std::size_t>(index)];
}

c10::DeviceIndex index_of(Device device) {
  return found().index[device.number];
}

bool is_open(c10::DeviceIndex index) {
  return index >= 0 && index < num_devices() &&
         found().records[static_cast<std::size_t>(index)]->opened.load(std::memory_order_acquire);
}

c10::DeviceIndex current_index() noexcept {
  return current;
}
void set_current_index(c10::DeviceIndex index) noexcept {
  current = index;
}

}  // namespace bp::bridge
