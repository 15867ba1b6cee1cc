// Kinds of handles: "opencl.context" (cl_context), "opencl.device" (cl_device_id), "opencl.command_queue", "opencl.event",
// and "opencl.mem" (cl_mem) where handles are not addresses. What is adopted is retained as long as it is used.
#include "interop.hpp"

#include <vector>

#include <backplane/plugin/interop.hpp>

#include "device.hpp"

namespace opencl {
namespace {

constexpr const char* context_kind = "opencl.context";
constexpr const char* device_kind = "opencl.device";
constexpr const char* queue_kind = "opencl.command_queue";
constexpr const char* event_kind = "opencl.event";
constexpr const char* buffer_kind = "opencl.mem";

constexpr const char* device_kinds[] = {context_kind, device_kind, nullptr};
constexpr const char* stream_kinds[] = {queue_kind, nullptr};
constexpr const char* event_kinds[] = {event_kind, nullptr};
constexpr const char* memory_kinds[] = {buffer_kind, nullptr};

using bp::is_kind;
using bp::unknown_kind;

template <class T> T native(const bp_native& given) {
  return reinterpret_cast<T>(given.value);
}

template <class T> uint64_t value_of(T* object) {
  return reinterpret_cast<uint64_t>(object);
}

// ---- Out -----------------------------------------------------------------------------------------------

bp::Status give_device(Device& device, const char* kind, uint64_t& out) {
  if (is_kind(kind, context_kind))
    out = value_of(device.context());
  else if (is_kind(kind, device_kind))
    out = value_of(device.id());
  else
    return unknown_kind("device", kind);
  return bp::ok;
}

bp::Status give_stream(Device& device, bp_stream* stream, const char* kind, uint64_t& out) {
  if (!is_kind(kind, queue_kind)) return unknown_kind("stream", kind);
  out = value_of(device.queue_of(stream).get());
  return bp::ok;
}

bp::Status give_event(bp_event* event, const char* kind, uint64_t& out) {
  if (!is_kind(kind, event_kind)) return unknown_kind("event", kind);
  // The event keeps its own reference until it is recorded again.
  const OwnedEvent marker = reinterpret_cast<Event*>(event)->marker();
  if (!marker) return bp::bad_argument("interop: the event was never recorded; record it first");
  out = value_of(marker.get());
  return bp::ok;
}

bp::Status give_memory(Device& device, bp_handle handle, const char* kind, uint64_t& out) {
  if (!is_kind(kind, buffer_kind)) return unknown_kind("memory", kind);
  const cl_mem buffer = device.memory().buffer(handle);
  if (buffer == nullptr)
    return bp::unsupported("memory of this device is addresses, not buffers; ask for '%s'",
                           BP_NATIVE_ADDRESS);
  out = value_of(buffer);
  return bp::ok;
}

// ---- In ------------------------------------------------------------------------------------------------

template <class T> T property_of_queue(cl_command_queue queue, cl_command_queue_info property) {
  T value{};
  require("asking for an adopted command queue",
          clGetCommandQueueInfo(queue, property, sizeof value, &value, nullptr));
  return value;
}

bp::Status adopt_stream(Device& device, const bp_native& given, bp_stream** out) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  if (!is_kind(given.kind, queue_kind)) return unknown_kind("stream", given.kind);
  if (given.value == 0) return bp::bad_argument("interop: the command queue is null");
  const auto queue = native<cl_command_queue>(given);
  if (property_of_queue<cl_context>(queue, CL_QUEUE_CONTEXT) != device.context()) {
    return bp::bad_argument(
        "interop: the command queue belongs to another context than opencl:%u uses; make it in the "
        "device's, or adopt yours before the device's first use",
        device.index());
  }
  if (property_of_queue<cl_device_id>(queue, CL_QUEUE_DEVICE) != device.id())
    return bp::bad_argument("interop: the command queue is of another device than opencl:%u",
                            device.index());
  if (property_of_queue<cl_command_queue_properties>(queue, CL_QUEUE_PROPERTIES) &
      CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
    return bp::bad_argument(
        "interop: the command queue runs its work in any order, and a stream has one; make it "
        "without CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE");
  }
  *out = reinterpret_cast<bp_stream*>(new Queue(queue, device.id()));
  return bp::ok;
}

bp::Status adopt_memory(Device& device, const bp_native& given, uint64_t bytes, bp_handle& out) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  if (!is_kind(given.kind, buffer_kind)) return unknown_kind("memory", given.kind);
  if (given.value == 0) return bp::bad_argument("interop: the buffer is null");
  bp::Result<bp::Handle> adopted = device.memory().adopt(native<cl_mem>(given), bytes);
  out = adopted.value();
  return adopted.status();
}

bp::Status check_context(cl_context context, uint32_t index) {
  size_t bytes = 0;
  require("asking for an adopted context",
          clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, nullptr, &bytes));
  std::vector<cl_device_id> devices(bytes / sizeof(cl_device_id));
  require("asking for an adopted context",
          clGetContextInfo(context, CL_CONTEXT_DEVICES, bytes, devices.data(), nullptr));
  for (const cl_device_id each : devices)
    if (each == found_devices().at(index).id) return bp::ok;
  return bp::bad_argument("interop: the context was made for other devices than opencl:%u", index);
}

bp::Status open_within(uint32_t index, const bp_native* adopted, uint32_t num_adopted,
                       bp_device** out) {
  if (index >= found_devices().size()) return bp::bad_argument("there is no opencl:%u", index);
  cl_context context = nullptr;
  for (uint32_t i = 0; i < num_adopted; ++i) {
    const bp_native& given = adopted[i];
    if (given.value == 0) return bp::bad_argument("interop: the %s is null", given.kind);
    if (is_kind(given.kind, context_kind)) {
      context = native<cl_context>(given);
      if (bp::Status status = check_context(context, index); !status.is_ok()) return status;
    } else if (!is_kind(given.kind, device_kind)) {
      return unknown_kind("device", given.kind);
    } else if (native<cl_device_id>(given) != found_devices()[index].id) {
      return bp::bad_argument("interop: the cl_device_id is another device's than opencl:%u",
                              index);
    }
  }
  *out = reinterpret_cast<bp_device*>(new Device(index, context));
  return bp::ok;
}

// ---- The table -----------------------------------------------------------------------------------------

constexpr bp_interop make_interop_functions() {
  bp_interop table = bp::interop_of<Device, give_device, give_stream>(device_kinds, stream_kinds);
  bp::let_adopt<Device, adopt_stream, adopt_memory, open_within>(table);
  table.event_kinds = event_kinds;
  table.memory_kinds = memory_kinds;
  table.event_handle = [](bp_device*, bp_event* event, const char* kind, uint64_t* out) {
    return bp::guarded([=] { return give_event(event, kind, *out); });
  };
  table.memory_handle = [](bp_device* device, bp_handle handle, const char* kind, uint64_t* out) {
    return bp::guarded([=] { return give_memory(Device::of(device), handle, kind, *out); });
  };
  table.forget_stream = [](bp_device* device, bp_stream* stream) {
    Device::of(device).destroy_stream(reinterpret_cast<Queue*>(stream));
  };
  table.forget_memory = [](bp_device* device, bp_handle handle) {
    Device::of(device).release(bp::Handle{handle});
  };
  return table;
}

}  // namespace

constexpr bp_interop interop_functions = make_interop_functions();

}  // namespace opencl
