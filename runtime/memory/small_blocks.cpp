#include "memory/small_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <new>

#include <backplane/tensor/check.hpp>

#include "constants.hpp"
#include "devices/thread_list.hpp"
#include "memory/caching_allocator.hpp"

namespace bp {

// A piece of the pool cut into blocks of one size. The blocks follow the header; both lie in one
// page, so that a block finds its slab by clearing bits.
struct alignas(64) Slab {
  SmallBlocks* owner = nullptr;
  PoolBlock* memory = nullptr;  // null for blocks of 0 bytes
  std::uint32_t size_class = 0;
  std::uint32_t num_blocks = 0;
  std::uint32_t num_central = 0;  // of its blocks, how many are in the central list
  Slab* before = nullptr;
  Slab* after = nullptr;

  SmallBlock* blocks() { return reinterpret_cast<SmallBlock*>(this + 1); }
  bool is_free() const { return num_central == num_blocks; }
};

namespace {

constexpr std::size_t slab_page = 4096;
constexpr std::uint32_t max_blocks = slab_page / sizeof(SmallBlock) - 1;
static_assert(sizeof(SmallBlock) == 64 && sizeof(Slab) == 64);

Slab& slab_of(SmallBlock& block) {
  return *reinterpret_cast<Slab*>(reinterpret_cast<std::uintptr_t>(&block) & ~(slab_page - 1));
}

constexpr std::uint64_t bytes_of(std::uint32_t size_class) {
  return size_class * ThreadCache::step;
}

// How many free blocks of a class a thread keeps.
constexpr auto cache_limits = [] {
  std::array<std::uint32_t, ThreadCache::num_classes> limits{};
  for (std::uint32_t k = 0; k < limits.size(); ++k)
    limits[k] = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        constants::thread_cache_bytes / std::max<std::uint64_t>(bytes_of(k), 1),
        constants::least_cached_blocks, constants::most_cached_blocks));
  return limits;
}();

void count(std::uint64_t& counter, std::uint64_t more) {
  __atomic_store_n(&counter, counter + more, __ATOMIC_RELAXED);
}
std::uint64_t read(const std::uint64_t& counter) {
  return __atomic_load_n(&counter, __ATOMIC_RELAXED);
}

void push(SmallBlock*& list, SmallBlock& block) {
  block.next_free = list;
  list = &block;
}
SmallBlock& pop(SmallBlock*& list) {
  SmallBlock& block = *list;
  list = block.next_free;
  return block;
}

}  // namespace

struct SmallBlocks::OwnedCache : ThreadCache {
  SmallBlocks* owner = nullptr;
  OwnedCache* before = nullptr;
  OwnedCache* after = nullptr;
};

SmallBlocks::SmallBlocks(CachingAllocator& allocator, const Storage& prototype,
                         const bp_device_info& info)
    : allocator_(allocator), prototype_(prototype),
      alignment_(std::max<std::uint64_t>(info.offset_alignment, ThreadCache::step)),
      may_cut_((info.flags & BP_DEVICE_CAN_SUBALLOCATE) != 0) {}

SmallBlocks::~SmallBlocks() {
  while (Slab* slab = slabs_) {
    slabs_ = slab->after;
    std::free(slab);
  }
  while (OwnedCache* cache = caches_) {
    caches_ = cache->after;
    delete cache;
  }
}

void SmallBlocks::release(Storage* storage) {
  auto& block = static_cast<SmallBlock&>(*storage);
  ThreadState* state = detail::current_thread_state;
  ThreadCache* cache = state ? state->caches[block.device.number] : nullptr;
  const std::uint32_t k = block.size_class;
  // One owner may have left the count at 1; a snapshot tells free blocks by 0.
  block.refs.store(0, std::memory_order_relaxed);
  if (!cache || cache->count[k] >= cache_limits[k]) [[unlikely]]
    return slab_of(block).owner->release_slowly(block);
  push(cache->free[k], block);
  ++cache->count[k];
  count(cache->num_returned, 1);
  count(cache->bytes_returned, block.bytes);
}

