// The extension "bp.stream_memory": blocks that a queue gives back in its order.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <backplane/extensions/stream_memory.h>

#include "memory.hpp"
#include "queue.hpp"

namespace reference {

// What was released in the order of a queue: at once for the next owner on the same queue, for others when the queue has
// come so far. Threads: any, for every function.
class StreamPool {
 public:
  explicit StreamPool(Memory& memory) : memory_(memory), shared_(std::make_shared<Shared>()) {}
  ~StreamPool();
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;

  bp::Result<bp::Handle> allocate(const Queue& queue, uint64_t bytes);
  void release(Queue& queue, bp::Handle handle);
  // Gives back what every queue has passed.
  void trim();

 private:
  struct Kept {
    Memory::Bytes bytes;
    const Queue* queue;
    uint64_t place;
    bool is_reached = false;
  };
  // Of queues as well, which may come to it later.
  struct Shared {
    std::mutex mutex;  // of what follows
    std::vector<Kept> kept;
    uint64_t num_released = 0;

    void reach(uint64_t place);
  };

  Memory& memory_;
  std::shared_ptr<Shared> shared_;
};

extern const bp_stream_memory stream_memory_functions;

}  // namespace reference
