// Pinned host memory between pageable host memory and the card: the bus copies from and to it at full speed while the
// processor fills the next piece.
#pragma once

#include <array>
#include <mutex>

#include "cuda.hpp"

namespace cuda_backend {

class Queue;

// Belongs to one queue. Threads: any, for every function but the constructor.
class Staging {
 public:
  // Less goes straight, through small pieces of the driver's own; so does memory that is pinned already.
  static constexpr uint64_t least_bytes = uint64_t{64} << 10;
  static bool is_wanted(const void* host_memory, uint64_t bytes);

  // Throws bp::Failure.
  explicit Staging(Queue& queue);
  ~Staging();

  // `from` has been read when it returns; the last pieces may be on their way.
  bp::Status write(CUdeviceptr to, uint64_t bytes, const void* from);
  // Returns when `to` is whole.
  bp::Status read(CUdeviceptr from, uint64_t bytes, void* to);

 private:
  struct Slot {
    char* address = nullptr;
    CUevent busy = nullptr;
  };

  bp::Status wait(Slot& slot);
  bp::Status leave(Slot& slot);
  void drop();

  Queue& queue_;
  std::mutex mutex_;
  std::array<Slot, 2> slots_;
};

}  // namespace cuda_backend
