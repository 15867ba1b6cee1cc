// One software device: memory that the host cannot read, and queues that are truly asynchronous.
#pragma once

#include <memory>
#include <mutex>
#include <set>

#include <backplane/plugin.hpp>

#include "inject.hpp"
#include "memory.hpp"
#include "queue.hpp"
#include "stream_memory.hpp"

namespace reference {

inline constexpr uint32_t device_count = 2;

class Device : public bp::Backend {
 public:
  static constexpr bp::Identity identity{REFERENCE_NAME, "Backplane", "0.1"};

  // What the host holds as an event.
  using EventHandle = Event;

  static bp::Result<uint32_t> num_devices() { return device_count; }
  static bp::Status describe(uint32_t index, bp::DeviceInfo& info);
  static const bp_header* extension(const char* name, uint32_t min_version);
  // The open device of that index, or null. For the hooks.
  static Device* find(uint32_t index);

  // Within a context of the application's, if there is one.
  explicit Device(uint32_t index, Context* adopted = nullptr);
  ~Device();

  bp::Result<bp::Handle> allocate(uint64_t bytes) {
    if (const bp_code failure = injections.take(BP_INJECT_MEMORY); failure != BP_OK)
      return bp::error(failure, injected_text);
    return context_.memory.allocate(bytes);
  }
  void release(bp::Handle handle) { context_.memory.release(handle); }
  bp::Status copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue);
  bp::Status fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue);
  // For work of others: where its memory lies, and giving it to a queue.
  bp::Result<uint8_t*> bytes_of(const bp::Region& region, const char* what) {
    return context_.memory.find(region, what);
  }
  bp::Status describe_space(uint32_t space, bp::SpaceInfo& info);
  bp::Status submit(Queue* queue, Work work, uint64_t call_number = 0);

  bp::Status synchronize(Queue* queue) { return queue_of(queue).synchronize(); }
  bp::Result<Queue*> create_stream();
  void destroy_stream(Queue* queue);
  bp::Status query_stream(Queue* queue) { return queue_of(queue).query(); }

  bp::Result<EventHandle*> create_event() { return new EventHandle; }
  void destroy_event(EventHandle* handle) { delete handle; }
  bp::Status record_event(EventHandle* handle, Queue* queue);
  bp::Status wait_event(Queue* queue, EventHandle* handle);
  bp::Status query_event(EventHandle* handle) { return handle->query(); }
  bp::Status synchronize_event(EventHandle* handle) { return handle->synchronize(); }
  bp::Result<double> elapsed(EventHandle* start, EventHandle* end);

  // The hooks: see backplane/extensions/reference.h.
  void hold();
  void release_hold();
  void fail_next(bp_code code) { (void)injections.fail_next(BP_INJECT_WORK, 0, code); }
  void set_limit(uint64_t bytes);
  void usage(uint64_t* pending, uint64_t* allocations, uint64_t* bytes);

  // For the extension bp.interop.
  static Device& of(bp_device* device) { return *reinterpret_cast<Device*>(device); }
  Context& context() { return context_; }
  // For the extension bp.stream_memory.
  bp::Result<bp::Handle> allocate_on(Queue* queue, uint64_t bytes, uint64_t) {
    return stream_pool_.allocate(queue_of(queue), bytes);
  }
  void release_on(Queue* queue, bp::Handle handle) {
    stream_pool_.release(queue_of(queue), handle);
  }
  void trim() { stream_pool_.trim(); }

  uint32_t index() const { return index_; }
  Queue& queue_of(Queue* queue) { return queue == nullptr ? *default_queue_ : *queue; }
  bool has(const Queue* queue);

  Injections injections;

 private:
  uint32_t index_;
  const std::unique_ptr<Context> own_context_;
  Context& context_;
  StreamPool stream_pool_{context_.memory};
  std::mutex mutex_;  // of what follows
  std::unique_ptr<Queue> default_queue_;
  std::set<Queue*> queues_;
  bool held_ = false;
};

}  // namespace reference
