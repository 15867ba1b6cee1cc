#include "device.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <malloc.h>
#include <sys/mman.h>
#include <thread>
#include <unordered_map>

#include "queue_faults.hpp"
#include "variant.hpp"

namespace reference {
namespace {

// Large blocks come from the system untouched: what nobody writes costs nothing.
constexpr uint64_t large = uint64_t{64} << 20;
constexpr uint64_t total_memory = uint64_t{8} << 30;
std::mutex large_mutex;
std::unordered_map<void*, uint64_t> large_blocks;

void* map_large(uint64_t bytes) {
  void* const block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  std::lock_guard lock(large_mutex);
  large_blocks[block] = bytes;
  return block;
}

// Its bytes; 0: it is not one of these.
uint64_t unmap_large(void* block) {
  std::lock_guard lock(large_mutex);
  const auto found = large_blocks.find(block);
  if (found == large_blocks.end()) return 0;
  const uint64_t bytes = found->second;
  munmap(block, bytes);
  large_blocks.erase(found);
  return bytes;
}

void wait_at_random() {
  static std::atomic<unsigned> state{1};
  const unsigned now = state.fetch_add(0x9E3779B9u) * 2654435761u >> 24;
  if (now < 8) std::this_thread::sleep_for(std::chrono::milliseconds(now % 6));
}

}  // namespace

bool is_asynchronous() {
  if (exam::variant_is("background") || exam::is_queue_fault(exam::fault())) return true;
  for (const char* fault :
       {"event_too_early", "wait_forgotten", "host_call_too_early", "semaphore_forgotten",
        "signal_too_early", "release_waits", "work_waits", "stream_memory_too_early",
        "stream_release_at_once", "stream_release_waits", "stream_allocation_waits",
        "stream_memory_ties"})
    if (exam::fault_is(fault)) return true;
  return false;
}

bp::Status Device::describe(uint32_t index, bp::DeviceInfo& info) {
  info.set_name("software device under examination");
  info.set_uuid(index == 0 ? "exam's device 0." : "exam's device 1.");
  info.set_driver("exam 1.0");
  info.flags = BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_NO_HIDDEN_WAITS;
  if (!is_asynchronous()) info.flags |= BP_DEVICE_SYNCHRONOUS;
  info.total_memory = total_memory;
  info.num_spaces = 2;
  info.offset_alignment = exam::variant_is("align_4096")      ? 4096
                          : exam::variant_is("align_element") ? 16
                                                              : 64;
  return bp::ok;
}

bp::Result<bp::Handle> Device::allocate(uint64_t bytes, uint64_t alignment) {
  if (const bp_code failure = injections.take(BP_INJECT_MEMORY); failure != BP_OK)
    return bp::error(failure, injected_text);
  if (exam::variant_is("align_4096") && alignment < 4096) alignment = 4096;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  const bool is_large = bytes >= large && alignment <= 4096;
  void* const block =
      is_large ? map_large(bytes)
               : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block == nullptr)
    return bp::out_of_memory("no %llu bytes", static_cast<unsigned long long>(bytes));
  used_ += is_large ? bytes : malloc_usable_size(block);
  return bp::handle_of(block);
}

bp::Result<Queue*> Device::create_stream() {
  const std::lock_guard lock(streams_mutex_);
  return streams_.emplace_back(new Queue);
}

void Device::destroy_stream(Queue* queue) {
  {
    const std::lock_guard lock(streams_mutex_);
    streams_.erase(std::find(streams_.begin(), streams_.end(), queue));
  }
  delete queue;
}

bp::Result<double> Device::elapsed(EventHandle* start, EventHandle* end) {
  const double from = start->reached_ns(), to = end->reached_ns();
  if (from < 0 || to < 0)
    return bp::bad_argument("elapsed: an event was not recorded, or not yet reached");
  return to - from;
}

void Device::wait_for_all_streams() {
  const std::lock_guard lock(streams_mutex_);
  for (Queue* stream : streams_) (void)stream->synchronize();
}

void Device::release(bp::Handle handle) {
  if (exam::fault_is("release_waits")) wait_for_all_streams();
  if (scratch_.release(handle)) return;
  void* const block = bp::address_of(handle);
  if (const uint64_t bytes = unmap_large(block)) {
    used_ -= bytes;
    return;
  }
  used_ -= malloc_usable_size(block);
  std::free(block);
}

void Device::describe_main(bp::SpaceInfo& info) const {
  info.total_bytes = total_memory;
  const uint64_t used =
      used_;  // what nobody wrote costs nothing, so that it may be more than there is
  info.free_bytes = used < total_memory ? total_memory - used : 0;
}

bp::Status Device::copy(bp::Region to, bp::Region from, bp::Direction, Queue* queue) {
  return submit(
      queue,
      [to_ptr = static_cast<uint8_t*>(bp::address_of(bp::Handle{to.handle})) + to.offset,
       from_ptr = static_cast<uint8_t*>(bp::address_of(bp::Handle{from.handle})) + from.offset,
       bytes = to.bytes] {
        std::memcpy(to_ptr, from_ptr, bytes);
        return Outcome{};
      });
}

bp::Status Device::fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue) {
  uint8_t kept[16];
  if (pattern_bytes == 0 || pattern_bytes > sizeof kept ||
      (pattern_bytes & (pattern_bytes - 1)) != 0)
    return bp::bad_argument("fill: a pattern of %u bytes; 1, 2, 4, 8 or 16 are possible",
                            pattern_bytes);
  std::memcpy(kept, pattern, pattern_bytes);
  return submit(
      queue, [=, to_ptr = static_cast<uint8_t*>(bp::address_of(bp::Handle{to.handle})) + to.offset,
              bytes = to.bytes] {
        for (uint64_t i = 0; i < bytes; ++i) to_ptr[i] = kept[i % pattern_bytes];
        return Outcome{};
      });
}

bp::Status Device::submit(Queue* queue, Work work, uint64_t call_number) {
  if (exam::variant_is("delays")) wait_at_random();
  if (exam::fault_is("work_waits")) wait_for_all_streams();
  if (const bp_code failure = injections.take(BP_INJECT_GIVEN); failure != BP_OK) {
    if (exam::fault_is("errs_and_does_it")) (void)queue_of(queue).submit(std::move(work));
    return bp::error(failure, injected_text);
  }
  if (const bp_code failure = injections.take(BP_INJECT_WORK); failure != BP_OK)
    work = [failure = exam::failure_of_work(failure)] { return Outcome{failure, injected_text}; };
  if (captures.take(queue_of(queue), work)) return bp::ok;
  if (is_asynchronous()) return queue_of(queue).submit(std::move(work), call_number);
  const Outcome outcome = work();
  return outcome.code == BP_OK ? bp::Status(bp::ok) : bp::error(outcome.code, "%s", outcome.text);
}

}  // namespace reference
