// The exam's second memory: small, fast, and seen by the host.
#pragma once

#include <map>
#include <mutex>

#include <backplane/plugin.hpp>

namespace exam {

class Scratch {
 public:
  static constexpr uint64_t total_bytes = 64 << 10;

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment);
  // False: the handle is none of this memory's.
  bool release(bp::Handle handle);
  uint64_t free_bytes();

 private:
  std::mutex mutex_;
  std::map<bp::Handle, uint64_t> blocks_;
  uint64_t used_ = 0;
};

}  // namespace exam
