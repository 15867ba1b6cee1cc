// The exam's device: host memory, one that does its work at once or, as a benign variant, on a thread in the background.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <backplane/plugin.hpp>

#include "capture.hpp"
#include "inject.hpp"
#include "memory.hpp"
#include "queue.hpp"
#include "scratch.hpp"
#include "stream_memory.hpp"
#include "variant.hpp"

namespace reference {

// Is work done in the background, one piece after the other? Faults of order show only there.
bool is_asynchronous();

class Device : public bp::Backend {
 public:
  static constexpr bp::Identity identity{"exam", "Backplane tests", "0.1"};

  using EventHandle = Event;

  static bp::Result<uint32_t> num_devices() { return 2u; }
  static bp::Status describe(uint32_t index, bp::DeviceInfo& info);
  static const bp_header* extension(const char* name, uint32_t min_version);

  explicit Device(uint32_t) {}

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);
  bp::Status describe_space(uint32_t space, bp::SpaceInfo& info);
  bp::Result<bp::Handle> allocate_in(uint32_t space, uint64_t bytes, uint64_t alignment);
  bp::Status copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue);
  bp::Status fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue);

  // What kernels ask.
  bp::Result<uint8_t*> bytes_of(const bp::Region& region, const char*) {
    return static_cast<uint8_t*>(bp::address_of(bp::Handle{region.handle})) + region.offset;
  }
  bp::Status submit(Queue* queue, Work work, uint64_t call_number = 0);

  bp::Status synchronize(Queue* queue) { return queue_of(queue).synchronize(); }
  bp::Result<Queue*> create_stream();
  void destroy_stream(Queue* queue);
  bp::Status query_stream(Queue* queue) { return queue_of(queue).query(); }

  bp::Result<EventHandle*> create_event() { return new EventHandle; }
  void destroy_event(EventHandle* handle) { delete handle; }
  bp::Status record_event(EventHandle* handle, Queue* queue) {
    return handle->record(queue_of(queue));
  }
  bp::Status wait_event(Queue* queue, EventHandle* handle) {
    if (exam::fault_is("wait_forgotten")) return bp::ok;
    return handle->make_wait(queue_of(queue));
  }
  bp::Status query_event(EventHandle* handle) {
    if (exam::fault_is("event_too_early")) return bp::ok;
    return handle->query();
  }
  bp::Status synchronize_event(EventHandle* handle) { return handle->synchronize(); }

  bp::Result<double> elapsed(EventHandle* start, EventHandle* end);

  Injections injections;
  Captures captures;

  Queue& queue_of(Queue* queue) { return queue == nullptr ? default_queue_ : *queue; }
  static Device& of(bp_device* device) { return *reinterpret_cast<Device*>(device); }
  bp::Result<bp::Handle> allocate_on(Queue* queue, uint64_t bytes, uint64_t alignment) {
    return stream_memory_.allocate(queue_of(queue), bytes, alignment);
  }
  void release_on(Queue* queue, bp::Handle handle) {
    stream_memory_.release(queue_of(queue), handle);
  }
  void trim() { stream_memory_.trim(); }
  // As a driver does that knows no better.
  void wait_for_all_streams();

 private:
  void describe_main(bp::SpaceInfo& info) const;

  Queue default_queue_;
  std::mutex streams_mutex_;
  std::vector<Queue*> streams_;
  std::atomic<uint64_t> used_{0};  // bytes of main memory
  exam::Scratch scratch_;
  exam::StreamMemory stream_memory_{*this};
};

}  // namespace reference
