// Host memory of the driver between pageable host memory and a device of its own memory: drivers copy from and to it at
// the full speed of the bus, while the processor fills the next piece. BACKPLANE_LEVEL_ZERO_STAGING=1 or 0 overrides
// the choice, which is: not where the device shares the host's memory.
#pragma once

#include <array>
#include <mutex>

#include "level_zero.hpp"
#include "marks.hpp"

namespace level_zero {

class Queue;
struct FoundDevice;

// Belongs to one queue. Threads: any, for every function but the constructor.
class Staging {
 public:
  // Less goes straight: drivers keep small pieces by themselves.
  static constexpr uint64_t least_bytes = uint64_t{64} << 10;
  static bool is_wanted(const FoundDevice& found);

  // Throws bp::Failure.
  explicit Staging(Device& device);
  // Its queue is done.
  ~Staging();

  // `from` has been read when it returns; the last pieces may be on their way.
  bp::Status write(Queue& queue, void* to, uint64_t bytes, const void* from);
  // Returns when `to` is whole.
  bp::Status read(Queue& queue, const void* from, uint64_t bytes, void* to);

 private:
  struct Slot {
    char* address = nullptr;
    Mark busy;
  };

  void drop();
  bp::Status wait(Slot& slot);
  // The slot is busy until what was given is done.
  bp::Status copy(Queue& queue, void* to, const void* from, uint64_t bytes, Slot& slot);

  Device& device_;
  std::mutex mutex_;
  std::array<Slot, 2> slots_;
};

}  // namespace level_zero
