// One Acme device, as Backplane's header plugin.hpp expects it: the functions without which nothing runs, and streams.
// This one is made of host memory and does its work at once, so that everything passes from the first day; replace the
// bodies by your driver's calls, one file after the other.
#pragma once

#include <backplane/plugin.hpp>

namespace acme {

struct Queue {};  // your driver's queue

class Device : public bp::Backend {
 public:
  static constexpr bp::Identity identity{"acme", "Acme", "0.1"};

  // device.cpp: which devices there are
  static bp::Status probe();
  static bp::Result<uint32_t> num_devices();
  static bp::Status describe(uint32_t index, bp::DeviceInfo& info);
  explicit Device(uint32_t index) : index_(index) {}  // opens one; the destructor closes it

  // memory.cpp: raw memory and copies; Backplane pools
  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  void release(bp::Handle handle);
  bp::Status copy(bp::Region to, bp::Region from, bp::Direction direction, Queue* queue);
  bp::Status fill(bp::Region to, const void* pattern, uint32_t pattern_bytes, Queue* queue);

  // queue.cpp: order and completion
  bp::Status synchronize(Queue* queue);
  bp::Result<Queue*> create_stream();
  void destroy_stream(Queue* queue);
  bp::Status query_stream(Queue* queue);

  // interop.cpp: optional functions, by name
  static const bp_header* extension(const char* name, uint32_t min_version);

 private:
  uint32_t index_;
};

}  // namespace acme
