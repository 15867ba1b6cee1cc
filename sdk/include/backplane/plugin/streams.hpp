// For backends whose streams and events are classes: what bp::Backend asks of the device, handed on to them. Not part
// of plugin.hpp: include it where it is needed.
#ifndef BACKPLANE_PLUGIN_STREAMS_HPP
#define BACKPLANE_PLUGIN_STREAMS_HPP

#include <backplane/plugin/backend.hpp>

namespace BP_SDK BP_HIDDEN {

// A base of the class that is one device: class Device : public bp::StreamBackend<Device, Queue, Event>. What must do
// more hides the function here. What a backend must have:
//   Device: default_queue() -> Queue&, which stands for a null stream
//   Queue: synchronize(), query() -> Status
//   Event: record(Queue&), make_wait(Queue&), query(), synchronize() -> Status; static elapsed(Event&, Event&) ->
//     Result<double>, in nanoseconds
template <class Device, class Queue, class Event> class StreamBackend : public Backend {
 public:
  // The handle that the host holds.
  static Device& of(bp_device* device) { return *reinterpret_cast<Device*>(device); }

  Queue& queue_of(Queue* queue) {
    return queue == nullptr ? static_cast<Device*>(this)->default_queue() : *queue;
  }
  Queue& queue_of(bp_stream* stream) { return queue_of(reinterpret_cast<Queue*>(stream)); }

  Status synchronize(Queue* queue) { return queue_of(queue).synchronize(); }
  void destroy_stream(Queue* queue) { delete queue; }
  Status query_stream(Queue* queue) { return queue_of(queue).query(); }

  void destroy_event(Event* event) { delete event; }
  Status record_event(Event* event, Queue* queue) { return event->record(queue_of(queue)); }
  Status wait_event(Queue* queue, Event* event) { return event->make_wait(queue_of(queue)); }
  Status query_event(Event* event) { return event->query(); }
  Status synchronize_event(Event* event) { return event->synchronize(); }
  Result<double> elapsed(Event* start, Event* end) { return Event::elapsed(*start, *end); }
};

}  // namespace BP_HIDDEN

#endif  // BACKPLANE_PLUGIN_STREAMS_HPP
