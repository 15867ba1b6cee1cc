// Large blocks in the order of a stream (bp.stream_memory): the backend's pool keeps them, and this allocator does not.
#include <algorithm>
#include <mutex>

#include <backplane/runtime/extensions.hpp>
#include <backplane/runtime/quiet.hpp>
#include <backplane/tensor/check.hpp>

#include "constants.hpp"
#include "memory/caching_allocator.hpp"

namespace bp {

// Never for a graph, whose memory stays where it is, nor while the device records the stream, of whose recording it would be
// a part. With a limit, since what the backend keeps is not counted.
bool CachingAllocator::goes_by_stream(const Request& request) {
  if (request.bytes <= constants::medium_request ||
      !has_stream_memory_.load(std::memory_order_relaxed))
    return false;
  const StreamState& stream = state_of(*request.stream);
  if (stream.pool_of || stream.is_recorded.load(std::memory_order_relaxed) || is_gone(stream))
    return false;
  const std::lock_guard lock(mutex_);
  return !custom_.allocate && counted_.limit_bytes == 0;
}

// Null if the device turns out to have none.
PoolBlock* CachingAllocator::allocate_by_stream(const Request& planned) {
  Request request = planned;
  request.by_stream = true;
  request.kind = PoolKind::whole;
  const std::uint64_t granule = pool_.granule();
  request.bytes = (request.asked + granule - 1) / granule * granule;
  if (request.bytes > most()) request.bytes = request.asked;
  request.segment_bytes = request.least_bytes = request.bytes;
  return grow(request);
}

bp_handle CachingAllocator::ask_by_stream(Request& request, std::uint64_t bytes,
                                          MemorySource& source) {
  source = {&device_, release_to_plugin};
  StreamState& stream = state_of(*request.stream);
  bp_stream* const used = stream.raw;
  const std::uint64_t alignment = alignment_of(bytes);
  bp_handle handle = 0;
  clear_plugin_error();
  const bp_code code = extensions_of(device_).stream_memory.allocate(device_.handle, bytes,
                                                                     alignment, used, &handle);
  if (code == BP_OK) {
    check_handle(handle, alignment, source);
    return handle;
  }
  if (code == BP_UNSUPPORTED) has_stream_memory_ = false;
  if (code != BP_UNSUPPORTED && code != BP_OUT_OF_MEMORY && code != BP_RETRY)
    throw_stream_error(stream, used, code, "allocate");
  request.plugin_message = thread_state().error_message;
  clear_plugin_error();
  return 0;
}

void CachingAllocator::release_by_stream(PoolBlock& block) noexcept {
  if (state_of(*block.segment->stream).is_recorded.load(std::memory_order_relaxed))
    return start_waiting(block);
  {
    const std::lock_guard lock(mutex_);
    finish(block);
  }
  end_by_stream(block);
}

// No other stream works on it any more.
void CachingAllocator::end_by_stream(PoolBlock& block) noexcept {
  std::unique_ptr<Segment> segment;
  {
    const std::lock_guard lock(mutex_);
    segment = pool_.remove(block);
  }
  StreamState& stream = state_of(*segment->stream);
  const StreamPin pin(stream);
  if (pin && !is_gone(stream)) {
    extensions_of(device_).stream_memory.release(device_.handle, segment->handle, stream.raw);
  } else if (!device_.is_left_behind()) {  // nothing of the stream runs any more
    wait_until_quiet(device_, MayWait::memory);
    release_to_plugin(&device_, segment->handle);
  }
  const std::lock_guard lock(mutex_);
  counted_.reserved_bytes -= segment->bytes;
  ++counted_.num_backend_releases;
}

void CachingAllocator::trim() noexcept {
  if (!is_main() || device_.is_gone()) return;
  if (const auto trim = extensions_of(device_).stream_memory.trim) trim(device_.handle);
}

}  // namespace bp
