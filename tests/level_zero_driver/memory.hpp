// Unified shared memory: fine-grained shared virtual memory of OpenCL, whatever the kind that was asked for.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <shared_mutex>

#include "handle.hpp"

namespace over_opencl {

class Device;

struct Allocation {
  uintptr_t start = 0;
  size_t bytes = 0;
  ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
  Device* device = nullptr;  // null for memory of the host
  uint64_t id = 0;
  void* base = nullptr;  // of the piece that it was cut out of
};

// Threads: any.
class Allocations {
 public:
  explicit Allocations(cl_context context) : context_(context) {}

  // Throws Failure.
  void* allocate(size_t bytes, size_t alignment, ze_memory_type_t type, Device* device);
  // False for what is not a start of an allocation.
  bool release(void* start);
  // The allocation that the address lies in.
  std::optional<Allocation> find(const void* address) const;
  // Grows with each release: an address may now be another allocation's.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  cl_context context_;
  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Allocation> by_start_;
  uint64_t used_bytes_ = 0, next_id_ = 1;
  std::atomic<uint64_t> generation_{0};
};

}  // namespace over_opencl
