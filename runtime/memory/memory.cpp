// The public face of the allocator: by device, by tensor.
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/capturing.hpp>
#include <backplane/tensor/check.hpp>

#include "devices/device_state.hpp"
#include "memory/spaces.hpp"

namespace bp {
namespace {

CachingAllocator& allocator_of(const char* op, Device device, std::uint32_t space = 0) {
  DeviceRecord& record = device_record(device);
  BP_CHECK(record.allocator, "{}: {} has no memory", op, record.name);
  return allocator_of_space(op, state_of(record), space);
}

}  // namespace

namespace detail {

Storage* allocate_storage_slow(DeviceRecord& record, std::uint64_t bytes) {
  BP_CHECK(record.backend, "allocate: {} has no memory; use a tensor's shape alone", record.name);
  if (state_of(record).is_left_behind()) throw_left_behind(record);
  CachingAllocator& allocator = *record.allocator;
  try {
    // Blocks of no bytes have no work to wait for, on whichever device.
    if (bytes == 0 || (record.synchronous && bytes <= SmallBlocks::max_bytes))
      return allocator.small_blocks().allocate(bytes);
    return allocator.allocate(stream_of_memory(record), bytes);
  } catch (const std::bad_alloc&) {
    throw_error(
        ErrorClass::out_of_memory,
        fmt::format("{}: no host memory for the bookkeeping of {}; free some and call again",
                    record.name, format_bytes(bytes)));
  }
}

}  // namespace detail

std::int64_t num_live_storages(Device device) {
  DeviceState& state = registered_state(device);
  std::int64_t count = state.live_blobs.load(std::memory_order_relaxed);
  for_each_allocator(state, [&](CachingAllocator& each) { count += each.num_live(); });
  return count;
}

MemoryStatistics memory_statistics(Device device, std::uint32_t space) {
  return allocator_of("memory_statistics", device, space).statistics();
}

void reset_peak_memory_statistics(Device device, std::uint32_t space) {
  allocator_of("reset_peak_memory_statistics", device, space).reset_peaks();
}

void set_memory_limit(Device device, std::uint64_t bytes, std::uint32_t space) {
  allocator_of("set_memory_limit", device, space).set_limit(bytes);
}

void empty_cache(Device device, std::uint32_t space) {
  allocator_of("empty_cache", device, space).empty_cache();
}

std::vector<MemoryBlockInfo> memory_snapshot(Device device, std::uint32_t space) {
  return allocator_of("memory_snapshot", device, space).snapshot();
}

std::string memory_summary(Device device, std::uint32_t space) {
  return allocator_of("memory_summary", device, space).summary();
}

void set_custom_allocator(Device device, const CustomAllocator& custom) {
  BP_CHECK(custom.allocate && custom.release,
           "set_custom_allocator: {} is missing; give both functions",
           custom.allocate ? "release" : "allocate");
  allocator_of("set_custom_allocator", device).set_custom(custom);
}

}  // namespace bp
