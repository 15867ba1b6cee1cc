#include "memory/block_pool.hpp"

#include <bit>
#include <new>
#include <utility>

#include "constants.hpp"

namespace bp {
// Eight bits of index: the power of two, and the two bits below the leading one.
unsigned FreeBlocks::bin_of(std::uint64_t bytes) {
  const unsigned power = static_cast<unsigned>(std::bit_width(bytes)) - 1;
  const unsigned quarter = power < 2 ? 0 : static_cast<unsigned>(bytes >> (power - 2)) & 3u;
  return power * 4 + quarter;
}

void FreeBlocks::insert(PoolBlock& block) {
  const unsigned bin = bin_of(block.bytes);
  block.previous = nullptr;
  block.next = bins_[bin];
  if (block.next) block.next->previous = &block;
  bins_[bin] = &block;
  filled_[bin / 64] |= std::uint64_t{1} << bin % 64;
}

void FreeBlocks::remove(PoolBlock& block) {
  const unsigned bin = bin_of(block.bytes);
  if (block.next) block.next->previous = block.previous;
  (block.previous ? block.previous->next : bins_[bin]) = block.next;
  if (!bins_[bin]) filled_[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
}

unsigned FreeBlocks::next_filled(unsigned bin) const {
  for (unsigned word = bin / 64; word < filled_.size(); ++word) {
    std::uint64_t bits = filled_[word];
    if (word == bin / 64) bits &= ~std::uint64_t{0} << bin % 64;
    if (bits) return word * 64 + static_cast<unsigned>(std::countr_zero(bits));
  }
  return num_bins;
}

PoolBlock* FreeBlocks::find(std::uint64_t bytes, std::uint64_t at_most) const {
  for (unsigned bin = next_filled(bin_of(bytes)); bin < num_bins; bin = next_filled(bin + 1)) {
    PoolBlock* best = nullptr;
    int looked_at = 0;
    // The first list holds some that are too small; in it, all are looked at.
    const bool all = bin == bin_of(bytes);
    for (PoolBlock* block = bins_[bin]; block; block = block->next) {
      if (block->bytes < bytes) continue;
      if (!best || block->bytes < best->bytes) best = block;
      if (best->bytes == bytes || (!all && ++looked_at == constants::looked_at)) break;
    }
    if (best) return best->bytes <= at_most ? best : nullptr;
    if (bin + 1 == num_bins) break;
  }
  return nullptr;
}

BlockPool::BlockPool(std::uint64_t granule, const Storage& prototype)
    : granule_(granule), prototype_(prototype) {}

BlockPool::~BlockPool() {
  while (Segment* segment = segments_) {
    for (PoolBlock* block = segment->first; block;) delete std::exchange(block, block->upper);
    unlink(*segment);
    delete segment;
  }
  while (PoolBlock* block = spare_) {
    spare_ = block->next;
    delete block;
  }
}

FreeBlocks& BlockPool::free_blocks(StreamImpl* stream, PoolKind kind) {
  for (const auto& pool : streams_)
    if (pool->stream == stream) return pool->free[static_cast<std::size_t>(kind)];
  streams_.push_back(std::make_unique<StreamPool>(StreamPool{stream, {}}));
  return streams_.back()->free[static_cast<std::size_t>(kind)];
}

PoolBlock* BlockPool::new_block() noexcept {
  PoolBlock* block = spare_;
  if (block)
    spare_ = block->next;
  else if (!(block = new (std::nothrow) PoolBlock))
    return nullptr;
  block->device = prototype_.device;
  block->space = prototype_.space;
  block->host_readable = prototype_.host_readable;
  block->release = prototype_.release;
  block->taken = false;
  block->for_core = false;
  return block;
}

void BlockPool::drop_block(PoolBlock* block) noexcept {
  block->next = spare_;
  spare_ = block;
}

// Without memory for the bookkeeping the block stays whole, which is only wasteful.
void BlockPool::split(PoolBlock& block, std::uint64_t bytes) {
  const std::uint64_t rest = block.bytes - bytes;
  const PoolKind kind = block.segment->kind;
  if (kind == PoolKind::whole || rest < granule_) return;
  if (kind == PoolKind::large && rest < constants::least_rest) return;
  PoolBlock* upper = new_block();
  if (!upper) return;
  upper->handle = block.handle;
  upper->segment = block.segment;
  upper->offset = block.offset + bytes;
  upper->bytes = rest;
  upper->lower = &block;
  upper->upper = block.upper;
  if (upper->upper) upper->upper->lower = upper;
  block.upper = upper;
  block.bytes = bytes;
  free_blocks(block.segment->stream, kind).insert(*upper);
  free_bytes_ += rest;
}

PoolBlock* BlockPool::take(StreamImpl* stream, PoolKind kind, std::uint64_t bytes) {
  if (last_ && last_->bytes == bytes && last_->segment->kind == kind &&
      last_->segment->stream == stream) {
    free_bytes_ -= bytes;
    last_->taken = true;
    return std::exchange(last_, nullptr);
  }
  join_last();
  FreeBlocks& free = free_blocks(stream, kind);
  const bool whole = kind == PoolKind::whole;
  PoolBlock* block = free.find(bytes, whole ? bytes + bytes / 4 : ~std::uint64_t{0});
  if (!block) return nullptr;
  free.remove(*block);
  free_bytes_ -= block->bytes;
  split(*block, bytes);
  block->taken = true;
  return block;
}

BlockPool::Prepared BlockPool::prepare(StreamImpl* stream) {
  free_blocks(stream, PoolKind::small);
  Prepared prepared;
  prepared.segment = std::make_unique<Segment>();
  prepared.segment->stream = stream;
  prepared.block.reset(new_block());
  if (!prepared.block) throw std::bad_alloc();
  return prepared;
}

PoolBlock* BlockPool::add_segment(Prepared prepared, std::uint64_t bytes) {
  Segment* segment = prepared.segment.release();
  PoolBlock* block = prepared.block.release();
  segment->first = block;
  segment->before = nullptr;
  segment->after = segments_;
  if (segments_) segments_->before = segment;
  segments_ = segment;
  block->segment = segment;
  block->handle = segment->handle;
  block->offset = 0;
  block->bytes = segment->bytes;
  block->lower = block->upper = nullptr;
  split(*block, bytes);
  block->taken = true;
  return block;
}

void BlockPool::absorb_upper(PoolBlock& block) {
  PoolBlock* upper = block.upper;
  block.bytes += upper->bytes;
  block.upper = upper->upper;
  if (block.upper) block.upper->lower = &block;
  drop_block(upper);
}

void BlockPool::give_back(PoolBlock& block) {
  join_last();  // while `block` is still taken, so that it is not joined
  free_bytes_ += block.bytes;
  block.taken = false;
  block.for_core = false;
  last_ = &block;
}

std::unique_ptr<Segment> BlockPool::remove(PoolBlock& block) noexcept {
  std::unique_ptr<Segment> segment(block.segment);
  unlink(*segment);
  drop_block(&block);
  return segment;
}

void BlockPool::join_last() {
  PoolBlock* block = std::exchange(last_, nullptr);
  if (!block) return;
  FreeBlocks& free = free_blocks(block->segment->stream, block->segment->kind);
  // A waiting neighbour is not free yet, though nobody holds it: it counts as taken.
  if (block->upper && !block->upper->taken) {
    free.remove(*block->upper);
    absorb_upper(*block);
  }
  if (block->lower && !block->lower->taken) {
    block = block->lower;
    free.remove(*block);
    absorb_upper(*block);
  }
  free.insert(*block);
}

void BlockPool::unlink(Segment& segment) {
  if (segment.after) segment.after->before = segment.before;
  (segment.before ? segment.before->after : segments_) = segment.after;
}

void BlockPool::prepare_hand_over(StreamImpl* from, StreamImpl* to) {
  free_blocks(from, PoolKind::small);
  free_blocks(to, PoolKind::small);
}

void BlockPool::hand_over(StreamImpl* from, StreamImpl* to) {
  join_last();
  for (Segment* segment = segments_; segment; segment = segment->after) {
    if (segment->stream != from) continue;
    FreeBlocks& source = free_blocks(from, segment->kind);
    FreeBlocks& target = free_blocks(to, segment->kind);
    for (PoolBlock* block = segment->first; block; block = block->upper) {
      if (block->taken) {
        block->stream.store(to, std::memory_order_relaxed);
        continue;
      }
      source.remove(*block);
      target.insert(*block);
    }
    segment->stream = to;
    segment->is_of_graph = false;
  }
  std::erase_if(streams_, [from](const auto& pool) { return pool->stream == from; });
}

std::vector<std::unique_ptr<Segment>> BlockPool::remove_free_segments() {
  join_last();
  std::size_t count = 0;
  const auto is_free = [](const Segment& segment) {
    return !segment.is_of_graph && !segment.first->taken && !segment.first->upper;
  };
  for (Segment* segment = segments_; segment; segment = segment->after) count += is_free(*segment);
  std::vector<std::unique_ptr<Segment>> removed;
  removed.reserve(count);
  for (Segment* segment = segments_; segment;) {
    Segment* each = std::exchange(segment, segment->after);
    if (!is_free(*each)) continue;
    free_blocks(each->stream, each->kind).remove(*each->first);
    free_bytes_ -= each->first->bytes;
    drop_block(each->first);
    unlink(*each);
    removed.emplace_back(each);
  }
  return removed;
}

}  // namespace bp
