// One card, in its primary context, which the process's other users of CUDA share, or in a context of the application's.
#pragma once

#include <atomic>
#include <memory>

#include "compiler.hpp"
#include "cuda.hpp"
#include "discovery.hpp"
#include "memory.hpp"
#include "queue.hpp"

namespace cuda_backend {

class Device : public bp::Backend {
 public:
  static constexpr bp::Identity identity{"cuda", "Backplane", "0.1"};

  static bp::Status probe();
  static bp::Result<uint32_t> num_devices();
  static bp::Status describe(uint32_t index, bp::DeviceInfo& info);
  static const bp_header* extension(const char* name, uint32_t min_version);
  // What the host holds.
  static Device& of(bp_device* device) { return *reinterpret_cast<Device*>(device); }

  // In the primary context, or in one of the application's, which outlives this.
  explicit Device(uint32_t index, CUcontext adopted = nullptr);

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);
  bp::Status copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue);
  bp::Status fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue);

  bp::Status synchronize(Queue* queue) { return queue_of(queue).synchronize(); }
  bp::Result<Queue*> create_stream(int32_t priority);
  void destroy_stream(Queue* queue) { delete queue; }
  bp::Status query_stream(Queue* queue) { return queue_of(queue).query(); }

  bp::Result<Event*> create_event();
  void destroy_event(Event* event) { delete event; }
  bp::Status record_event(Event* event, Queue* queue) { return event->record(queue_of(queue)); }
  bp::Status wait_event(Queue* queue, Event* event) { return event->make_wait(queue_of(queue)); }
  bp::Status query_event(Event* event) { return event->query(); }
  bp::Status synchronize_event(Event* event) { return event->synchronize(); }
  bp::Result<double> elapsed(Event* start, Event* end) { return Event::elapsed(*start, *end); }

  // For the extensions and the kernels.
  Queue& queue_of(Queue* queue) { return queue == nullptr ? *default_queue_ : *queue; }
  Queue& queue_of(bp_stream* stream) { return queue_of(reinterpret_cast<Queue*>(stream)); }
  const Compiler& compiler() const { return compiler_; }
  CUcontext context() const { return context_; }
  const FoundDevice& found() const { return found_; }
  // True once for each other device: nobody has opened the path to its memory yet.
  bool needs_path_to(const Device& other) {
    const uint64_t bit = uint64_t{1} << (other.found_.ordinal % 64);
    return &other != this && (paths_.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }
  bp::Status check_process() const { return cuda_backend::check_process(born_); }

 private:
  FoundDevice found_;
  uint32_t born_ = driver_generation();
  CUcontext context_;
  std::atomic<uint64_t> paths_{0};  // bits of other cards
  Memory memory_{*this};
  Compiler compiler_;
  std::unique_ptr<Queue> default_queue_;
};

}  // namespace cuda_backend
