#include "device.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

namespace reference {
namespace {

std::mutex open_devices_mutex;
std::array<Device*, device_count> open_devices{};

uint64_t own_limit() {
  const char* text = std::getenv("BACKPLANE_REFERENCE_LIMIT");
  const uint64_t limit = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  return limit == 0 ? total_memory : limit;
}

}  // namespace

bp::Status Device::describe(uint32_t index, bp::DeviceInfo& info) {
  std::snprintf(info.name, sizeof info.name, "software device %u", index);
  info.flags = BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_NO_HIDDEN_WAITS;
  info.total_memory = own_limit();
  info.offset_alignment = 64;
  return bp::ok;
}

Device* Device::find(uint32_t index) {
  std::lock_guard lock(open_devices_mutex);
  return index < device_count ? open_devices[index] : nullptr;
}

Device::Device(uint32_t index, Context* adopted)
    : index_(index),
      own_context_(adopted == nullptr ? std::make_unique<Context>(index, own_limit()) : nullptr),
      context_(adopted == nullptr ? *own_context_ : *adopted),
      default_queue_(std::make_unique<Queue>()) {
  queues_.insert(default_queue_.get());
  std::lock_guard lock(open_devices_mutex);
  open_devices[index] = this;
}

Device::~Device() {
  {
    std::lock_guard lock(open_devices_mutex);
    open_devices[index_] = nullptr;
  }
  if (!own_context_) return;  // the application's blocks may live on
  uint64_t allocations, bytes;
  context_.memory.usage(&allocations, &bytes);
  if (allocations == 0) return;
  bp::log(bp::LogLevel::warning, "%s:%u closed while %llu allocations live", identity.name, index_,
          static_cast<unsigned long long>(allocations));
}

bp::Status Device::copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue) {
  bp::Result<uint8_t*> target = direction == bp::Direction::to_host
                                    ? to.address<uint8_t>()
                                    : context_.memory.find(to, "copy: the target");
  if (!target.is_ok()) return target.status();
  bp::Result<uint8_t*> source = direction == bp::Direction::from_host
                                    ? from.address<uint8_t>()
                                    : context_.memory.find(from, "copy: the source");
  if (!source.is_ok()) return source.status();

  const bool within = direction == bp::Direction::within;
  return submit(queue, [=, to_ptr = target.value(), from_ptr = source.value(), bytes = to.bytes] {
    if (within)
      std::memcpy(to_ptr, from_ptr, bytes);
    else
      copy_masked(to_ptr, from_ptr, bytes);
    return Outcome{};
  });
}

bp::Status Device::fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue) {
  std::array<uint8_t, 16> kept{};
  if (pattern_bytes == 0 || pattern_bytes > kept.size() ||
      (pattern_bytes & (pattern_bytes - 1)) != 0) {
    return bp::bad_argument("fill: a pattern of %u bytes; 1, 2, 4, 8 or 16 are possible",
                            pattern_bytes);
  }
  std::memcpy(kept.data(), pattern, pattern_bytes);
  bp::Result<uint8_t*> target = context_.memory.find(to, "fill");
  if (!target.is_ok()) return target.status();
  return submit(queue, [=, to_ptr = target.value(), bytes = to.bytes] {
    fill_masked(to_ptr, bytes, kept.data(), pattern_bytes);
    return Outcome{};
  });
}

bp::Status Device::describe_space(uint32_t space, bp::SpaceInfo& info) {
  if (space != 0) return bp::bad_argument("there is one memory, space 0; %u was asked for", space);
  context_.memory.describe(info);
  return bp::ok;
}

bp::Result<Queue*> Device::create_stream() {
  auto queue = std::make_unique<Queue>();
  std::lock_guard lock(mutex_);
  if (held_) queue->hold();
  queues_.insert(queue.get());
  return queue.release();
}

void Device::destroy_stream(Queue* queue) {
  {
    std::lock_guard lock(mutex_);
    queues_.erase(queue);
  }
  delete queue;
}

bp::Status Device::record_event(EventHandle* handle, Queue* queue) {
  return handle->record(queue_of(queue));
}

bp::Status Device::wait_event(Queue* queue, EventHandle* handle) {
  return handle->make_wait(queue_of(queue));
}

bp::Result<double> Device::elapsed(EventHandle* start, EventHandle* end) {
  const double from = start->reached_ns(), to = end->reached_ns();
  if (from < 0 || to < 0)
    return bp::bad_argument("elapsed: an event was not recorded, or not yet reached");
  return to - from;
}

bool Device::has(const Queue* queue) {
  std::lock_guard lock(mutex_);
  return queues_.count(const_cast<Queue*>(queue)) != 0;
}

void Device::hold() {
  std::lock_guard lock(mutex_);
  held_ = true;
  for (Queue* queue : queues_) queue->hold();
}

void Device::release_hold() {
  std::lock_guard lock(mutex_);
  held_ = false;
  for (Queue* queue : queues_) queue->release();
}

void Device::set_limit(uint64_t bytes) {
  context_.memory.set_limit(bytes == 0 ? own_limit() : bytes);
}

void Device::usage(uint64_t* pending, uint64_t* allocations, uint64_t* bytes) {
  context_.memory.usage(allocations, bytes);
  std::lock_guard lock(mutex_);
  *pending = 0;
  for (Queue* queue : queues_) *pending += queue->pending();
}

bp::Status Device::submit(Queue* queue, Work work, uint64_t call_number) {
  if (const bp_code failure = injections.take(BP_INJECT_GIVEN); failure != BP_OK)
    return bp::error(failure, injected_text);
  if (const bp_code failure = injections.take(BP_INJECT_WORK); failure != BP_OK)
    work = [failure] { return Outcome{failure, injected_text}; };
  return queue_of(queue).submit(std::move(work), call_number);
}

}  // namespace reference
