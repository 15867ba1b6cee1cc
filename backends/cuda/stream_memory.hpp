// The extension bp.stream_memory: a pool of the driver's, whose memory comes and goes in the order of streams.
//
// It keeps what was released until it is trimmed, since mapping 64 MiB costs 0.5 ms and a pool with a threshold gives its
// memory back at each synchronization; the core trims where it would empty its own cache (docs/decisions/0029).
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_map>

#include <backplane/extensions/stream_memory.h>

#include "queue.hpp"

namespace cuda_backend {

// Threads: any, for every function.
class StreamMemory {
 public:
  explicit StreamMemory(Device& device) : device_(device) {}
  ~StreamMemory();
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;

  // BP_UNSUPPORTED where the card has no pools.
  bp::Result<bp::Handle> allocate(Queue& queue, uint64_t bytes, uint64_t alignment);
  // False: the handle is none of these.
  bool release(Queue& queue, bp::Handle handle);
  void trim();

  // Lets another card reach all of it, also what comes later.
  CUresult open_to(CUdevice other);
  uint64_t held() const { return held_.load(std::memory_order_relaxed); }

 private:
  CUresult make_pool();

  Device& device_;
  std::mutex mutex_;  // guards what follows
  CUmemoryPool pool_ = nullptr;
  std::vector<CUmemAccessDesc> readers_;
  std::unordered_map<bp::Handle, uint64_t> blocks_;
  std::atomic<uint64_t> held_{0};  // bytes, for messages
};

extern const bp_stream_memory stream_memory_functions;

}  // namespace cuda_backend
