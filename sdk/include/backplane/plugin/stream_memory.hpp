// For backends whose driver keeps memory in the order of streams: the table of "bp.stream_memory" from functions of the
// device. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_STREAM_MEMORY_HPP
#define BACKPLANE_PLUGIN_STREAM_MEMORY_HPP

#include <type_traits>

#include <backplane/extensions/stream_memory.h>
#include <backplane/plugin/values.hpp>

namespace BP_SDK BP_HIDDEN {

namespace detail {
template <class Device, class = void> struct Trims : std::false_type {};
template <class Device>
struct Trims<Device, std::void_t<decltype(std::declval<Device&>().trim())>> : std::true_type {};
}  // namespace detail

// Device: static of(bp_device*) -> Device&; allocate_on(Queue*, uint64_t bytes, uint64_t alignment) -> Result<Handle>;
// release_on(Queue*, Handle); trim(), if it has one. A null queue is the default stream. What they throw becomes a code.
template <class Device, class Queue> constexpr bp_stream_memory stream_memory_of() {
  bp_stream_memory table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.allocate = [](bp_device* device, uint64_t bytes, uint64_t alignment, bp_stream* stream,
                      bp_handle* out) {
    return guarded([=]() -> Status {
      Queue* const queue = reinterpret_cast<Queue*>(stream);
      Result<Handle> made = Device::of(device).allocate_on(queue, bytes, alignment);
      if (made.is_ok()) *out = static_cast<bp_handle>(made.value());
      return made.status();
    });
  };
  table.release = [](bp_device* device, bp_handle handle, bp_stream* stream) {
    (void)guarded([=]() -> Status {
      Queue* const queue = reinterpret_cast<Queue*>(stream);
      return Device::of(device).release_on(queue, static_cast<Handle>(handle)), ok;
    });
  };
  if constexpr (detail::Trims<Device>::value) {
    table.trim = [](bp_device* device) {
      (void)guarded([=]() -> Status { return Device::of(device).trim(), ok; });
    };
  }
  return table;
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_STREAM_MEMORY_HPP
