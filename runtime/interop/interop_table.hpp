// A backend's bp.interop as the core asks it.
#pragma once

#include <backplane/runtime/interop.hpp>

#include "devices/device_state.hpp"

namespace bp {

// Are handles of the device addresses?
inline bool has_addresses(const DeviceRecord& record) {
  return (record.info.flags & (BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE)) != 0;
}

bool is_listed(const char* const* kinds, std::string_view kind);

// The plugin's own name for the kind that is asked for; the first if none is. Throws unsupported, naming `op` and what
// there is: `what` as in "a stream".
const char* listed_kind(const char* op, const DeviceRecord& record, const char* what,
                        const char* const* kinds, std::string_view asked);

// Of the first use of a device: the plugin's open, within what adopt_context gave.
bp_code open_in_plugin(DeviceState& state, bp_device** out);

}  // namespace bp
