// The device's memory: a table of allocations whose bytes are stored masked, so that nobody reads them by
// accident, and whose indices are the handles.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <backplane/plugin.hpp>

namespace reference {

inline constexpr uint64_t total_memory = uint64_t{4} << 30;

// Threads: any, for every function.
class Memory {
 public:
  explicit Memory(uint64_t limit);

  // What an allocation is made of.
  struct Bytes {
    std::unique_ptr<uint8_t[]> at;
    uint64_t size = 0;
  };

  bp::Result<bp::Handle> allocate(uint64_t bytes);
  void release(bp::Handle handle);

  // Ends a handle without its bytes, which stay in use: work may still go on there. Null if it does not live.
  Bytes take(bp::Handle handle);
  // Gives such bytes another handle, or ends them.
  bp::Handle put(Bytes bytes);
  void drop(Bytes bytes);

  // Where `region` lies; an error if it is not within a living allocation. The bytes there are masked.
  bp::Result<uint8_t*> find(const bp::Region& region, const char* what);

  void set_limit(uint64_t bytes);
  void usage(uint64_t* allocations, uint64_t* bytes);
  void describe(bp::SpaceInfo& info);

 private:
  struct Slot {
    Bytes bytes;
    uint32_t generation = 1;  // a handle holds it: an old one is not taken for a new one
  };

  Bytes take_locked(bp::Handle handle);
  bp::Handle put_locked(Bytes bytes);
  Slot* slot_of(bp::Handle handle);
  bp::Handle handle_at(uint32_t index) const;

  const uint32_t table_;
  std::mutex mutex_;  // of what follows
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  uint64_t limit_, used_ = 0;
};

// What blocks and queues belong to: a device's own, or one that an application has made.
struct Context {
  Context(uint32_t of_device, uint64_t limit) : device(of_device), memory(limit) {}

  const uint32_t device;
  Memory memory;
};

// Between the host's bytes and the device's, in either direction. Inline, since kernels read each element so.
inline void copy_masked(uint8_t* to, const uint8_t* from, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i) to[i] = from[i] ^ REFERENCE_MASK;
}

// Repeats a pattern of the host's over the device's bytes.
void fill_masked(uint8_t* to, uint64_t bytes, const uint8_t* pattern, uint32_t pattern_bytes);

}  // namespace reference
