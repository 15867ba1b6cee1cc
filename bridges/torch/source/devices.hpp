// PyTorch has one device type to give away, so that its index stands for all makers' devices: backplane:0, backplane:1, ...
// in the order in which their plugins were found.
#pragma once

#include <c10/core/Device.h>
#include <string>
#include <vector>

#include <backplane/tensor/device.hpp>

namespace bp::bridge {

inline constexpr c10::DeviceType device_type = c10::DeviceType::PrivateUse1;

// All devices, found by the first call, which loads every plugin; later ones do not join. Threads: any.
const std::vector<Device>& devices();
inline c10::DeviceIndex num_devices() {
  return static_cast<c10::DeviceIndex>(devices().size());
}
// Throws c10::Error with the number of devices for an index that is none; -1 is the thread's current device.
Device device_at(c10::DeviceIndex index);
c10::DeviceIndex index_of(Device device);
// Was it used, and not lost since? PyTorch's backward asks all those for their streams, which opens a device, or fails.
bool is_open(c10::DeviceIndex index);
inline c10::Device torch_device(Device device) {
  return {device_type, index_of(device)};
}

// The thread's current device, 0 at its start.
c10::DeviceIndex current_index() noexcept;
void set_current_index(c10::DeviceIndex index) noexcept;

}  // namespace bp::bridge
