// Pinned host memory between pageable host memory and the card: the bus copies from and to it at full speed while the
// processor fills the next piece.
#pragma once

#include <backplane/plugin/staging.hpp>

#include "cuda.hpp"

namespace cuda_backend {

class Queue;

// Belongs to one queue. Threads: any, for every function but the constructor.
class Staging {
 public:
  // Not for memory that is pinned already.
  static bool is_wanted(const void* host_memory, uint64_t bytes);

  // Throws bp::Failure.
  explicit Staging(Queue& queue);
  ~Staging();

  // `from` has been read when it returns; the last pieces may be on their way.
  bp::Status write(CUdeviceptr to, uint64_t bytes, const void* from);
  // Returns when `to` is whole.
  bp::Status read(CUdeviceptr from, uint64_t bytes, void* to);

 private:
  struct Piece {
    char* address = nullptr;
    CUevent busy = nullptr;
  };

  bp::Status wait(Piece& piece);
  bp::Status leave(Piece& piece, CUresult error_of_copy);
  void drop();

  Queue& queue_;
  bp::StagedCopies<Piece> copies_;
};

}  // namespace cuda_backend
