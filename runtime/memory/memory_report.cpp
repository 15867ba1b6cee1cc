// What an allocator holds: statistics, snapshots, and the sentence of an out-of-memory error.
#include <algorithm>
#include <mutex>

#include <backplane/tensor/check.hpp>

#include "memory/caching_allocator.hpp"

namespace bp {

std::string format_bytes(std::uint64_t bytes) {
  static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  return fmt::format("{:.2f} {}", value, units[unit]);
}

// Small blocks are counted by threads, so that a peak is only as sharp as its samples: whenever the
// pool is asked, and when somebody looks.
void CachingAllocator::note_peaks(const SmallBlocks::Totals& small) {
  const std::uint64_t allocated =
      counted_.allocated_bytes + small.bytes_taken - small.bytes_returned;
  counted_.peak_allocated_bytes = std::max(counted_.peak_allocated_bytes, allocated);
  counted_.peak_reserved_bytes = std::max(counted_.peak_reserved_bytes, counted_.reserved_bytes);
}

MemoryStatistics CachingAllocator::statistics() {
  const SmallBlocks::Totals small = small_blocks_.totals();
  const std::lock_guard lock(mutex_);
  note_peaks(small);
  MemoryStatistics sum = counted_;
  sum.allocated_bytes += small.bytes_taken - small.bytes_returned;
  sum.num_allocations += small.num_taken;
  sum.num_releases += small.num_returned;
  return sum;
}

void CachingAllocator::reset_peaks() {
  const SmallBlocks::Totals small = small_blocks_.totals();
  const std::lock_guard lock(mutex_);
  counted_.peak_allocated_bytes = counted_.peak_reserved_bytes = 0;
  note_peaks(small);
}

std::int64_t CachingAllocator::num_live() {
  const MemoryStatistics now = statistics();
  return static_cast<std::int64_t>(now.num_allocations - now.num_releases);
}

std::vector<MemoryBlockInfo> CachingAllocator::snapshot() {
  std::vector<MemoryBlockInfo> blocks;
  {
    const std::lock_guard lock(mutex_);
    for (const Segment* segment = pool_.segments(); segment; segment = segment->after) {
      for (const PoolBlock* block = segment->first; block; block = block->upper) {
        if (block->for_core) continue;
        blocks.push_back(
            {block->handle, block->offset, block->bytes, block->taken, segment->stream.load()->id});
      }
    }
  }
  small_blocks_.add_to_snapshot(blocks);
  return blocks;
}

CachingAllocator::Held CachingAllocator::held() {
  const MemoryStatistics now = statistics();
  Held held;
  held.bytes = now.allocated_bytes;
  held.num_blocks = now.num_allocations - now.num_releases;
  held.largest = small_blocks_.largest_in_use();
  const std::lock_guard lock(mutex_);
  for (const Segment* segment = pool_.segments(); segment; segment = segment->after)
    for (const PoolBlock* block = segment->first; block; block = block->upper)
      if (block->taken && !block->for_core) held.largest = std::max(held.largest, block->bytes);
  return held;
}

std::string CachingAllocator::summary() {
  const Held now = held();
  const MemoryStatistics statistics_now = statistics();
  std::string text = fmt::format("held by tensors {} in {} {}", format_bytes(now.bytes),
                                 now.num_blocks, now.num_blocks == 1 ? "block" : "blocks");
  if (now.largest != 0) text += fmt::format(" (largest {})", format_bytes(now.largest));
  const std::uint64_t cached =
      statistics_now.reserved_bytes - std::min(statistics_now.reserved_bytes, now.bytes);
  text += fmt::format(", cached {}", format_bytes(cached));
  if (statistics_now.limit_bytes != 0)
    text += fmt::format("; limit {}", format_bytes(statistics_now.limit_bytes));
  if (total_bytes() != 0) text += fmt::format("; total {}", format_bytes(total_bytes()));
  return text;
}

std::uint64_t CachingAllocator::total_bytes() const {
  return is_main() ? device_.info.total_memory : space_->total_bytes;
}

void CachingAllocator::throw_out_of_memory(const Request& request) {
  bool limited = false;
  {
    const std::lock_guard lock(mutex_);
    ++counted_.num_out_of_memory;
    limited = counted_.limit_bytes != 0;
  }
  std::string text =
      fmt::format("{}: out of memory: asked {}; {}; free tensors{}{}", name_,
                  format_bytes(request.asked), summary(), limited ? " or raise the limit" : "",
                  is_main() ? "" : " or move them to main memory with to_space()");
  if (!request.plugin_message.empty())
    text += fmt::format(" (plugin {}: {})", device_.backend->name, request.plugin_message);
  throw_error(ErrorClass::out_of_memory, text);
}

void CachingAllocator::throw_too_large(std::uint64_t asked) const {
  throw_error(
      ErrorClass::out_of_memory,
      fmt::format("{}: out of memory: asked {} bytes, but one allocation has at most {}; use "
                  "smaller tensors{}",
                  name_, asked, most(), is_main() ? "" : " or main memory"));
}

}  // namespace bp