void SmallBlocks::release_slowly(SmallBlock& block) noexcept {
  const std::uint32_t k = block.size_class;
  try {
    OwnedCache& cache = own_cache();
    if (cache.count[k] >= cache_limits[k]) return_blocks(cache, k, cache_limits[k] / 2);
    push(cache.free[k], block);
    ++cache.count[k];
    count(cache.num_returned, 1);
    count(cache.bytes_returned, block.bytes);
  } catch (...) {  // no memory for a cache
    const std::lock_guard lock(mutex_);
    push(central_[k], block);
    ++slab_of(block).num_central;
    ++ended_.num_returned;
    ended_.bytes_returned += block.bytes;
  }
}

SmallBlocks::OwnedCache& SmallBlocks::own_cache() {
  ThreadCache*& slot = thread_state().caches[prototype_.device.number];
  if (slot) return static_cast<OwnedCache&>(*slot);
  auto* cache = new OwnedCache;
  cache->owner = this;
  slot = cache;
  used_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  cache->after = caches_;
  if (caches_) caches_->before = cache;
  caches_ = cache;
  return *cache;
}

Storage* SmallBlocks::allocate(std::uint64_t bytes) {
  const auto k = static_cast<std::uint32_t>((bytes + ThreadCache::step - 1) / ThreadCache::step);
  OwnedCache& cache = own_cache();
  if (!cache.free[k] && !refill(cache, k)) add_slab(cache, k);
  SmallBlock& block = pop(cache.free[k]);
  --cache.count[k];
  count(cache.num_taken, 1);
  count(cache.bytes_taken, block.bytes);
  block.refs.store(1, std::memory_order_relaxed);
  block.version.store(0, std::memory_order_relaxed);
  return &block;
}

// Takes half a cache's worth from the central list; false if that is empty.
bool SmallBlocks::refill(OwnedCache& cache, std::uint32_t size_class) {
  const std::lock_guard lock(mutex_);
  SmallBlock*& central = central_[size_class];
  for (std::uint32_t i = 0; i < cache_limits[size_class] / 2 && central; ++i) {
    SmallBlock& block = pop(central);
    --slab_of(block).num_central;
    push(cache.free[size_class], block);
    ++cache.count[size_class];
  }
  return cache.free[size_class] != nullptr;
}

void SmallBlocks::add_slab(OwnedCache& cache, std::uint32_t size_class) {
  const std::uint64_t stride =
      (std::max<std::uint64_t>(bytes_of(size_class), 1) + alignment_ - 1) / alignment_ * alignment_;
  std::uint32_t wanted = 1;
  if (size_class == 0)
    wanted = max_blocks;
  else if (may_cut_)
    wanted = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        constants::slab_bytes / stride, constants::least_slab_blocks, max_blocks));
  Slab* slab = nullptr;
  try {
    slab = make_slab(size_class, wanted);
  } catch (const Error& error) {
    if (error.error_class() != ErrorClass::out_of_memory || wanted == 1) throw;
    slab = make_slab(size_class, 1);
  }
  const std::lock_guard lock(mutex_);
  slab->after = slabs_;
  if (slabs_) slabs_->before = slab;
  slabs_ = slab;
  // Backwards, so that tensors made one after the other lie so.
  for (std::uint32_t i = slab->num_blocks; i-- > 0;) {
    push(cache.free[size_class], slab->blocks()[i]);
    ++cache.count[size_class];
  }
}

Slab* SmallBlocks::make_slab(std::uint32_t size_class, std::uint32_t num_blocks) {
  const std::uint64_t stride = (bytes_of(size_class) + alignment_ - 1) / alignment_ * alignment_;
  void* room = std::aligned_alloc(slab_page, slab_page);
  if (!room)
    throw_error(ErrorClass::out_of_memory,
                fmt::format("{}: no host memory for the bookkeeping of small tensors",
                            allocator_.device().name));
  auto* slab = new (room) Slab;
  slab->owner = this;
  slab->size_class = size_class;
  slab->num_blocks = num_blocks;
  try {
    if (size_class != 0)
      slab->memory =
          allocator_.allocate_for_core(*allocator_.device().default_stream, stride * num_blocks);
  } catch (...) {
    std::free(room);
    throw;
  }
  for (std::uint32_t i = 0; i < num_blocks; ++i) {
    auto* block = new (slab->blocks() + i) SmallBlock;
    block->device = prototype_.device;
    block->host_readable = prototype_.host_readable;
    block->release = release;
    block->size_class = size_class;
    block->bytes = bytes_of(size_class);
    if (!slab->memory) continue;
    block->handle = slab->memory->handle;
    block->offset = slab->memory->offset + i * stride;
  }
  return slab;
}

