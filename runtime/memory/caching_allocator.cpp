#include "memory/caching_allocator.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

#include <backplane/runtime/extensions.hpp>
#include <backplane/runtime/quiet.hpp>
#include <backplane/tensor/check.hpp>

#include "constants.hpp"

namespace bp {
namespace {

constexpr std::uint64_t usual_page = 4 << 10, huge_page = 2 << 20;
constexpr std::uint64_t largest_request = std::uint64_t{1} << 62;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) {
  return (bytes + to - 1) / to * to;
}

// For allocations that cannot be cut.
std::uint64_t round_whole(std::uint64_t bytes) {
  const std::uint64_t step = std::max<std::uint64_t>(std::bit_floor(bytes) / constants::whole_sizes,
                                                     constants::least_whole_step);
  return round_up(bytes, step);
}

void release_block(Storage* storage) {
  auto& block = static_cast<PoolBlock&>(*storage);
  block.segment->allocator->release(block);
}

}  // namespace

void release_to_plugin(void* device, bp_handle handle) {
  auto& state = *static_cast<DeviceState*>(device);
  state.memory->release(state.handle, handle);
}

CachingAllocator::CachingAllocator(DeviceState& device, const SpaceState* space)
    : device_(device), space_(space),
      name_(space ? fmt::format("{} {}", device.name, space->name) : device.name),
      small_blocks_(*this, prototype_, device.info),
      has_stream_memory_(!space && extensions_of(device).stream_memory.allocate),
      pool_(std::max<std::uint64_t>(constants::least_granule, device.info.offset_alignment),
            prototype_) {
  prototype_.device = device.device;
  prototype_.space = space ? static_cast<std::uint8_t>(space->index) : 0;
  prototype_.host_readable = space ? space->host_visible : device.host_readable;
  prototype_.release = release_block;
}

CachingAllocator::~CachingAllocator() {
  poll_waiting();
  if (device_.is_left_behind()) return;
  for (const Segment* segment = pool_.segments(); segment; segment = segment->after)
    segment->source.release(segment->source.context, segment->handle);
}

// On a synchronous device all work is done when a block comes back: one pool serves every stream.
StreamImpl& CachingAllocator::pool_of(StreamImpl& stream) const {
  return device_.synchronous && !state_of(stream).pool_of ? *device_.default_stream : stream;
}

CachingAllocator::Request CachingAllocator::plan(StreamImpl& stream, std::uint64_t bytes,
                                                 bool for_core) const {
  Request request{};
  request.stream = &pool_of(stream);
  request.asked = bytes;
  request.for_core = for_core;
  if (bytes > most()) throw_too_large(bytes);
  if (device_.info.flags & BP_DEVICE_CAN_SUBALLOCATE) {
    plan_piece(request);
  } else {
    request.kind = PoolKind::whole;
    request.bytes = round_whole(bytes);
    if (request.bytes > most()) request.bytes = bytes;
    request.segment_bytes = request.least_bytes = request.bytes;
  }
  return request;
}

void CachingAllocator::plan_piece(Request& request) const {
  const std::uint64_t granule = pool_.granule();
  request.bytes = round_up(request.asked, granule);
  request.kind = request.bytes <= constants::small_request ? PoolKind::small : PoolKind::large;
  if (request.bytes > most()) {
    // The device's largest allocation is not a multiple of the granule: nothing is cut off this one.
    request.bytes = request.segment_bytes = request.least_bytes = request.asked;
    return;
  }
  if (!is_main())  // which may be small: nothing is taken that nobody has asked for
    request.segment_bytes = request.bytes;
  else if (request.bytes <= constants::small_request)
    request.segment_bytes = constants::small_segment;
  else if (request.bytes <= constants::medium_request)
    request.segment_bytes = constants::medium_segment;
  else
    request.segment_bytes = round_up(request.bytes, huge_page);
  request.segment_bytes = std::min(request.segment_bytes, most() / granule * granule);
  request.least_bytes = request.bytes;
}

std::uint64_t CachingAllocator::most() const {
  std::uint64_t most = largest_request;
  if (device_.info.max_allocation != 0) most = std::min(most, device_.info.max_allocation);
  if (!is_main() && space_->total_bytes != 0) most = std::min(most, space_->total_bytes);
  return most;
}

Storage* CachingAllocator::allocate(StreamImpl& stream, std::uint64_t bytes) {
  Request request = plan(stream, bytes, false);
  return allocate_block(request);
}

