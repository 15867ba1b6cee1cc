#pragma once

#include <backplane/plugin.hpp>

#include "host_memory.hpp"
#include "memory.hpp"

namespace npu {

class Npu : public bp::Backend {
 public:
  static constexpr bp::Identity identity{"npu", "Backplane tests", "0.1"};

  static bp::Status describe(uint32_t index, bp::DeviceInfo& info);
  static const bp_header* extension(const char* name, uint32_t min_version);

  bp::Status describe_space(uint32_t space, bp::SpaceInfo& info);
  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment) {
    return memories_.allocate(hbm, bytes, alignment);
  }
  bp::Result<bp::Handle> allocate_in(uint32_t space, uint64_t bytes, uint64_t alignment) {
    return memories_.allocate(space, bytes, alignment);
  }
  void release(bp::Handle handle) { memories_.release(handle); }
  bp::Status copy(bp::Region to, bp::Region from);
  bp::Status fill(bp::Region to, const void* pattern, uint32_t pattern_bytes);

  static Npu& of(bp_device* device) { return *reinterpret_cast<Npu*>(device); }
  HostMemory& host_memory() { return host_memory_; }
  bp::Result<void*> pin(uint64_t bytes, uint64_t alignment) {
    return host_memory_.allocate(bytes, alignment);
  }
  void unpin(void* memory) { host_memory_.release(memory); }
  bp::Status adopt_host(void* memory, uint64_t bytes) { return host_memory_.adopt(memory, bytes); }
  void forget_host(void* memory) { host_memory_.forget(memory); }

  // What kernels ask: is the tensor where its kernel said that it must be, and where it says that it is?
  template <class Tensor> bp::Status check(const Tensor& tensor, uint32_t spaces) {
    const uint32_t space = memories_.space_of(static_cast<uint64_t>(tensor.handle()));
    if (space != tensor.space())
      return bp::bad_argument("a tensor says that it is in memory %u and is in %u", tensor.space(),
                              space);
    if ((spaces >> space & 1u) == 0)
      return bp::bad_argument("a tensor is in memory %u, which this kernel does not reach", space);
    return bp::ok;
  }

 private:
  Memories memories_;
  HostMemory host_memory_;
};

}  // namespace npu
