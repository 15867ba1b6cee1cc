// Which devices there are, and what Backplane must know of each.
#include "device.hpp"

namespace acme {

// Quick and without side effects. Where your driver is not installed, that is not an error:
//   return bp::unsupported("Acme's driver is not installed");
bp::Status Device::probe() {
  return bp::ok;
}

bp::Result<uint32_t> Device::num_devices() {
  return 1u;
}

bp::Status Device::describe(uint32_t index, bp::DeviceInfo& info) {
  info.set_name(index == 0 ? "Acme device" : "another Acme device");
  // Handles are addresses that may be advanced, and every call has done its work when it returns. Take
  // BP_DEVICE_SYNCHRONOUS away when your queue runs on its own.
  info.flags = BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_SYNCHRONOUS;
  info.offset_alignment = 64;
  return bp::ok;
}

}  // namespace acme
