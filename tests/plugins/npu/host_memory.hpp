// The extension bp.host_memory, which pins nothing and keeps accounts.
#pragma once

#include <map>
#include <mutex>

#include <backplane/plugin.hpp>

namespace npu {

class HostMemory {
 public:
  static constexpr uint64_t most = 1 << 20;  // bytes that it pins

  bp::Result<void*> allocate(uint64_t bytes, uint64_t alignment);
  void release(void* memory);
  bp::Status adopt(void* memory, uint64_t bytes);
  void forget(void* memory);
  uint64_t num_pinned();
  uint64_t num_registered();

 private:
  std::mutex mutex_;
  std::map<void*, uint64_t> pinned_, registered_;
  uint64_t used_ = 0;
};

}  // namespace npu
