// Memory shared by tensors: counted, versioned, and returned to its provider.
#pragma once

#include <atomic>
#include <cstdint>

#include <backplane/abi.h>
#include <backplane/tensor/device.hpp>

namespace bp {

struct StreamImpl;

// A piece of an allocation. Providers derive from it (the allocator's blocks are storages, so that
// taking one from a pool is all the work of a new tensor); tensors share it by counting.
// Threads: the counters are atomic; the other fields do not change while it is shared.
struct Storage {
  std::atomic<std::uint32_t> refs{0};
  std::atomic<std::uint32_t> version{0};  // rises with every write, for autograd's checks
  bp_handle handle = 0;
  std::uint64_t offset = 0;  // from the start of the allocation
  std::uint64_t bytes = 0;
  void (*release)(Storage*) = nullptr;  // called by the thread that drops the last reference
  // Whose work may use it without a word to the provider, which is told of every other stream: note_use. Null: the
  // provider does not care. It changes only when its stream goes and another one takes over what that had.
  std::atomic<StreamImpl*> stream{nullptr};
  Device device;
  std::uint8_t space = 0;      // of the device's memories, 0 the main one
  bool host_readable = false;  // handle + offset is an address that this process may use

  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void drop() {
    // The sole owner needs no read-modify-write: nobody else can take a reference meanwhile.
    if (refs.load(std::memory_order_acquire) == 1 ||
        refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
      release(this);
  }
  void bump_version() {
    version.store(version.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

}  // namespace bp
