// A device with memory and nothing else: every operator runs through the host. What the bench measures
// here is the core's price for that, so nothing below costs more than a malloc and a memcpy.
#include <cstdlib>
#include <cstring>

#include <backplane/plugin.hpp>

struct MemoryOnly : bp::Backend {
  static constexpr bp::Identity identity{"memonly", "Backplane tests", "0.1"};

  static bp::Status describe(uint32_t, bp::DeviceInfo& info) {
    info.set_name("memory without kernels");
    info.flags |= BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_CAN_SUBALLOCATE;
    info.set_uuid("one test device.");  // the device of `partial` is the same
    info.set_driver("4.2");
    info.num_cores = 3;
    info.clock_mhz = 1500;
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
};

BP_PLUGIN(MemoryOnly)
