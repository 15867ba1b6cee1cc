// Memory of the core lane: each of the core's allocations apart, between red zones, poisoned.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/device_registry.hpp>

#include "worker/host_pieces.hpp"
#include "worker/scope.hpp"

namespace bp::conform {

// Stands between the core's allocator and the plugin's. One for the worker's device; lives as long as the process.
class CoreMemory {
 public:
  // Before the device is used for the first time: its allocator shall cut nothing into pieces.
  explicit CoreMemory(DeviceRecord& record);

  void set_poison(std::uint8_t poison) { poison_ = poison; }
  // While one of these lives, what is allocated gets no zones: a stream that records would record their painting.
  class Pause {
   public:
    explicit Pause(CoreMemory& memory) : memory_(memory) { memory_.is_paused_ = true; }
    ~Pause() { memory_.is_paused_ = false; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    CoreMemory& memory_;
  };
  // Compares all zones of what lives. All work is done.
  void look(Watch& watch);
  // What was found in memory that has been released since.
  void take_findings(Watch& watch);
  // All bytes of a storage's allocation from its first one on, without zones. Empty for large ones.
  std::vector<std::uint8_t> bytes_of(const Storage& storage);
  // Also of large ones: a piece.
  void read(const Storage& storage, std::uint64_t offset, void* to, std::uint64_t bytes);
  // Through the plugin's copy, done when it returns.
  void write(const Storage& storage, std::uint64_t offset, const void* from, std::uint64_t bytes);
  std::int64_t num_live();
  std::uint8_t poison() const { return poison_; }

 private:
  struct Block {
    bp_handle raw = 0;
    std::uint64_t front = 0, bytes = 0, total = 0;
    std::uint8_t poison = 0;
  };

  bp_code allocate(std::uint64_t bytes, std::uint64_t alignment, bp_handle* out);
  void release(bp_handle handle);
  void paint(const Block& block);
  void look_at(const Block& block, Watch& watch);
  void look_at_zone(const Block& block, std::uint64_t begin, std::uint64_t end, Watch& watch);
  void copy(const bp_region& to, const bp_region& from, std::uint32_t direction);
  void read_raw(bp_handle raw, std::uint64_t offset, void* to, std::uint64_t bytes);
  void write_raw(bp_handle raw, std::uint64_t offset, const void* from, std::uint64_t bytes);

  DeviceRecord& record_;
  const bool shifts_;  // handles are addresses: a zone before the first byte is possible
  std::atomic<std::uint8_t> poison_{0xA5};
  std::atomic<bool> is_paused_{false};
  std::mutex mutex_;
  std::unordered_map<bp_handle, Block> blocks_;
  Watch findings_;
  HostPieces pieces_;
};

}  // namespace bp::conform
