// Blocks of up to 4 KiB on synchronous devices: slabs cut into equal pieces, which move between the
// caches of threads and a central list.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <backplane/runtime/allocator.hpp>

#include "devices/core_mutex.hpp"

namespace bp {

class CachingAllocator;
struct PoolBlock;
struct Slab;

class SmallBlocks {
 public:
  static constexpr std::uint64_t max_bytes = ThreadCache::step * (ThreadCache::num_classes - 1);

  struct Totals {
    std::uint64_t num_taken = 0, bytes_taken = 0, num_returned = 0, bytes_returned = 0;
  };

  SmallBlocks(CachingAllocator& allocator, const Storage& prototype, const bp_device_info& info);
  ~SmallBlocks();  // forgets all slabs; their memory goes with the allocator's pool

  // For a thread whose cache has nothing that fits: gets it more and takes one. Throws as the
  // allocator does.
  Storage* allocate(std::uint64_t bytes);

  // Empties this thread's cache and gives the slabs without a block in use back to the pool.
  void return_free_slabs() noexcept;

  Totals totals();
  void add_to_snapshot(std::vector<MemoryBlockInfo>& snapshot);
  std::uint64_t largest_in_use();

  // A thread's cache at its end.
  static void return_cache(ThreadCache& cache) noexcept;

 private:
  struct OwnedCache;

  static void release(Storage* storage);
  void release_slowly(SmallBlock& block) noexcept;
  OwnedCache& own_cache();
  bool refill(OwnedCache& cache, std::uint32_t size_class);
  void add_slab(OwnedCache& cache, std::uint32_t size_class);
  Slab* make_slab(std::uint32_t size_class, std::uint32_t num_blocks);
  void return_blocks(OwnedCache& cache, std::uint32_t size_class, std::uint32_t count) noexcept;
  void remove_from_central(std::uint32_t size_class);

  CachingAllocator& allocator_;
  const Storage& prototype_;
  const std::uint64_t alignment_;
  const bool may_cut_;
  std::atomic<bool> used_{false};

  CoreMutex mutex_;  // guards what follows
  SmallBlock* central_[ThreadCache::num_classes] = {};
  Slab* slabs_ = nullptr;
  OwnedCache* caches_ = nullptr;
  Totals ended_;  // of threads that have ended
};

}  // namespace bp
