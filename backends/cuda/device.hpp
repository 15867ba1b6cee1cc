// One card, in its primary context, which the process's other users of CUDA share, or in a context of the application's.
#pragma once

#include <atomic>
#include <memory>

#include <backplane/plugin/streams.hpp>

#include "compiler.hpp"
#include "cuda.hpp"
#include "discovery.hpp"
#include "memory.hpp"
#include "queue.hpp"
#include "stream_memory.hpp"

namespace cuda_backend {

class Device : public bp::StreamBackend<Device, Queue, Event> {
 public:
  static constexpr bp::Identity identity{"cuda", "Backplane", "0.1"};

  static bp::Status probe();
  static bp::Result<uint32_t> num_devices();
  static bp::Status describe(uint32_t index, bp::DeviceInfo& info);
  static const bp_header* extension(const char* name, uint32_t min_version);

  // In the primary context, or in one of the application's, which outlives this.
  explicit Device(uint32_t index, CUcontext adopted = nullptr);

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);
  bp::Status copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue);
  bp::Status fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue);

  bp::Status describe_space(uint32_t space, bp::SpaceInfo& info);

  bp::Result<Queue*> create_stream(int32_t priority);
  bp::Result<Event*> create_event();

  // For the extension bp.host_memory.
  bp::Result<void*> pin(uint64_t bytes, uint64_t alignment);
  void unpin(void* memory);
  bp::Status adopt_host(void* memory, uint64_t bytes);
  void forget_host(void* memory);

  // For the extension bp.stream_memory.
  bp::Result<bp::Handle> allocate_on(Queue* queue, uint64_t bytes, uint64_t alignment) {
    return stream_memory_.allocate(queue_of(queue), bytes, alignment);
  }
  void release_on(Queue* queue, bp::Handle handle);
  void trim() { stream_memory_.trim(); }

  // For the extensions and the kernels.
  Queue& default_queue() { return *default_queue_; }
  Memory& memory() { return memory_; }
  StreamMemory& stream_memory() { return stream_memory_; }
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
  StreamMemory stream_memory_{*this};
  Compiler compiler_;
  std::unique_ptr<Queue> default_queue_;
};

}  // namespace cuda_backend