PoolBlock* CachingAllocator::allocate_for_core(StreamImpl& stream, std::uint64_t bytes) {
  Request request = plan(stream, bytes, true);
  return allocate_block(request);
}

PoolBlock* CachingAllocator::allocate_block(Request& request) {
  if (num_waiting_.load(std::memory_order_relaxed) != 0) poll_waiting();
  StreamState& stream = state_of(*request.stream);
  if (stream.has_releases.load(std::memory_order_relaxed)) run_releases(stream);
  if (goes_by_stream(request)) {
    if (PoolBlock* block = allocate_by_stream(request)) return block;
  }
  if (PoolBlock* block = take(request)) return block;
  return grow(request);
}

PoolBlock* CachingAllocator::take(const Request& request) {
  if (request.by_stream) return nullptr;
  const SmallBlocks::Totals small = small_blocks_.totals();
  const std::lock_guard lock(mutex_);
  PoolBlock* block = pool_.take(request.stream, request.kind, request.bytes);
  if (!block) return nullptr;
  start(*block, request);
  note_peaks(small);
  return block;
}

void CachingAllocator::start(PoolBlock& block, const Request& request) {
  StreamImpl* captured = state_of(*request.stream).pool_of;
  block.refs.store(1, std::memory_order_relaxed);
  block.version.store(0, std::memory_order_relaxed);
  block.stream.store(captured ? captured : request.stream, std::memory_order_relaxed);
  block.for_core = request.for_core;
  if (request.for_core) return;
  ++counted_.num_allocations;
  counted_.allocated_bytes += block.bytes;
}

void CachingAllocator::finish(PoolBlock& block) {
  if (block.for_core) return;
  ++counted_.num_releases;
  counted_.allocated_bytes -= block.bytes;
}

PoolBlock* CachingAllocator::block_of(Storage& storage) {
  return storage.release == release_block ? &static_cast<PoolBlock&>(storage) : nullptr;
}

void CachingAllocator::release(PoolBlock& block) noexcept {
  if (!block.uses.empty()) return start_waiting(block);
  if (block.segment->by_stream) return release_by_stream(block);
  const std::lock_guard lock(mutex_);
  finish(block);
  pool_.give_back(block);
}

// What to try, from the cheapest: a segment of the size that pays, one that just fits, what other
// streams have finished with, and what lies in the cache in pieces that do not fit.
PoolBlock* CachingAllocator::grow(Request& request) {
  if (PoolBlock* block = reserve(request, request.segment_bytes)) return block;
  if (request.by_stream && !has_stream_memory_) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    ++counted_.num_retries;
  }
  if (request.least_bytes < request.segment_bytes) {
    if (PoolBlock* block = reserve(request, request.least_bytes)) return block;
  }
  wait_for_streams_quietly(device_);
  poll_waiting();
  if (PoolBlock* block = take(request)) return block;
  empty_cache();
  if (PoolBlock* block = reserve(request, request.least_bytes)) return block;
  // Another thread may have given something back meanwhile.
  if (PoolBlock* block = take(request)) return block;
  throw_out_of_memory(request);
}

std::uint64_t CachingAllocator::alignment_of(std::uint64_t segment_bytes) const {
  const std::uint64_t needed = std::max<std::uint64_t>(device_.info.offset_alignment, 64);
  if (!prototype_.host_readable || !is_main()) return needed;
  return std::max(needed, segment_bytes >= huge_page ? huge_page : usual_page);
}

// Null when there is no memory for it, whichever allocator says so.
PoolBlock* CachingAllocator::reserve(Request& request, std::uint64_t segment_bytes) {
  BlockPool::Prepared prepared;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t limit = counted_.limit_bytes;
    if (limit != 0 && counted_.reserved_bytes + segment_bytes > limit) return nullptr;
    prepared = pool_.prepare(request.stream);
    counted_.reserved_bytes += segment_bytes;  // now, so that two threads cannot pass the limit
  }
  Segment& segment = *prepared.segment;
  segment.allocator = this;
  segment.kind = request.kind;
  segment.by_stream = request.by_stream;
  segment.is_of_graph = state_of(*request.stream).pool_of != nullptr;
  segment.bytes = segment_bytes;
  try {
    segment.handle = ask_backend(request, segment_bytes, segment.source);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    counted_.reserved_bytes -= segment_bytes;
    throw;
  }
  const SmallBlocks::Totals small = small_blocks_.totals();
  const std::lock_guard lock(mutex_);
  if (segment.handle == 0) {
    counted_.reserved_bytes -= segment_bytes;
    return nullptr;
  }
  ++counted_.num_backend_allocations;
  PoolBlock* block = pool_.add_segment(std::move(prepared), request.bytes);
  start(*block, request);
  note_peaks(small);
  return block;
}

