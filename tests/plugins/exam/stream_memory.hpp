// The extension bp.stream_memory, of the device that works in the background, with its faults.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <backplane/plugin.hpp>

namespace reference {
class Device;
class Queue;
}  // namespace reference

namespace exam {

class StreamMemory {
 public:
  explicit StreamMemory(reference::Device& device)
      : device_(device), kept_(std::make_shared<KeptBlocks>()) {}
  ~StreamMemory();
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;

  bp::Result<bp::Handle> allocate(reference::Queue& queue, uint64_t bytes, uint64_t alignment);
  void release(reference::Queue& queue, bp::Handle handle);
  void trim();

 private:
  struct Kept {
    bp::Handle handle;
    uint64_t bytes;
    reference::Queue* queue;
    bool is_reached = false;
  };
  struct KeptBlocks {
    std::mutex mutex;
    std::vector<Kept> all;
  };
  // One that may be used on the queue; the handle is 0 if there is none.
  Kept take(const reference::Queue& queue, uint64_t bytes, uint64_t alignment);

  reference::Device& device_;
  const std::shared_ptr<KeptBlocks> kept_;  // of queues as well, which may come to it later
  std::mutex mutex_;
  std::map<bp::Handle, uint64_t> sizes_;
};

// Null for another name, and where the device is synchronous.
const bp_header* stream_memory(const char* name, uint32_t min_version);

}  // namespace exam
