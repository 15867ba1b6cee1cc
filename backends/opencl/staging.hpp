// Pinned host memory between pageable host memory and a device of its own memory: drivers copy from and to it at the
// full speed of the bus, while the processor fills the next piece. BACKPLANE_OPENCL_STAGING=1 or 0 overrides the
// choice, which is: not where the device is the processor.
#pragma once

#include <backplane/plugin/staging.hpp>

#include "opencl.hpp"

namespace opencl {

class Queue;

// Belongs to one queue. Threads: any, for every function but the constructor.
class Staging {
 public:
  static bool is_worth(uint64_t bytes) { return bytes >= bp::StagedCopies<Piece>::least_bytes; }
  static bool is_wanted(cl_device_id device);

  // Throws bp::Failure.
  Staging(cl_context context, cl_command_queue commands);
  ~Staging();

  // `from` has been read when it returns; the last pieces may be on their way.
  bp::Status write(Queue& queue, cl_mem to, uint64_t offset, uint64_t bytes, const void* from);
  // Returns when `to` is whole.
  bp::Status read(Queue& queue, cl_mem from, uint64_t offset, uint64_t bytes, void* to);

 private:
  // A piece of pinned memory, mapped for as long as it lives.
  struct Piece {
    OwnedBuffer memory;
    char* address = nullptr;
    OwnedEvent busy;
  };

  void pin(cl_context context, Piece& piece);
  static bp::Status wait(Piece& piece);
  // `enqueue(cl_command_queue, cl_event*)` gives a copy, until whose end the piece is busy.
  template <class Enqueue> bp::Status give(Queue& queue, Piece& piece, Enqueue enqueue);

  cl_command_queue commands_;
  bp::StagedCopies<Piece> copies_;
};

}  // namespace opencl
