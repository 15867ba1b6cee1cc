#include "memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <backplane/extensions/interop.h>
#include <backplane/plugin/fills.hpp>

#include "discovery.hpp"

namespace opencl {
namespace {

enum class Kind { buffer, svm, usm };

bool has_svm(cl_device_id device) {
  return device_version(device) >= 200 &&
         device_value<cl_device_svm_capabilities>(device, CL_DEVICE_SVM_CAPABILITIES) != 0;
}

bool is_fine_grained(cl_device_id device) {
  return (device_value<cl_device_svm_capabilities>(device, CL_DEVICE_SVM_CAPABILITIES) &
          CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
}

Kind kind_of(cl_device_id device) {
  const char* asked = std::getenv("BACKPLANE_OPENCL_MEMORY");
  const std::string_view kind = asked == nullptr ? "" : asked;
  if (kind == "svm" && has_svm(device)) return Kind::svm;
  if (kind == "usm" && has_extension(device, "cl_intel_unified_shared_memory")) return Kind::usm;
  if (!kind.empty() && kind != "buffer") {
    bp::log(bp::LogLevel::warning,
            "BACKPLANE_OPENCL_MEMORY is '%s', which '%s' does not have; it uses buffers "
            "(possible: buffer, svm, usm)",
            asked, device_text(device, CL_DEVICE_NAME).c_str());
  }
  return Kind::buffer;
}

}  // namespace

std::unique_ptr<Memory> Memory::make(cl_context context, cl_platform_id platform,
                                     cl_device_id device) {
  switch (kind_of(device)) {
    case Kind::svm: return make_svm_memory(context, device);
    case Kind::usm: return make_usm_memory(context, platform, device);
    case Kind::buffer: break;
  }
  return make_buffer_memory(context, device);
}

uint32_t Memory::flags_of(cl_device_id device) {
  const Kind kind = kind_of(device);
  uint32_t flags = BP_DEVICE_CAN_SUBALLOCATE;
  if (kind != Kind::buffer) flags |= BP_DEVICE_REAL_ADDRESSES;
  if (kind == Kind::svm && is_fine_grained(device)) flags |= BP_DEVICE_HOST_READABLE;
  return flags;
}

void Memory::release(bp::Handle handle) {
  // First, since another thread may be given the same handle again as soon as this allocation has ended.
  generation_.fetch_add(1, std::memory_order_release);
  end(handle);
}

bp::Result<bp::Handle> Memory::adopt(cl_mem, uint64_t) {
  return bp::bad_argument(
      "interop: memory of this device is addresses, not buffers; give it as '%s', or set "
      "BACKPLANE_OPENCL_MEMORY=buffer",
      BP_NATIVE_ADDRESS);
}

bp::Status Memory::fill_through_host(const bp::Region& to, const void* pattern,
                                     uint32_t pattern_bytes, Queue& queue) {
  return bp::fill_by_copies(
      to.bytes, pattern, pattern_bytes,
      [&](uint64_t done, const void* from, uint64_t bytes) {
        const bp::Region target{to.handle, to.offset + done, bytes};
        const bp::Region source{bp::handle_of(from), 0, bytes};
        return copy(target, source, bp::Direction::from_host, queue);
      },
      [&] { return queue.synchronize(); });
}

}  // namespace opencl
