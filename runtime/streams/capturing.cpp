#include <backplane/runtime/capturing.hpp>
#include <backplane/runtime/thread_state.hpp>
#include <backplane/tensor/check.hpp>

#include "memory/caching_allocator.hpp"
#include "memory/spaces.hpp"

namespace bp {

namespace detail {
constinit thread_local CaptureState* thread_capture = nullptr;
}  // namespace detail

GraphMemory::GraphMemory(StreamImpl& stream)
    : stream_(stream), pool_(std::make_unique<StreamState>()) {
  DeviceState& device = state_of(*stream.record);
  pool_->record = stream.record;
  pool_->raw = stream.raw.load();
  pool_->id = stream.id;
  pool_->pool_of = &stream;
  for_each_allocator(device, [&](CachingAllocator& each) { each.begin_pool(*pool_, stream); });
  if (state_of(stream).is_adopted) try_retain(stream);  // replays report their faults there
  device.live_graphs.fetch_add(1, std::memory_order_relaxed);
}

GraphMemory::~GraphMemory() {
  DeviceState& device = state_of(*stream_.record);
  for_each_allocator(device, [&](CachingAllocator& each) { each.end_pool(*pool_, stream_); });
  if (state_of(stream_).is_adopted) drop_stream(&stream_);
  device.live_graphs.fetch_sub(1, std::memory_order_relaxed);
}

bool GraphMemory::owns(Storage& storage) const {
  const PoolBlock* block = CachingAllocator::block_of(storage);
  return block && block->segment->stream == pool_.get();
}

StreamImpl& GraphMemory::pool() const {
  return *pool_;
}

void set_current_capture(CaptureState* capture) {
  std::uint64_t& layers = thread_state().included_layers;
  layers = capture ? layers | capture_key : layers & ~capture_key;
  detail::thread_capture = capture;
}

bool set_recorded(StreamImpl& stream, bool recorded) {
  return state_of(stream).is_recorded.exchange(recorded);
}

void detail::check_outside(CaptureState& capture, const char* action, const StreamImpl& stream,
                           const char* what, const char* advice) {
  if (&capture.stream != &stream) return;
  refuse_capture(capture, ErrorClass::bad_argument,
                 fmt::format("{}: {} cannot be part of a capture on {}; {}", action, what,
                             stream.record->name, advice));
}

void detail::check_may_wait(CaptureState& capture, const char* action, const DeviceRecord& record) {
  if (capture.stream.record != &record) return;
  refuse_capture(capture, ErrorClass::bad_argument,
                 fmt::format("{}: {} is being captured by this thread, and nothing of that has "
                             "run; end the capture, replay it, and wait then",
                             action, record.name));
}

void detail::check_may_copy(CaptureState& capture, const DeviceRecord& record,
                            std::uint32_t direction) {
  const DeviceRecord& captured = *capture.stream.record;
  if (&record == &captured && direction == BP_COPY_WITHIN) return;
  refuse_capture(
      capture, ErrorClass::bad_argument,
      &record == &captured
          ? fmt::format(
                "copy: values go {} within the capture on {}, and a replay could not repeat that; "
                "copy before the capture, or after a replay",
                direction == BP_COPY_FROM_HOST ? "from the host to the device" : "to the host",
                record.name)
          : fmt::format("copy: it is on {}, and this thread captures on {}; end the capture first",
                        record.name, captured.name));
}

void refuse_capture(CaptureState& capture, ErrorClass error_class, const std::string& sentence) {
  if (capture.failure.empty()) capture.failure = sentence;
  throw_error(error_class, sentence);
}

}  // namespace bp
