// Host memory for staging and for plugins: pooled by size, counted, limited. Needs no backend.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>

#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/check.hpp>

#include "constants.hpp"
#include "devices/core_mutex.hpp"

namespace bp {
namespace {

constexpr std::uint64_t header_bytes = 64;
constexpr std::uint64_t page = 4096;
constexpr unsigned num_bins = 256;

// Lies just before what the caller gets.
struct Header {
  void* start;          // of the allocation
  std::uint64_t bytes;  // of the allocation
  Header* next;         // in its list while free
  std::uint32_t bin;
  bool paged;  // aligned to a page
};
static_assert(sizeof(Header) <= header_bytes);

struct HostPool {
  CoreMutex mutex;
  Header* free[2][num_bins] = {};  // by alignment to a line or a page
  std::uint64_t cached_bytes = 0;
  MemoryStatistics counted;
};

HostPool& host_pool() {
  static HostPool& pool = *new HostPool;
  return pool;
}
BP_MADE_AT_LOAD(host_pool);

Header& header_of(void* ptr) {
  return *reinterpret_cast<Header*>(static_cast<char*>(ptr) - sizeof(Header));
}

// Sizes in four steps to each power of two, of which the bin is the number.
struct SizeClass {
  unsigned bin;
  std::uint64_t bytes;
};
SizeClass size_class(std::uint64_t bytes) {
  bytes = std::max<std::uint64_t>(bytes, constants::least_host_bytes);
  const std::uint64_t step = std::bit_floor(bytes) / 4;
  const std::uint64_t rounded = (bytes + step - 1) / step * step;
  const unsigned power = static_cast<unsigned>(std::bit_width(rounded)) - 1;
  return {power * 4 + (static_cast<unsigned>(rounded >> (power - 2)) & 3u), rounded};
}

void give_to_system(Header* list) {
  while (Header* header = list) {
    list = header->next;
    std::free(header->start);
  }
}

// Under the lock: all that is free, as one list.
Header* take_cache(HostPool& pool) {
  Header* list = nullptr;
  for (auto& bins : pool.free) {
    for (Header*& bin : bins) {
      while (Header* header = bin) {
        bin = header->next;
        header->next = list;
        list = header;
        ++pool.counted.num_backend_releases;
      }
    }
  }
  pool.counted.reserved_bytes -= pool.cached_bytes;
  pool.cached_bytes = 0;
  return list;
}

void count_taken(HostPool& pool, std::uint64_t bytes) {
  MemoryStatistics& counted = pool.counted;
  ++counted.num_allocations;
  counted.allocated_bytes += bytes;
  counted.peak_allocated_bytes = std::max(counted.peak_allocated_bytes, counted.allocated_bytes);
}

void* take_cached(HostPool& pool, SizeClass wanted, bool paged) {
  const std::lock_guard lock(pool.mutex);
  Header*& bin = pool.free[paged][wanted.bin];
  Header* header = bin;
  if (!header) return nullptr;
  bin = header->next;
  pool.cached_bytes -= header->bytes;
  count_taken(pool, header->bytes);
  return header + 1;
}

// Counts the bytes before they are asked for, so that two threads cannot pass the limit.
bool may_reserve(HostPool& pool, std::uint64_t bytes) {
  Header* unused = nullptr;
  bool fits = true;
  {
    const std::lock_guard lock(pool.mutex);
    MemoryStatistics& counted = pool.counted;
    const auto is_over = [&] {
      return counted.limit_bytes != 0 && counted.reserved_bytes + bytes > counted.limit_bytes;
    };
    if (is_over()) unused = take_cache(pool);
    fits = !is_over();
    if (fits)
      counted.reserved_bytes += bytes;
    else
      ++counted.num_out_of_memory;
  }
  give_to_system(unused);
  return fits;
}

void* ask_system(HostPool& pool, std::uint64_t bytes, std::uint64_t alignment) {
  void* start = nullptr;
  if (posix_memalign(&start, alignment, bytes) == 0) return start;
  Header* unused = nullptr;
  {
    const std::lock_guard lock(pool.mutex);
    ++pool.counted.num_retries;
    unused = take_cache(pool);
  }
  give_to_system(unused);
  return posix_memalign(&start, alignment, bytes) == 0 ? start : nullptr;
}

void* make(HostPool& pool, SizeClass wanted, std::uint64_t alignment) {
  if (!may_reserve(pool, wanted.bytes)) return nullptr;
  void* start = ask_system(pool, wanted.bytes, alignment);
  const std::lock_guard lock(pool.mutex);
  MemoryStatistics& counted = pool.counted;
  if (!start) {
    counted.reserved_bytes -= wanted.bytes;
    ++counted.num_out_of_memory;
    return nullptr;
  }
  ++counted.num_backend_allocations;
  counted.peak_reserved_bytes = std::max(counted.peak_reserved_bytes, counted.reserved_bytes);
  count_taken(pool, wanted.bytes);
  void* ptr = static_cast<char*>(start) + std::max(alignment, header_bytes);
  header_of(ptr) = {start, wanted.bytes, nullptr, wanted.bin, alignment == page};
  return ptr;
}

}  // namespace

void* allocate_host(std::uint64_t bytes, std::uint64_t alignment) {
  if (bytes > std::uint64_t{1} << 62 || alignment > std::uint64_t{1} << 40) return nullptr;
  if (alignment != 0 && !std::has_single_bit(alignment)) return nullptr;
  HostPool& pool = host_pool();
  if (alignment <= header_bytes)
    alignment = header_bytes;
  else
    alignment = std::max(alignment, page);
  const SizeClass wanted = size_class(bytes + alignment);
  if (alignment <= page)
    if (void* ptr = take_cached(pool, wanted, alignment == page)) return ptr;
  return make(pool, wanted, alignment);
}

void release_host(void* ptr) {
  if (!ptr) return;
  HostPool& pool = host_pool();
  Header& header = header_of(ptr);
  const bool odd = static_cast<char*>(ptr) - static_cast<char*>(header.start) >
                   static_cast<std::ptrdiff_t>(page);
  void* start = header.start;
  {
    const std::lock_guard lock(pool.mutex);
    MemoryStatistics& counted = pool.counted;
    ++counted.num_releases;
    counted.allocated_bytes -= header.bytes;
    if (!odd && pool.cached_bytes + header.bytes <= constants::cached_host_bytes) {
      Header*& bin = pool.free[header.paged][header.bin];
      header.next = bin;
      bin = &header;
      pool.cached_bytes += header.bytes;
      return;
    }
    counted.reserved_bytes -= header.bytes;
    ++counted.num_backend_releases;
  }
  std::free(start);
}

MemoryStatistics host_memory_statistics() {
  HostPool& pool = host_pool();
  const std::lock_guard lock(pool.mutex);
  return pool.counted;
}

void set_host_memory_limit(std::uint64_t bytes) {
  HostPool& pool = host_pool();
  const std::lock_guard lock(pool.mutex);
  pool.counted.limit_bytes = bytes;
}

}  // namespace bp
