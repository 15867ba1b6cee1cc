// Pinned host memory between pageable host memory and a device of its own memory: drivers copy from and to it at the
// full speed of the bus, while the processor fills the next piece. BACKPLANE_OPENCL_STAGING=1 or 0 overrides the
// choice, which is: not where the device is the processor.
#pragma once

#include <array>
#include <mutex>

#include "opencl.hpp"

namespace opencl {

class Queue;

// Belongs to one queue. Threads: any, for every function but the constructor.
class Staging {
 public:
  // Less goes straight: drivers keep small pieces by themselves.
  static constexpr uint64_t least_bytes = uint64_t{64} << 10;
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
  struct Slot {
    OwnedBuffer memory;
    char* address = nullptr;
    OwnedEvent busy;
  };

  void pin(cl_context context, Slot& slot);
  static bp::Status wait(Slot& slot);

  cl_command_queue commands_;
  std::mutex mutex_;
  std::array<Slot, 2> slots_;
};

}  // namespace opencl
