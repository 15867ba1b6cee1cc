// Host memory as a device that does all its work at once; the kernels of reference_primitives ask it for theirs.
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>

#include <backplane/plugin.hpp>

namespace reference {

// How a piece of work ended; the text must be a literal.
struct Outcome {
  bp_code code = BP_OK;
  const char* text = nullptr;
};
using Work = std::function<Outcome()>;

struct Queue {};

class Device : public bp::Backend {
 public:
  static constexpr bp::Identity identity{"cpu", "Backplane tests", "0.1"};

  static bp::Status describe(uint32_t, bp::DeviceInfo& info) {
    info.set_name("a processor");
    info.dl_device_type = BP_DL_CPU;
    info.flags = BP_DEVICE_SYNCHRONOUS | BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE |
                 BP_DEVICE_CAN_SUBALLOCATE;
    return bp::ok;
  }

  bp::Result<bp::Handle> allocate(uint64_t bytes, uint64_t alignment) {
    void* ptr = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (ptr == nullptr)
      return bp::out_of_memory("no %llu bytes", static_cast<unsigned long long>(bytes));
    return bp::handle_of(ptr);
  }
  void release(bp::Handle handle) { std::free(bp::address_of(handle)); }
  bp::Status copy(bp::Region to, bp::Region from) {
    std::memcpy(to.address(), from.address(), to.bytes);
    return bp::ok;
  }

  bp::Status synchronize(Queue*) { return bp::ok; }

  // What the kernels ask.
  bp::Result<uint8_t*> bytes_of(const bp::Region& region, const char*) {
    return static_cast<uint8_t*>(bp::address_of(bp::Handle{region.handle})) + region.offset;
  }
  bp::Status submit(Queue*, const Work& work) {
    const Outcome outcome = work();
    if (outcome.code == BP_OK) return bp::ok;
    return bp::error(outcome.code, "%s", outcome.text);
  }
};

}  // namespace reference
