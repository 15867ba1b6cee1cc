// For backends whose devices reach each other's memory: the table of "bp.peer" from a function of the backend's own.
// Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_PEER_HPP
#define BACKPLANE_PLUGIN_PEER_HPP

#include <type_traits>

#include <backplane/extensions/peer.h>
#include <backplane/plugin/values.hpp>

namespace BP_SDK BP_HIDDEN {

namespace detail {
template <class Queue, class Event>
Status wait_for(Status (*wait)(Queue&, Event&), Queue& target, bp_event* event) {
  return wait(target, *reinterpret_cast<Event*>(event));
}
}  // namespace detail

// `copy(const Region& to, Queue& target, const Region& from, Queue& source) -> Status` gives both streams their part
// of the copy; what it throws becomes a code. `link(Device& target, Device& source, bp_link& out) -> Status`, if given, says what
// lies between the two; `wait(Queue& target, Event& event) -> Status`, if given, lets the stream wait for another device's
// event. Device: static of(bp_device*) -> Device&; queue_of(bp_stream*) -> Queue&.
template <class Device, auto copy, auto link = nullptr, auto wait = nullptr>
constexpr bp_peer peer_of() {
  bp_peer table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.copy = [](bp_device* target, const bp_region* to, bp_stream* target_stream,
                  bp_device* source, const bp_region* from, bp_stream* source_stream) {
    return guarded([=] {
      return copy(Region{*to}, Device::of(target).queue_of(target_stream), Region{*from},
                  Device::of(source).queue_of(source_stream));
    });
  };
  if constexpr (!std::is_null_pointer_v<decltype(link)>) {
    table.link = [](bp_device* target, bp_device* source, bp_link* out) {
      return guarded([=] { return link(Device::of(target), Device::of(source), *out); });
    };
  }
  if constexpr (!std::is_null_pointer_v<decltype(wait)>) {
    table.wait_event = [](bp_device* target, bp_stream* target_stream, bp_device*,
                          bp_event* event) {
      return guarded([=] {
        return detail::wait_for(wait, Device::of(target).queue_of(target_stream), event);
      });
    };
  }
  return table;
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_PEER_HPP
