// Allocation in huge pages, copy and fill. Handles are addresses.
#include "memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unordered_map>

#include <backplane/plugin/process.hpp>

#include "constants.hpp"
#include "device.hpp"
#include "host.hpp"
#include "threads.hpp"
#include "tile/move.hpp"

namespace bp::cpu {
namespace {

constexpr uint64_t huge_page_bytes = uint64_t{2} << 20;
constexpr uint64_t page_bytes = 4096;
constexpr uint64_t cache_line_bytes = 64;

bool is_power_of_two(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}
uint64_t round_up(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

// Bytes of mappings by their address, since release is not told how an allocation was made. Never destroyed: tensors in
// static variables may be released after our own statics.
using Mappings = std::unordered_map<uint64_t, uint64_t>;
constinit std::mutex mappings_mutex;
[[maybe_unused]] const bool forks_wait_for_mappings = bp_sdk::forks_wait_for<mappings_mutex>();
Mappings& mappings = *new Mappings;

// Aligned to huge pages, of which the kernel then makes the block: fewer faults when it is first
// touched, and fewer misses of the address cache ever after.
bp_code map_block(uint64_t bytes, uint64_t alignment, bp_handle* out) {
  alignment = std::max(alignment, huge_page_bytes);
  if (bytes > UINT64_MAX / 4 || alignment > UINT64_MAX / 4) return BP_OUT_OF_MEMORY;
  const uint64_t length = round_up(bytes, page_bytes);
  const uint64_t mapped = length + alignment - page_bytes;
  const std::lock_guard lock(mappings_mutex);
  mappings.reserve(mappings.size() + 1);

  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return BP_OUT_OF_MEMORY;
  const uint64_t first = reinterpret_cast<uint64_t>(start);
  const uint64_t address = round_up(first, alignment);
  const uint64_t tail = first + mapped - (address + length);
  if (address != first) munmap(start, address - first);
  if (tail != 0) munmap(reinterpret_cast<void*>(address + length), tail);
  madvise(reinterpret_cast<void*>(address), length, MADV_HUGEPAGE);  // a wish; may be refused
  try {
    mappings.emplace(address, length);
  } catch (...) {
    munmap(reinterpret_cast<void*>(address), length);
    return BP_OUT_OF_MEMORY;
  }
  *out = address;
  return BP_OK;
}

bp_code allocate(bp_device*, uint64_t bytes, uint64_t alignment, bp_handle* out) noexcept {
  *out = 0;
  alignment = std::max(alignment, cache_line_bytes);
  if (!is_power_of_two(alignment))
    return fail(BP_BAD_ARGUMENT, "cpu: an alignment must be a power of two");
  return guarded("cpu: allocate", [&] {
    bp_code code = BP_OUT_OF_MEMORY;
    if (bytes >= huge_page_bytes) {
      code = map_block(bytes, alignment, out);
    } else if (void* block = std::aligned_alloc(alignment, round_up(bytes, alignment))) {
      *out = reinterpret_cast<bp_handle>(block);
      code = BP_OK;
    }
    if (code == BP_OK) return code;
    return fail(code, "cpu: no memory for " + std::to_string(bytes) + " bytes");
  });
}

void release(bp_device*, bp_handle handle) noexcept {
  if (handle == 0) return;
  void* address = reinterpret_cast<void*>(handle);
  if (handle % huge_page_bytes == 0) {
    const std::lock_guard lock(mappings_mutex);
    if (const auto found = mappings.find(handle); found != mappings.end()) {
      munmap(address, found->second);
      mappings.erase(found);
      return;
    }
  }
  std::free(address);
}

void* address_of(const bp_region* region) {
  return reinterpret_cast<void*>(region->handle + region->offset);
}

bp_code copy(bp_device*, const bp_region* to, const bp_region* from, uint32_t,
             bp_stream*) noexcept {
  return guarded("cpu: copy", [&] {
    copy_bytes(address_of(to), address_of(from), std::min(to->bytes, from->bytes));
    return BP_OK;
  });
}

bp_code fill(bp_device*, const bp_region* to, const void* pattern, uint32_t pattern_bytes,
             bp_stream*) noexcept {
  if (!is_power_of_two(pattern_bytes) || pattern_bytes > 16)
    return fail(BP_BAD_ARGUMENT, "cpu: a pattern has 1, 2, 4, 8 or 16 bytes");
  return guarded("cpu: fill", [&] {
    fill_bytes(address_of(to), to->bytes, pattern, pattern_bytes);
    return BP_OK;
  });
}

}  // namespace

void copy_bytes(void* to, const void* from, uint64_t bytes) {
  if (bytes < static_cast<uint64_t>(constants::copy_bytes)) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return;
  }
  auto* const target = static_cast<unsigned char*>(to);
  auto* const source = static_cast<const unsigned char*>(from);
  const bool streams =
      tile::worth_streaming(static_cast<int64_t>(bytes), static_cast<int64_t>(bytes));
  const int64_t pages = static_cast<int64_t>((bytes + page_bytes - 1) / page_bytes);
  parallel_for(pages, constants::copy_bytes / 2 / page_bytes, [&](int64_t begin, int64_t end) {
    const uint64_t at = begin * page_bytes;
    const uint64_t part = std::min(bytes, end * page_bytes) - at;
    if (!streams) {
      std::memcpy(target + at, source + at, part);
      return;
    }
    tile::stream(target + at, source + at, static_cast<int64_t>(part));
    tile::finish_streaming();
  });
}

void fill_bytes(void* to, uint64_t bytes, const void* pattern, uint32_t pattern_bytes) {
  char repeated[5 * 16];
  for (uint32_t at = 0; at < sizeof repeated; at += pattern_bytes)
    std::memcpy(repeated + at, pattern, pattern_bytes);
  auto* const target = static_cast<char*>(to);
  const auto size = static_cast<int64_t>(bytes);
  if (bytes <= sizeof repeated) {
    std::memcpy(target, repeated, bytes);
    return;
  }
  if (size < constants::copy_bytes) return tile::repeat(target, repeated, size, false);

  const bool streams = tile::worth_streaming(0, size);
  const int64_t page = page_bytes, pages = (size + page - 1) / page;
  parallel_for(pages, constants::copy_bytes / 2 / page, [&](int64_t begin, int64_t end) {
    // A multiple of 16: every part begins in phase.
    tile::repeat(target + begin * page, repeated, std::min(size, end * page) - begin * page,
                 streams);
    if (streams) tile::finish_streaming();
  });
}

constinit const bp_memory memory_functions = [] {
  bp_memory memory{};
  memory.h = {sizeof(bp_memory), BP_TYPE_MEMORY, nullptr};
  memory.allocate = allocate;
  memory.release = release;
  memory.copy = copy;
  memory.fill = fill;
  memory.describe_space = describe_space;
  return memory;
}();

}  // namespace bp::cpu
