// For backends that record: the table of "bp.capture" from a backend's own classes, and what a stream that records
// refuses. Not part of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_CAPTURE_HPP
#define BACKPLANE_PLUGIN_CAPTURE_HPP

#include <memory>

#include <backplane/extensions/capture.h>
#include <backplane/plugin/status.hpp>

namespace BP_SDK BP_HIDDEN {

// BP_UNSUPPORTED where `records` says that the stream records and `what`, for the message, is something that no recording
// can hold: waiting, host memory, events.
inline Status refuse_in_recording(bool records, const char* what) {
  if (!records) return ok;
  return unsupported("%s: this stream records its work, and a recording cannot hold that", what);
}

// A backend must have these; what they throw becomes a code:
//   static Device& Device::of(bp_device*); queue_of(bp_stream*) -> Queue&
//   Queue: is_recording() -> bool, between the two calls below
//   Graph: static begin(Device&, Queue&) -> Status; static end(Device&, Queue&, bool keep) ->
//     Result<unique_ptr<Graph>>, whose result is ignored where it is not kept; replay(Queue&) -> Status; its
//     destructor waits for the last run, and does nothing to the driver in a forked child
// begin is called while the stream records nothing, end while it records, and it records nothing afterwards.
template <class Device, class Graph> constexpr bp_capture capture_of() {
  bp_capture table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.begin = [](bp_device* device, bp_stream* stream) {
    return guarded([=]() -> Status {
      Device& on = Device::of(device);
      auto& queue = on.queue_of(stream);
      if (queue.is_recording())
        return bad_argument("capture: this stream records already; end that recording first");
      return Graph::begin(on, queue);
    });
  };
  table.end = [](bp_device* device, bp_stream* stream, bp_graph** out) {
    return guarded([=]() -> Status {
      Device& on = Device::of(device);
      auto& queue = on.queue_of(stream);
      if (!queue.is_recording())
        return bad_argument("capture: this stream records nothing; begin first");
      Result<std::unique_ptr<Graph>> made = Graph::end(on, queue, out != nullptr);
      if (made.is_ok() && out != nullptr)
        *out = reinterpret_cast<bp_graph*>(made.value().release());
      return made.status();
    });
  };
  table.replay = [](bp_device* device, bp_graph* graph, bp_stream* stream) {
    return guarded([=] {
      return reinterpret_cast<Graph*>(graph)->replay(Device::of(device).queue_of(stream));
    });
  };
  table.release = [](bp_device*, bp_graph* graph) { delete reinterpret_cast<Graph*>(graph); };
  return table;
}

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_CAPTURE_HPP
