// Memory under watch: the red zones of both lanes, and the allocations of each, apart, between red zones, poisoned.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/device_registry.hpp>

#include "worker/direct_plugin.hpp"
#include "worker/scope.hpp"

namespace bp::conform {

// The byte of a red zone at a place: told apart from its neighbours, and different for each poison, so that two runs in
// which a kernel reads it differ.
constexpr std::uint8_t zone_byte(std::uint8_t poison, std::uint64_t place) {
  return static_cast<std::uint8_t>(poison + 0x3b + 37 * place);
}

// Beyond it only the zones are watched.
constexpr std::uint64_t largest_watched = 8u << 20;
constexpr std::uint64_t zone_bytes = 256;

struct Span {
  std::uint64_t begin = 0, end = 0;
};

// An allocation between zones: `front` bytes lie before what was asked for, the other zone begins with the very next byte.
struct Zones {
  std::uint64_t front = 0, bytes = 0, total = 0;
  std::uint8_t poison = 0;

  Zones() = default;
  // `alignment` 0: nothing may lie before the first byte.
  Zones(std::uint64_t bytes, std::uint64_t alignment, std::uint8_t poison);
  std::array<Span, 2> zones() const { return {{{0, front}, {front + bytes, total}}}; }
  // The zones, and the poison between them unless only the zones are watched. Returns all that it then wrote, else nothing.
  using Write = std::function<void(std::uint64_t offset, const Bytes& bytes)>;
  Bytes paint(bool only_zones, const Write& write) const;
  // Adds the first byte of each zone that is not the zone's, if any. `read` gives so many bytes from there on.
  using Read = std::function<void(std::uint64_t offset, Bytes& to)>;
  void look(Watch& watch, const Json& entry, const Read& read) const;
};

// Host memory for the instruments' own copies: the same few addresses, however many threads copy and however often.
// Intel's OpenCL runtime keeps about 100 bytes for each address that it has not seen, which would look like a leak of the
// call that is watched.
class HostPieces {
 public:
  // Host memory that nobody else has while the pointer lives.
  using Piece = std::unique_ptr<std::uint8_t[], std::function<void(std::uint8_t*)>>;
  Piece lend(std::uint64_t bytes);

 private:
  struct Slot {
    std::unique_ptr<std::uint8_t[]> memory;  // made when first lent
    bool is_lent = false;
  };
  static constexpr std::uint64_t piece_bytes = 1u << 16;

  std::mutex mutex_;
  std::array<Slot, 16> slots_;
};

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
  Bytes bytes_of(const Storage& storage);
  // Also of large ones: a piece.
  void read(const Storage& storage, std::uint64_t offset, Bytes& to);
  // Through the plugin's copy, done when it returns.
  void write(const Storage& storage, std::uint64_t offset, const Bytes& from);
  std::int64_t num_live();
  std::uint8_t poison() const { return poison_; }

 private:
  struct Block {
    bp_handle raw = 0;
    Zones zones;
  };

  bp_code allocate(std::uint64_t bytes, std::uint64_t alignment, bp_handle* out);
  void release(bp_handle handle);
  void look_at(const Block& block, Watch& watch);
  void copy(const bp_region& to, const bp_region& from, std::uint32_t direction);
  void read(bp_handle raw, std::uint64_t offset, Bytes& to);
  void write(bp_handle raw, std::uint64_t offset, const Bytes& from);

  DeviceRecord& record_;
  const bool shifts_;  // handles are addresses: a zone before the first byte is possible
  std::atomic<std::uint8_t> poison_{0xA5};
  std::atomic<bool> is_paused_{false};
  std::mutex mutex_;
  std::unordered_map<bp_handle, Block> blocks_;
  Watch findings_;
  HostPieces pieces_;
};

// One allocation of the plugin: a zone, what was asked for, a zone that begins with the very next byte.
class GuardedBlock {
 public:
  GuardedBlock(DirectPlugin& plugin, int object, std::uint8_t poison, bool sparse = false)
      : plugin_(plugin), object_(object), poison_(poison), sparse_(sparse) {}
  ~GuardedBlock();
  GuardedBlock(const GuardedBlock&) = delete;
  GuardedBlock& operator=(const GuardedBlock&) = delete;

  // The plugin's code; on success all of it is written: poison inside. `space`: of the device's memories.
  bp_code allocate(std::uint64_t bytes, std::uint64_t alignment, std::uint32_t space = 0);

  int object() const { return object_; }
  // As asked for. Offsets, here and below, are from the first byte of that.
  std::uint64_t bytes() const { return zones_.bytes; }
  bp_region region(std::uint64_t offset, std::uint64_t count) const {
    return {handle_, zones_.front + offset, count};
  }
  std::uint8_t* address(std::uint64_t offset) const {  // where the host may use it
    return reinterpret_cast<std::uint8_t*>(handle_ + zones_.front + offset);
  }
  // By the instruments' own copies from the first byte on, done when they return. No look expects what write changes.
  void read(void* to, std::uint64_t count) const;
  void write(const void* from, std::uint64_t count);

  // What will be there once work that was just given is done.
  void expect(std::uint64_t offset, const std::uint8_t* data, std::uint64_t count);
  // What is there may be anything from now on, until the next look.
  void forget(std::uint64_t offset, std::uint64_t count);
  void copy_expectation(std::uint64_t offset, const GuardedBlock& from, std::uint64_t from_offset,
                        std::uint64_t count);
  // Roles of the block in what was done since the last look.
  bool was_input = false, was_output = false, was_moved = false;

  // All work on it being done: compares, writes what is wrong into `watch` and takes what is there for given. `kind`
  // overrides what the roles say.
  void look(Watch& watch, const char* kind = nullptr);
  // The same of the zones alone.
  void look_around(Watch& watch);

 private:
  bool is_watched() const { return !shadow_.empty(); }
  // If bytes in [begin, end) are others than expected: the first one and how many do.
  void compare(const Bytes& found, std::uint64_t begin, std::uint64_t end, const char* kind,
               Watch& watch) const;

  DirectPlugin& plugin_;
  const int object_;
  const std::uint8_t poison_;
  const bool sparse_;
  bp_handle handle_ = 0;
  Zones zones_;
  Bytes shadow_;  // of all of it; empty for large ones
  // From the start of the allocation; apart and in order, so that the same again is not growth.
  std::vector<Span> unknown_;
};

}  // namespace bp::conform
