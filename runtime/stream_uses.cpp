// Blocks that other streams use than the one they belong to: they wait for those streams' events.
#include <mutex>
#include <utility>

#include <backplane/tensor/check.hpp>

#include "caching_allocator.hpp"

namespace bp {
namespace {

// The present end of the stream, or no event where the backend has none to give.
bp_event* record_end(StreamState& stream) noexcept {
  DeviceState& device = state_of(*stream.record);
  const StreamPin pin(stream);
  if (!pin) return nullptr;
  bp_event* event = take_event(device);
  if (!event) return nullptr;
  if (device.queue->record_event(device.handle, event, stream.raw) == BP_OK) return event;
  give_event(device, event);
  return nullptr;
}

bool has_passed(const StreamUse& use) noexcept {
  DeviceState& device = state_of(*use.stream->record);
  if (use.event) return is_reached_quietly(device, use.event, *use.stream);
  if (device.synchronous || device.is_left_behind()) return true;
  if (device.queue->query_stream) return is_idle_quietly(*use.stream);
  wait_quietly(*use.stream);
  return true;
}

// Drops the uses that are over; true if none is left.
bool is_unused(PoolBlock& block) noexcept {
  while (StreamUse* use = block.uses) {
    if (!has_passed(*use)) return false;
    if (use->event) give_event(state_of(*use->stream->record), use->event);
    block.uses = use->next;
    delete use;
  }
  return true;
}

}  // namespace

void CachingAllocator::record_stream(PoolBlock& block, StreamState& stream) {
  if (&stream == block.segment->stream) return;
  auto use = std::make_unique<StreamUse>();
  use->stream = &stream;
  const std::lock_guard lock(mutex_);
  for (const StreamUse* each = block.uses; each; each = each->next)
    if (each->stream == &stream) return;
  use->next = block.uses;
  block.uses = use.release();
}

void CachingAllocator::start_waiting(PoolBlock& block) noexcept {
  for (StreamUse* use = block.uses; use; use = use->next) use->event = record_end(*use->stream);
  const std::lock_guard lock(mutex_);
  finish(block);
  block.next = waiting_;
  waiting_ = &block;
  num_waiting_.fetch_add(1, std::memory_order_relaxed);
}

// The list is taken out, asked without the lock, and what goes on waiting is put back.
void CachingAllocator::poll_waiting() noexcept {
  PoolBlock* list = nullptr;
  {
    const std::lock_guard lock(mutex_);
    list = std::exchange(waiting_, nullptr);
  }
  while (PoolBlock* block = list) {
    list = block->next;
    const bool unused = is_unused(*block);
    const std::lock_guard lock(mutex_);
    if (unused) {
      num_waiting_.fetch_sub(1, std::memory_order_relaxed);
      pool_.give_back(*block);
    } else {
      block->next = waiting_;
      waiting_ = block;
    }
  }
}

}  // namespace bp
