// The card's memory: plain allocations, whose handles are addresses. The core pools on top of them.
#pragma once

#include <atomic>

#include "cuda.hpp"
#include "queue.hpp"

namespace cuda_backend {

// Threads: any, for every function.
class Memory {
 public:
  explicit Memory(Device& device) : device_(device) {}

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);
  bp::Status copy(const bp::Region& to, const bp::Region& from, bp::Direction direction,
                  Queue& queue);
  bp::Status fill(const bp::Region& to, const void* pattern, uint32_t pattern_bytes, Queue& queue);

 private:
  bp::Status explain_exhaustion(uint64_t bytes) const;

  Device& device_;
  std::atomic<uint64_t> held_{0};  // bytes, for messages
};

}  // namespace cuda_backend
