// The device's memory, Level Zero's unified shared memory: a handle is an address. BACKPLANE_LEVEL_ZERO_MEMORY chooses the
// kind:
//
//   device   the default: the device's own
//   shared   moves between host and device; the host may read and write it
//   host     the host's, which the device reads and writes
#pragma once

#include <atomic>

#include "level_zero.hpp"
#include "queue.hpp"

namespace level_zero {

// Threads: any, for every function.
class Memory {
 public:
  explicit Memory(Device& device);
  // The BP_DEVICE_* flags that memory will have.
  static uint32_t flags();

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);

  bp::Status copy(const bp::Region& to, const bp::Region& from, bp::Direction direction,
                  Queue& queue);
  bp::Status fill(const bp::Region& to, const void* pattern, uint32_t pattern_bytes, Queue& queue);

  // Rises whenever an allocation ends. While it stays, an equal handle means the same allocation.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  enum class Kind { device, shared, host };
  static Kind kind();

  const char* allocate(uint64_t bytes, uint64_t alignment, void*& start, ze_result_t& result);
  static bp::Status fill_through_host(const bp::Region& to, const void* pattern,
                                      uint32_t pattern_bytes, Queue& queue);

  Device& device_;
  Kind kind_;
  bool stages_;
  std::atomic<uint64_t> generation_{1};
};

// Between any two addresses that the device or its driver can reach.
bp::Status copy_bytes(Queue& queue, void* to, const void* from, uint64_t bytes);

}  // namespace level_zero
