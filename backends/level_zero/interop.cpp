#include "interop.hpp"

#include <string_view>

#include <backplane/plugin/interop.hpp>

#include "device.hpp"

namespace level_zero {
namespace {

constexpr const char* device_kinds[] = {"level_zero.context", "level_zero.device",
                                        "level_zero.driver", nullptr};
constexpr const char* stream_kinds[] = {"level_zero.command_list", "level_zero.command_queue",
                                        nullptr};
constexpr const char* event_kinds[] = {"level_zero.event", nullptr};

bp::Status give(const char* kind, const void* object, uint64_t& out) {
  if (object == nullptr) return bp::unsupported("interop: there is no '%s' behind this", kind);
  out = reinterpret_cast<uint64_t>(object);
  return bp::ok;
}

bp::Status give_device(Device& device, const char* asked, uint64_t& out) {
  const std::string_view kind = asked;
  if (kind == device_kinds[0]) return give(device_kinds[0], device.context(), out);
  if (kind == device_kinds[1]) return give(device_kinds[1], device.found().id, out);
  return give(device_kinds[2], device.found().driver, out);
}

// An immediate list, or the queue on which regular ones run.
bp::Status give_stream(Device& device, bp_stream* stream, const char* asked, uint64_t& out) {
  const Queue& queue = device.queue_of(stream);
  const std::string_view kind = asked;
  if (kind == stream_kinds[0]) return give(stream_kinds[0], queue.lists().immediate(), out);
  const bool is_queue = queue.lists().immediate() == nullptr;
  return give(stream_kinds[1], is_queue ? queue.lists().queue() : nullptr, out);
}

bp::Status give_event(Event& event, uint64_t* out) {
  const Mark mark = event.mark();
  if (!mark) return bp::bad_argument("interop: the event was never recorded");
  *out = reinterpret_cast<uint64_t>(mark.get());
  return bp::ok;
}

// Nothing is adopted: lists and memory belong to a context, and the driver's devices have one of their own.
constexpr bp_interop make_interop_functions() {
  bp_interop table = bp::interop_of<Device, give_device, give_stream>(device_kinds, stream_kinds);
  table.event_kinds = event_kinds;
  table.event_handle = [](bp_device*, bp_event* event, const char*, uint64_t* out) {
    return bp::guarded([=] { return give_event(*reinterpret_cast<Event*>(event), out); });
  };
  return table;
}

}  // namespace

constexpr bp_interop interop_functions = make_interop_functions();

}  // namespace level_zero
