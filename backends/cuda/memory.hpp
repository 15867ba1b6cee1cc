// The card's memory: allocations whose handles are addresses. The core pools on top of them.
//
// They are made of physical memory that is mapped to addresses, one to one. cuMemFree waits for all that the card and its
// peers were given (measured, as cuMemAlloc and the mapping calls are that do not: docs/decisions/0029), and a collective that
// waits for another process would hold it for as long.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cuda.hpp"
#include "queue.hpp"

namespace cuda_backend {

// Threads: any, for every function.
class Memory {
 public:
  explicit Memory(Device& device);

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);
  bp::Status copy(const bp::Region& to, const bp::Region& from, bp::Direction direction,
                  Queue& queue);
  bp::Status fill(const bp::Region& to, const void* pattern, uint32_t pattern_bytes, Queue& queue);

  // The status of an allocation that the card has no room for.
  bp::Status explain_exhaustion(uint64_t bytes);

  // Lets another card reach all of it, also what comes later. Needed once for each; the cards can reach each other.
  CUresult open_to(CUdevice other);

 private:
  struct Block {
    CUdeviceptr base;
    uint64_t bytes;
    CUmemGenericAllocationHandle memory;
  };

  CUresult make(uint64_t bytes, uint64_t alignment, Block& block) const;
  CUresult map(const Block& block) const;
  CUresult give_back(const Block& block) const;

  Device& device_;
  CUmemAllocationProp kind_{};
  uint64_t granularity_ =
      0;              // 0: this card maps no memory, and the driver's plain allocations serve
  std::mutex mutex_;  // guards what follows
  std::vector<CUmemAccessDesc> readers_;
  std::unordered_map<bp::Handle, Block> blocks_;
  std::atomic<uint64_t> held_{0};  // bytes, for messages
};

// Can the card map memory, so that neither allocating nor releasing waits for other work?
bool maps_memory(CUdevice id);

}  // namespace cuda_backend
