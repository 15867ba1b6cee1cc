// Memory of tensors: one caching allocator for all backends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensor/memory_format.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

class Stream;

// Free blocks of one device that this thread has just used, by size in steps of 64 bytes: taking and
// giving back one costs a few instructions and no lock. Only for synchronous devices, where a block
// may be used again at once.
struct SmallBlock : Storage {
  std::uint16_t size_class = 0;  // where Storage leaves room: a SmallBlock is one cache line
  SmallBlock* next_free = nullptr;
};
struct ThreadCache {
  static constexpr std::uint64_t step = 64;
  static constexpr std::uint32_t num_classes = 65;  // class k holds blocks of k * step bytes
  SmallBlock* free[num_classes] = {};
  std::uint32_t count[num_classes] = {};
  // Written by this thread alone, read by statistics (std::atomic_ref, relaxed).
  std::uint64_t num_taken = 0, bytes_taken = 0, num_returned = 0, bytes_returned = 0;
};

namespace detail {
BP_API Storage* allocate_storage_slow(DeviceRecord& record, std::uint64_t bytes);
}

// A storage of at least `bytes` with one reference, for use on the thread's current stream of the
// device. Zero bytes gives a storage without memory. Throws out_of_memory with what is held.
inline Storage* allocate_storage(DeviceRecord& record, std::uint64_t bytes) {
  ThreadCache* cache = thread_state().caches[record.device.number];
  const std::uint64_t size_class = (bytes + ThreadCache::step - 1) / ThreadCache::step;
  if (cache && size_class < ThreadCache::num_classes) [[likely]] {
    if (SmallBlock* block = cache->free[size_class]) [[likely]] {
      cache->free[size_class] = block->next_free;
      --cache->count[size_class];
      __atomic_store_n(&cache->num_taken, cache->num_taken + 1, __ATOMIC_RELAXED);
      __atomic_store_n(&cache->bytes_taken, cache->bytes_taken + block->bytes, __ATOMIC_RELAXED);
      block->refs.store(1, std::memory_order_relaxed);
      block->version.store(0, std::memory_order_relaxed);
      return block;
    }
  }
  return detail::allocate_storage_slow(record, bytes);
}

// A tensor with memory but without values. Throws bad_argument for a bad shape, out_of_memory.
BP_API Tensor empty_tensor(IntList shape, Dtype dtype, Device device,
                           MemoryFormat format = MemoryFormat::contiguous);
// The same with given strides (of a dense or overlapping layout).
BP_API Tensor empty_strided_tensor(IntList shape, IntList strides, Dtype dtype, Device device);
// Gives a tensor without elements another shape, row-major, and memory for it, which all its handles see.
// False, and nothing has changed, if it has elements, is a view, or has views.
BP_API bool resize_empty_tensor(const Tensor& tensor, IntList shape);
// Over memory of the application, on a device whose handles are real addresses. `deleter`, if any,
// runs when the last tensor is destroyed and the streams that used it are done; not if this throws.
BP_API Tensor tensor_from_blob(void* data, IntList shape, IntList strides, Dtype dtype,
                               Device device, void (*deleter)(void* context), void* context);

// Tells the allocator that work on `stream` uses the tensor's memory, which the core cannot know
// of: the application's own work on handles that it has taken out (native_handle, DLPack). Call it
// while you hold the tensor; once the last handle is gone, the memory is not reused before the
// stream has finished the work that it had at that moment. Operators, copies and replays are
// tracked by the core, on whichever stream they run.
BP_API void record_stream(const Tensor& tensor, const Stream& stream);
BP_API void record_stream(const Tensor& tensor, StreamImpl* stream);

namespace detail {
BP_API void note_use_elsewhere(Storage& storage, StreamImpl& stream);
}
// The same for the core's own calls: before work that uses the storage is submitted to the stream.
// Just a comparison if that is the storage's own stream. For asynchronous devices; others are done
// with everything that they were given.
inline void note_use(const TensorImpl& impl, StreamImpl& stream) {
  Storage* storage = impl.storage;
  if (storage->stream.load(std::memory_order_relaxed) != &stream) [[unlikely]]
    detail::note_use_elsewhere(*storage, stream);
}

struct MemoryStatistics {
  std::uint64_t allocated_bytes = 0, peak_allocated_bytes = 0;  // held by tensors
  std::uint64_t reserved_bytes = 0, peak_reserved_bytes = 0;    // taken from the backend
  std::uint64_t num_allocations = 0, num_releases = 0;          // by tensors
  std::uint64_t num_backend_allocations = 0, num_backend_releases = 0;
  std::uint64_t num_retries = 0, num_out_of_memory = 0;
  std::uint64_t limit_bytes = 0;  // 0: none
};
struct MemoryBlockInfo {
  bp_handle handle = 0;
  std::uint64_t offset = 0, bytes = 0;
  bool in_use = false;
  std::uint32_t stream = 0;
};

// Per device and memory (spaces.hpp): the main memory unless another is named. Threads: any.
BP_API MemoryStatistics memory_statistics(Device device, std::uint32_t space = 0);
BP_API void reset_peak_memory_statistics(Device device, std::uint32_t space = 0);
// Of reserved memory; 0: none.
BP_API void set_memory_limit(Device device, std::uint64_t bytes, std::uint32_t space = 0);
// Frees cached memory that no tensor uses.
BP_API void empty_cache(Device device, std::uint32_t space = 0);
BP_API std::vector<MemoryBlockInfo> memory_snapshot(Device device, std::uint32_t space = 0);
// The memory in use, by size, as an out-of-memory error shows it.
BP_API std::string memory_summary(Device device, std::uint32_t space = 0);

// An application's own source of device memory in place of the plugin's.
struct CustomAllocator {
  void* context = nullptr;
  bp_code (*allocate)(void* context, std::uint64_t bytes, std::uint64_t alignment,
                      bp_handle* out) = nullptr;
  void (*release)(void* context, bp_handle handle) = nullptr;
};
// Takes effect for memory reserved from now on; throws bad_argument if either function is missing.
BP_API void set_custom_allocator(Device device, const CustomAllocator& custom);

// Pooled, counted host memory for staging and for plugins; nullptr when there is none left. It
// works without any backend.
BP_API void* allocate_host(std::uint64_t bytes, std::uint64_t alignment);
BP_API void release_host(void* ptr);
BP_API MemoryStatistics host_memory_statistics();
BP_API void set_host_memory_limit(std::uint64_t bytes);

}  // namespace bp
