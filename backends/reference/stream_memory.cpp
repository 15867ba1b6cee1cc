#include "stream_memory.hpp"

#include <algorithm>

#include <backplane/plugin/stream_memory.hpp>

#include "device.hpp"

namespace reference {

// Every queue is idle.
StreamPool::~StreamPool() {
  for (Kept& each : shared_->kept) memory_.drop(std::move(each.bytes));
}

bp::Result<bp::Handle> StreamPool::allocate(const Queue& queue, uint64_t bytes) {
  {
    std::lock_guard lock(shared_->mutex);
    auto& kept = shared_->kept;
    const auto found = std::find_if(kept.begin(), kept.end(), [&](const Kept& each) {
      return each.bytes.size == bytes && (each.is_reached || each.queue == &queue);
    });
    if (found != kept.end()) {
      Memory::Bytes again = std::move(found->bytes);
      kept.erase(found);
      return memory_.put(std::move(again));
    }
  }
  bp::Result<bp::Handle> made = memory_.allocate(bytes);
  if (made.is_ok() || made.status().code() != BP_OUT_OF_MEMORY) return made;
  trim();
  return memory_.allocate(bytes);
}

void StreamPool::release(Queue& queue, bp::Handle handle) {
  Memory::Bytes taken = memory_.take(handle);
  if (!taken.at) return;
  uint64_t place;
  {
    std::lock_guard lock(shared_->mutex);
    place = ++shared_->num_released;
    shared_->kept.push_back({std::move(taken), &queue, place});
  }
  const bp::Status given = queue.submit_for_certain([shared = shared_, place] {
    shared->reach(place);
    return Outcome{};
  });
  if (!given.is_ok()) shared_->reach(place);  // nothing of a lost stream runs any more
}

void StreamPool::trim() {
  std::lock_guard lock(shared_->mutex);
  auto& kept = shared_->kept;
  const auto gone =
      std::partition(kept.begin(), kept.end(), [](const Kept& each) { return !each.is_reached; });
  for (auto each = gone; each != kept.end(); ++each) memory_.drop(std::move(each->bytes));
  kept.erase(gone, kept.end());
}

void StreamPool::Shared::reach(uint64_t place) {
  std::lock_guard lock(mutex);
  for (Kept& each : kept)
    if (each.place == place) each.is_reached = true;
}

const bp_stream_memory stream_memory_functions = bp::stream_memory_of<Device, Queue>();

}  // namespace reference
