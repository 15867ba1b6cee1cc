#include "interop.hpp"

#include <string_view>

#include "device.hpp"

namespace opencl {
namespace {

constexpr const char* device_kinds[] = {"opencl.context", "opencl.device", nullptr};
constexpr const char* stream_kinds[] = {"opencl.command_queue", nullptr};
constexpr const char* memory_kinds[] = {"opencl.mem", nullptr};

bp::Status give_buffer(Device& device, bp_handle handle, uint64_t* out) {
  const cl_mem buffer = device.memory().buffer(handle);
  if (buffer == nullptr)
    return bp::unsupported("memory of this device is addresses, not buffers; ask for '%s'",
                           BP_NATIVE_ADDRESS);
  *out = reinterpret_cast<uint64_t>(buffer);
  return bp::ok;
}

// Nothing is adopted: buffers and queues belong to a context, and the device has one of its own.
constexpr bp_interop make_interop_functions() {
  bp_interop table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.device_kinds = device_kinds;
  table.stream_kinds = stream_kinds;
  table.memory_kinds = memory_kinds;
  table.device_handle = [](bp_device* device, const char* kind, uint64_t* out) -> bp_code {
    const Device& of = Device::of(device);
    const bool is_context = std::string_view(kind) == device_kinds[0];
    *out =
        is_context ? reinterpret_cast<uint64_t>(of.context()) : reinterpret_cast<uint64_t>(of.id());
    return BP_OK;
  };
  table.stream_handle = [](bp_device* device, bp_stream* stream, const char*,
                           uint64_t* out) -> bp_code {
    *out = reinterpret_cast<uint64_t>(Device::of(device).queue_of(stream).get());
    return BP_OK;
  };
  table.memory_handle = [](bp_device* device, bp_handle handle, const char*, uint64_t* out) {
    return bp::guarded([=] { return give_buffer(Device::of(device), handle, out); });
  };
  return table;
}

}  // namespace

constexpr bp_interop interop_functions = make_interop_functions();

}  // namespace opencl
