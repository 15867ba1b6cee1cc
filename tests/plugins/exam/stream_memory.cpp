#include "stream_memory.hpp"

#include <algorithm>
#include <cstring>

#include <backplane/plugin/stream_memory.hpp>

#include "device.hpp"
#include "variant.hpp"

namespace exam {

using reference::Device;
using reference::Outcome;
using reference::Queue;

StreamMemory::~StreamMemory() {
  for (const Kept& each : kept_->all) device_.release(each.handle);
}

StreamMemory::Kept StreamMemory::take(const Queue& queue, uint64_t bytes, uint64_t alignment) {
  const bool takes_any = fault_is("stream_memory_too_early") || fault_is("stream_memory_ties");
  const std::lock_guard lock(kept_->mutex);
  auto& all = kept_->all;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Kept& each) {
    return each.bytes == bytes && each.handle % alignment == 0 &&
           (each.is_reached || each.queue == &queue || takes_any);
  });
  if (found == all.end()) return {0, 0, nullptr};
  const Kept taken = *found;
  all.erase(found);
  return taken;
}

bp::Result<bp::Handle> StreamMemory::allocate(Queue& queue, uint64_t bytes, uint64_t alignment) {
  if (fault_is("stream_allocation_waits")) device_.wait_for_all_streams();
  if (const Kept again = take(queue, bytes, alignment); again.handle != 0) {
    if (!again.is_reached && again.queue != &queue && fault_is("stream_memory_ties")) {
      const auto end = std::make_shared<reference::Event>();
      (void)end->record(*again.queue);
      (void)end->make_wait(queue);
    }
    return again.handle;
  }
  bp::Result<bp::Handle> made = device_.allocate(bytes, alignment);
  if (!made.is_ok()) return made;
  const std::lock_guard lock(mutex_);
  sizes_[made.value()] = bytes;
  return made;
}

void StreamMemory::release(Queue& queue, bp::Handle handle) {
  uint64_t bytes;
  {
    const std::lock_guard lock(mutex_);
    bytes = sizes_[handle];
  }
  if (fault_is("stream_release_waits")) (void)queue.synchronize();
  if (fault_is("stream_release_at_once")) std::memset(bp::address_of(handle), 0x5a, bytes);
  {
    const std::lock_guard lock(kept_->mutex);
    kept_->all.push_back({handle, bytes, &queue});
  }
  (void)queue.submit_for_certain([kept = kept_, handle] {
    const std::lock_guard lock(kept->mutex);
    for (Kept& each : kept->all)
      if (each.handle == handle) each.is_reached = true;
    return Outcome{};
  });
}

void StreamMemory::trim() {
  std::vector<Kept> gone;
  {
    const std::lock_guard lock(kept_->mutex);
    auto& all = kept_->all;
    const auto first =
        std::partition(all.begin(), all.end(), [](const Kept& each) { return !each.is_reached; });
    gone.assign(first, all.end());
    all.erase(first, all.end());
  }
  const std::lock_guard lock(mutex_);
  for (const Kept& each : gone) {
    sizes_.erase(each.handle);
    device_.release(each.handle);
  }
}

const bp_header* stream_memory(const char* name, uint32_t min_version) {
  static const bp_stream_memory table = bp::stream_memory_of<Device, Queue>();
  const bool is_it = std::strcmp(name, BP_STREAM_MEMORY) == 0 && min_version <= 1;
  return is_it && reference::is_asynchronous() ? &table.h : nullptr;
}

}  // namespace exam
