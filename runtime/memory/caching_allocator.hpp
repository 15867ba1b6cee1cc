// The one allocator of tensors' memory: takes segments from a backend, and serves tensors from pools.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <backplane/runtime/allocator.hpp>

#include "devices/core_mutex.hpp"
#include "devices/device_state.hpp"
#include "memory/block_pool.hpp"
#include "memory/small_blocks.hpp"

namespace bp {

// One for each memory of an open device. Threads: any. Calls no plugin while it holds its lock.
class CachingAllocator {
 public:
  explicit CachingAllocator(DeviceState& device,
                            const SpaceState* space = nullptr);  // null: main memory
  // Gives everything back to where it came from. All streams of the device are idle.
  ~CachingAllocator();

  // Memory with one reference for work on `stream`; throws out_of_memory, or what the plugin says.
  // A block is free for later work of its stream as soon as its last reference is gone.
  Storage* allocate(StreamImpl& stream, std::uint64_t bytes);
  // The same for the core's own use: not in the statistics.
  PoolBlock* allocate_for_core(StreamImpl& stream, std::uint64_t bytes);
  void release(PoolBlock& block) noexcept;
  // A pool for allocate() besides those of the streams, which belongs to `heir` at its end.
  void begin_pool(StreamState& pool, StreamImpl& heir);
  void end_pool(StreamState& pool, StreamImpl& heir) noexcept;
  // The block that a storage is; null if it is none of an allocator's pools.
  static PoolBlock* block_of(Storage& storage);

  // Gives back to the backend what no tensor holds and no other thread has in its cache.
  void empty_cache();
  void set_limit(std::uint64_t bytes);
  void set_custom(const CustomAllocator& custom);

  MemoryStatistics statistics();
  void reset_peaks();
  std::vector<MemoryBlockInfo> snapshot();
  // "held by tensors 3.10 GiB in 12 blocks (largest 1.00 GiB), cached 0 B; limit 4.00 GiB"
  std::string summary();
  std::int64_t num_live();

  SmallBlocks& small_blocks() { return small_blocks_; }
  DeviceState& device() { return device_; }
  // After a fork: what other threads were doing is not going on.
  void forget_other_threads();

 private:
  struct Request {
    StreamImpl* stream;
    PoolKind kind;
    std::uint64_t asked;
    std::uint64_t bytes;          // of the block
    std::uint64_t segment_bytes;  // worth reserving
    std::uint64_t least_bytes;    // of a segment, when memory is short
    bool for_core;
    bool by_stream;              // of bp.stream_memory
    std::string plugin_message;  // of the last refusal
  };
  struct Held {
    std::uint64_t bytes = 0, num_blocks = 0, largest = 0;
  };

  StreamImpl& pool_of(StreamImpl& stream) const;
  Request plan(StreamImpl& stream, std::uint64_t bytes, bool for_core) const;
  void plan_piece(Request& request) const;
  std::uint64_t most() const;  // that one allocation may have
  PoolBlock* allocate_block(Request& request);
  PoolBlock* take(const Request& request);
  PoolBlock* grow(Request& request);
  PoolBlock* reserve(Request& request, std::uint64_t segment_bytes);
  bp_handle ask_backend(Request& request, std::uint64_t bytes, MemorySource& source);
  void check_handle(bp_handle handle, std::uint64_t alignment, const MemorySource& source);
  void start(PoolBlock& block, const Request& request);
  void finish(PoolBlock& block);
  void give_back_segments(const std::vector<std::unique_ptr<Segment>>& segments);

  // Memory in the order of a stream (stream_memory.cpp): it comes and goes with one tensor, and is not kept here.
  bool goes_by_stream(const Request& request);
  PoolBlock* allocate_by_stream(const Request& request);
  bp_handle ask_by_stream(Request& request, std::uint64_t bytes, MemorySource& source);
  void release_by_stream(PoolBlock& block) noexcept;
  void end_by_stream(PoolBlock& block) noexcept;
  void trim() noexcept;

  std::uint64_t alignment_of(std::uint64_t segment_bytes) const;
  [[noreturn]] void throw_out_of_memory(const Request& request);
  [[noreturn]] void throw_too_large(std::uint64_t asked) const;

  // Blocks that other streams still use, the oldest first.
  void start_waiting(PoolBlock& block) noexcept;
  void poll_waiting() noexcept;

  void note_peaks(const SmallBlocks::Totals& small);
  Held held();

  bool is_main() const { return space_ == nullptr; }
  std::uint64_t total_bytes() const;  // 0: unknown

  DeviceState& device_;
  const SpaceState* const space_;
  const std::string name_;  // "npu:0", "npu:0 sram"
  Storage prototype_;
  Turn turn_;  // at the backend's allocate and release
  SmallBlocks small_blocks_;
  std::atomic<std::uint32_t> num_waiting_{0};
  std::atomic<bool> has_stream_memory_;  // until the device says that it has none

  CoreMutex mutex_;  // guards what follows
  BlockPool pool_;
  PoolBlock* waiting_ = nullptr;
  PoolBlock* last_waiting_ = nullptr;  // if there is one
  CustomAllocator custom_;
  MemoryStatistics counted_;  // of pool_ alone: small blocks are added when somebody asks
};

// What a MemorySource of the plugin's own memory releases with; `device` is a DeviceState.
void release_to_plugin(void* device, bp_handle handle);

// "1.50 GiB"
std::string format_bytes(std::uint64_t bytes);

}  // namespace bp