void SmallBlocks::return_blocks(OwnedCache& cache, std::uint32_t size_class,
                                std::uint32_t count) noexcept {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < count && cache.free[size_class]; ++i) {
    SmallBlock& block = pop(cache.free[size_class]);
    --cache.count[size_class];
    push(central_[size_class], block);
    ++slab_of(block).num_central;
  }
}

void SmallBlocks::return_cache(ThreadCache& ending) noexcept {
  auto& cache = static_cast<OwnedCache&>(ending);
  SmallBlocks& owner = *cache.owner;
  for (std::uint32_t k = 0; k < ThreadCache::num_classes; ++k)
    owner.return_blocks(cache, k, cache.count[k]);
  {
    const std::lock_guard lock(owner.mutex_);
    owner.ended_.num_taken += cache.num_taken;
    owner.ended_.bytes_taken += cache.bytes_taken;
    owner.ended_.num_returned += cache.num_returned;
    owner.ended_.bytes_returned += cache.bytes_returned;
    if (cache.after) cache.after->before = cache.before;
    (cache.before ? cache.before->after : owner.caches_) = cache.after;
  }
  delete &cache;
}

void return_thread_caches(ThreadState& state) {
  for (ThreadCache*& slot : state.caches)
    if (ThreadCache* cache = std::exchange(slot, nullptr)) SmallBlocks::return_cache(*cache);
}

// Drops the blocks of free slabs from a central list.
void SmallBlocks::remove_from_central(std::uint32_t size_class) {
  SmallBlock* rest = nullptr;
  while (central_[size_class]) {
    SmallBlock& block = pop(central_[size_class]);
    if (!slab_of(block).is_free()) push(rest, block);
  }
  central_[size_class] = rest;
}

void SmallBlocks::return_free_slabs() noexcept {
  if (ThreadCache* cache = thread_state().caches[prototype_.device.number]) {
    for (std::uint32_t k = 0; k < ThreadCache::num_classes; ++k)
      return_blocks(static_cast<OwnedCache&>(*cache), k, cache->count[k]);
  }
  Slab* removed = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t k = 0; k < ThreadCache::num_classes; ++k) remove_from_central(k);
    for (Slab* slab = slabs_; slab;) {
      Slab* each = std::exchange(slab, slab->after);
      if (!each->is_free()) continue;
      if (each->after) each->after->before = each->before;
      (each->before ? each->before->after : slabs_) = each->after;
      each->after = std::exchange(removed, each);
    }
  }
  while (Slab* slab = removed) {
    removed = slab->after;
    if (slab->memory) allocator_.release(*slab->memory);
    std::free(slab);
  }
}

SmallBlocks::Totals SmallBlocks::totals() {
  if (!used_.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(mutex_);
  Totals sum = ended_;
  for (const OwnedCache* cache = caches_; cache; cache = cache->after) {
    sum.num_taken += read(cache->num_taken);
    sum.bytes_taken += read(cache->bytes_taken);
    sum.num_returned += read(cache->num_returned);
    sum.bytes_returned += read(cache->bytes_returned);
  }
  return sum;
}

void SmallBlocks::add_to_snapshot(std::vector<MemoryBlockInfo>& snapshot) {
  const std::lock_guard lock(mutex_);
  for (Slab* slab = slabs_; slab; slab = slab->after) {
    if (!slab->memory) continue;
    for (std::uint32_t i = 0; i < slab->num_blocks; ++i) {
      const SmallBlock& block = slab->blocks()[i];
      snapshot.push_back({block.handle, block.offset, block.bytes,
                          block.refs.load(std::memory_order_relaxed) != 0, 0});
    }
  }
}

std::uint64_t SmallBlocks::largest_in_use() {
  const std::lock_guard lock(mutex_);
  std::uint64_t largest = 0;
  for (Slab* slab = slabs_; slab; slab = slab->after)
    for (std::uint32_t i = 0; i < slab->num_blocks; ++i)
      if (slab->blocks()[i].refs.load(std::memory_order_relaxed) != 0)
        largest = std::max(largest, slab->blocks()[i].bytes);
  return largest;
}

}  // namespace bp
