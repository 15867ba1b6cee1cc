#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/quiet.hpp>

#include "devices/device_state.hpp"

namespace bp {
namespace {

bool never_waits(const DeviceRecord& record, MayWait what) {
  std::uint32_t enough = BP_DEVICE_NO_HIDDEN_WAITS;
  if (what == MayWait::memory) enough |= BP_DEVICE_NO_MEMORY_WAITS;
  return (record.info.flags & enough) != 0;
}

// The stream has passed one foreign work.
void end_foreign_work(void* context) {
  auto& stream = *static_cast<StreamState*>(context);
  stream.num_foreign.fetch_sub(1, std::memory_order_relaxed);
  stream.record->backend->num_foreign.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

void note_foreign_work(const Stream& stream) {
  StreamState& state = state_of(*stream.impl());
  if (!state.record->backend || state.record->synchronous) return;
  state.num_foreign.fetch_add(1, std::memory_order_relaxed);
  state.record->backend->num_foreign.fetch_add(1, std::memory_order_relaxed);
  release_after(state, end_foreign_work, &state);
}

void detail::wait_until_quiet(DeviceRecord& record, MayWait what) noexcept {
  if (never_waits(record, what)) return;
  for (DeviceRecord* device : record.backend->devices) {
    if (!device->opened.load(std::memory_order_acquire)) continue;
    for (StreamState* stream : all_streams(state_of(*device)))
      if (stream->num_foreign.load(std::memory_order_relaxed) != 0) wait_quietly(*stream);
  }
}

void detail::note_first_run(DeviceRecord& record, std::uint64_t& ran_on) noexcept {
  bp::wait_until_quiet(record, MayWait::the_rest);
  __atomic_fetch_or(&ran_on, std::uint64_t{1} << record.index, __ATOMIC_RELAXED);
}

}  // namespace bp
