// Blocks that other streams use than the one they belong to: they wait for those streams' events.
#include "streams/stream_uses.hpp"

#include <array>
#include <mutex>
#include <utility>

#include <backplane/tensor/check.hpp>

#include "constants.hpp"
#include "memory/caching_allocator.hpp"

namespace bp {
namespace {

// The present end of the stream, or no event where the backend has none to give. An event given to a stream that the
// device records would be part of the recording.
bp_event* record_end(StreamState& stream) noexcept {
  DeviceState& device = state_of(*stream.record);
  const StreamPin pin(stream);
  if (!pin || stream.is_recorded.load(std::memory_order_relaxed)) return nullptr;
  bp_event* event = take_event(device);
  if (!event) return nullptr;
  if (device.queue->record_event(device.handle, event, stream.raw) == BP_OK) return event;
  give_event(device, event);
  return nullptr;
}

bool has_passed(const StreamUse& use) noexcept {
  DeviceState& device = state_of(*use.stream->record);
  if (use.event) return is_reached_quietly(device, use.event, *use.stream);
  if (device.synchronous || is_gone(*use.stream)) return true;
  if (device.queue->query_stream) return is_idle_quietly(*use.stream);
  if (use.stream->is_recorded.load(std::memory_order_relaxed)) return false;
  wait_quietly(*use.stream);
  return true;
}

// Streams that were found at work: what waits longer for the same one need not be asked for. The device is asked once
// for each stream then, however many blocks wait for it.
class Busy {
 public:
  bool has(const StreamState* stream) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (streams_[i] == stream) return true;
    return false;
  }
  void add(const StreamState* stream) {
    if (count_ < streams_.size()) streams_[count_++] = stream;
  }

 private:
  std::array<const StreamState*, constants::remembered_busy> streams_{};
  std::size_t count_ = 0;
};

// Drops the uses that are over; true if none is left, and the block may go.
bool is_unused(PoolBlock& block, Busy& busy) noexcept {
  while (const StreamUse* use = block.uses.first()) {
    if (busy.has(use->stream)) return false;
    if (!has_passed(*use)) {
      busy.add(use->stream);
      return false;
    }
    if (use->event) give_event(state_of(*use->stream->record), use->event);
    block.uses.pop();
  }
  // Its end would be part of the recording.
  return !block.segment->by_stream ||
         !state_of(*block.segment->stream).is_recorded.load(std::memory_order_relaxed);
}

}  // namespace

void StreamUses::add(StreamState& stream) {
  StreamUse* first = first_.load(std::memory_order_acquire);
  const StreamUse* known_end = nullptr;
  std::unique_ptr<StreamUse> made;
  for (;;) {
    for (const StreamUse* each = first; each != known_end; each = each->next)
      if (each->stream == &stream) return;
    known_end = first;
    if (!made) {
      made = std::make_unique<StreamUse>();
      made->stream = &stream;
    }
    made->next = first;
    if (first_.compare_exchange_weak(first, made.get(), std::memory_order_acq_rel)) break;
  }
  static_cast<void>(made.release());
}

void StreamUses::pop() noexcept {
  StreamUse* use = first_.load(std::memory_order_relaxed);
  first_.store(use->next, std::memory_order_relaxed);
  delete use;
}

void CachingAllocator::start_waiting(PoolBlock& block) noexcept {
  for (StreamUse* use = block.uses.first(); use; use = use->next)
    use->event = record_end(*use->stream);
  const std::lock_guard lock(mutex_);
  finish(block);
  block.next = nullptr;
  (waiting_ ? last_waiting_->next : waiting_) = &block;
  last_waiting_ = &block;
  num_waiting_.fetch_add(1, std::memory_order_relaxed);
}

// The list is taken out, asked without the lock, and what goes on waiting is put back before what came meanwhile: from
// the oldest on, so that one event that is not reached answers for all later ones of its stream.
void CachingAllocator::poll_waiting() noexcept {
  PoolBlock* list = nullptr;
  {
    const std::lock_guard lock(mutex_);
    list = std::exchange(waiting_, nullptr);
  }
  PoolBlock *unused = nullptr, *waiting = nullptr, *last = nullptr, *ended = nullptr;
  Busy busy;
  while (PoolBlock* block = list) {
    list = block->next;
    if (is_unused(*block, busy)) {
      block->next = std::exchange(block->segment->by_stream ? ended : unused, block);
    } else {
      block->next = nullptr;
      (waiting ? last->next : waiting) = block;
      last = block;
    }
  }
  while (PoolBlock* block = ended) {
    ended = block->next;
    num_waiting_.fetch_sub(1, std::memory_order_relaxed);
    end_by_stream(*block);
  }
  const std::lock_guard lock(mutex_);
  while (PoolBlock* block = unused) {
    unused = block->next;
    num_waiting_.fetch_sub(1, std::memory_order_relaxed);
    pool_.give_back(*block);
  }
  if (!waiting) return;
  if (!waiting_) last_waiting_ = last;
  last->next = std::exchange(waiting_, waiting);
}

}  // namespace bp
