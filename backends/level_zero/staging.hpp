// Host memory of the driver between pageable host memory and a device of its own memory: drivers copy from and to it at
// the full speed of the bus, while the processor fills the next piece. BACKPLANE_LEVEL_ZERO_STAGING=1 or 0 overrides
// the choice, which is: not where the device shares the host's memory.
#pragma once

#include <backplane/plugin/staging.hpp>

#include "level_zero.hpp"
#include "marks.hpp"

namespace level_zero {

class Queue;
struct FoundDevice;

// Belongs to one queue. Threads: any, for every function but the constructor.
class Staging {
 public:
  static bool is_worth(uint64_t bytes) { return bytes >= bp::StagedCopies<Piece>::least_bytes; }
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
  struct Piece {
    char* address = nullptr;
    Mark busy;
  };

  void drop();
  bp::Status wait(Piece& piece);
  // The piece is busy until what was given is done.
  static bp::Status copy(Queue& queue, void* to, const void* from, uint64_t bytes, Piece& piece);

  Device& device_;
  bp::StagedCopies<Piece> copies_;
};

}  // namespace level_zero