// 0 for out of memory.
bp_handle CachingAllocator::ask_backend(Request& request, std::uint64_t bytes,
                                        MemorySource& source) {
  if (request.by_stream) return ask_by_stream(request, bytes, source);
  CustomAllocator custom;
  {
    const std::lock_guard lock(mutex_);
    custom = custom_;
  }
  source = custom.allocate ? MemorySource{custom.context, custom.release}
                           : MemorySource{&device_, release_to_plugin};
  if (!custom.allocate) wait_until_quiet(device_, MayWait::memory);
  if (!turn_.take())
    throw_error(
        ErrorClass::internal,
        fmt::format("allocate: the plugin asked for memory of {} while allocating it", name_));
  const std::uint64_t alignment = alignment_of(bytes);
  bp_handle handle = 0;
  clear_plugin_error();
  const bp_memory& memory = *device_.memory;
  const bp_code code =
      custom.allocate ? custom.allocate(custom.context, bytes, alignment, &handle)
      : is_main()     ? memory.allocate(device_.handle, bytes, alignment, &handle)
                  : memory.allocate_in(device_.handle, space_->index, bytes, alignment, &handle);
  turn_.give();
  if (code == BP_OUT_OF_MEMORY || code == BP_RETRY) {
    request.plugin_message = thread_state().error_message;
    clear_plugin_error();
    return 0;
  }
  if (code != BP_OK) throw_plugin_error(device_, code, is_main() ? "allocate" : "allocate_in");
  check_handle(handle, alignment, source);
  return handle;
}

void CachingAllocator::check_handle(bp_handle handle, std::uint64_t alignment,
                                    const MemorySource& source) {
  if (handle == 0)
    throw_error(ErrorClass::internal,
                fmt::format("allocate: it succeeded without a handle (plugin {}, device {})",
                            device_.backend->name, device_.name));
  // What the core or the host computes with are addresses; other handles have no alignment.
  if (!prototype_.host_readable || handle % alignment == 0) return;
  source.release(source.context, handle);
  throw_error(ErrorClass::internal,
              fmt::format("allocate: address {:#x} is not aligned to {} (plugin {}, device {})",
                          handle, alignment, device_.backend->name, device_.name));
}

void CachingAllocator::empty_cache() {
  small_blocks_.return_free_slabs();
  std::vector<std::unique_ptr<Segment>> segments;
  {
    const std::lock_guard lock(mutex_);
    segments = pool_.remove_free_segments();
  }
  give_back_segments(segments);
  trim();
}

void CachingAllocator::give_back_segments(const std::vector<std::unique_ptr<Segment>>& segments) {
  if (segments.empty()) return;
  // A free block may still be in use by earlier work of its own stream.
  if (!device_.synchronous) {
    StreamImpl* waited = nullptr;
    for (const auto& segment : segments)
      if (segment->stream != std::exchange(waited, segment->stream.load()))
        wait_quietly(state_of(*waited));
  }
  wait_until_quiet(device_, MayWait::memory);
  const bool my_turn = turn_.take();  // else the plugin itself has asked, from within a call
  std::uint64_t bytes = 0;
  for (const auto& segment : segments) {
    bytes += segment->bytes;
    if (!device_.is_left_behind())
      segment->source.release(segment->source.context, segment->handle);
  }
  if (my_turn) turn_.give();
  const std::lock_guard lock(mutex_);
  counted_.reserved_bytes -= bytes;
  counted_.num_backend_releases += segments.size();
}

void CachingAllocator::begin_pool(StreamState& pool, StreamImpl& heir) {
  const std::lock_guard lock(mutex_);
  pool_.prepare_hand_over(&pool, &pool_of(heir));
}

void CachingAllocator::end_pool(StreamState& pool, StreamImpl& heir) noexcept {
  const std::lock_guard lock(mutex_);
  pool_.hand_over(&pool, &pool_of(heir));
}

void CachingAllocator::set_limit(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    counted_.limit_bytes = bytes;
  }
  if (bytes != 0) trim();  // what is kept there is in no count
}

void CachingAllocator::set_custom(const CustomAllocator& custom) {
  const std::lock_guard lock(mutex_);
  custom_ = custom;
}

void CachingAllocator::forget_other_threads() {
  turn_.forget_after_fork();
}

}  // namespace bp
