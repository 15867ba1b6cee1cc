// The oracle: a synchronous device in host memory whose kernels are written to be obviously right. Results are computed
// in long double, or in an integer's own width, and rounded once.
#include <cstdlib>
#include <cstring>
#include <new>

#include <backplane/plugin.hpp>

#include "elements.hpp"

namespace oracle {
namespace {

struct Device : bp::Backend {
  static constexpr bp::Identity identity{"oracle", "Backplane", "1.0"};

  // The host takes further kernels once the devices are known to it.
  explicit Device(std::uint32_t) {
    if (const bp::Status status = register_expressions(); !status.is_ok())
      throw bp::Failure{status};
  }

  static void shutdown() { forget_expressions(); }

  static bp::Status describe(std::uint32_t, bp::DeviceInfo& info) {
    info.set_name("the conformance suite's reference");
    info.flags |= BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_HOST_READABLE | BP_DEVICE_CAN_SUBALLOCATE;
    return bp::ok;
  }

  bp::Result<bp::Handle> allocate(std::uint64_t bytes, std::uint64_t alignment) {
    void* const ptr =
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (ptr == nullptr)
      return bp::out_of_memory("no %llu bytes", static_cast<unsigned long long>(bytes));
    return bp::handle_of(ptr);
  }
  void release(bp::Handle handle) { std::free(bp::address_of(handle)); }

  bp::Status copy(bp::Region to, bp::Region from) {
    std::memcpy(to.address(), from.address(), to.bytes);
    return bp::ok;
  }

  // Work is done when a call returns. A stream is there for its fault word: each thread that judges has one, so that an
  // index out of range is reported to who gave it.
  struct Queue {};
  bp::Result<Queue*> create_stream(std::int32_t) { return new (std::nothrow) Queue; }
  void destroy_stream(Queue* queue) { delete queue; }
  bp::Status query_stream(Queue*) { return bp::ok; }
};

}  // namespace
}  // namespace oracle

BP_PLUGIN(oracle::Device, reductions, products, transforms, windows, indexing, movement, making,
          norms)
