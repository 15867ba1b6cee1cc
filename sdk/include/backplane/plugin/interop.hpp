// For backends that share a device with the application's other libraries: kinds of handles, and the parts of
// "bp.interop" that give the maker's handles out and take the application's in. Not part of plugin.hpp: include it
// where it is needed.
#ifndef BACKPLANE_PLUGIN_INTEROP_HPP
#define BACKPLANE_PLUGIN_INTEROP_HPP

#include <cstring>

#include <backplane/extensions/interop.h>
#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

// Whether `kind` is that one; a host may pass null.
inline bool is_kind(const char* kind, const char* expected) {
  return kind != nullptr && std::strcmp(kind, expected) == 0;
}

// BP_BAD_ARGUMENT. `what` is a device, a stream, an event or memory.
inline Status unknown_kind(const char* what, const char* kind) {
  return bad_argument("interop: a %s of kind '%s', which this backend does not know", what,
                      kind != nullptr ? kind : "(none)");
}

// A table that gives out the handles of devices and streams; the rest is for the backend to fill in. What the
// functions throw becomes a code:
//   static Device& Device::of(bp_device*)
//   give_device(Device&, const char* kind, uint64_t& out) -> Status
//   give_stream(Device&, bp_stream*, const char* kind, uint64_t& out) -> Status
template <class Device, auto give_device, auto give_stream>
constexpr bp_interop interop_of(const char* const* device_kinds, const char* const* stream_kinds) {
  bp_interop table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.device_kinds = device_kinds;
  table.stream_kinds = stream_kinds;
  table.device_handle = [](bp_device* device, const char* kind, uint64_t* out) {
    return guarded([=] { return give_device(Device::of(device), kind, *out); });
  };
  table.stream_handle = [](bp_device* device, bp_stream* stream, const char* kind, uint64_t* out) {
    return guarded([=] { return give_stream(Device::of(device), stream, kind, *out); });
  };
  return table;
}

// Adds what takes the application's streams, memory and contexts. Their ends, forget_stream and forget_memory, are for
// the backend to fill in:
//   adopt_stream(Device&, const bp_native&, bp_stream** out) -> Status
//   adopt_memory(Device&, const bp_native&, uint64_t bytes, bp_handle& out) -> Status
//   open(uint32_t index, const bp_native* adopted, uint32_t num_adopted, bp_device** out) -> Status
template <class Device, auto adopt_stream, auto adopt_memory, auto open>
constexpr void let_adopt(bp_interop& table) {
  table.adopt_stream = [](bp_device* device, const bp_native* queue, bp_stream** out) {
    return guarded([=] { return adopt_stream(Device::of(device), *queue, out); });
  };
  table.adopt_memory = [](bp_device* device, const bp_native* memory, uint64_t bytes,
                          bp_handle* out) {
    return guarded([=] { return adopt_memory(Device::of(device), *memory, bytes, *out); });
  };
  table.open = [](void*, uint32_t index, const bp_native* adopted, uint32_t num_adopted,
                  bp_device** out) {
    return guarded([=] { return open(index, adopted, num_adopted, out); });
  };
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_INTEROP_HPP
