// Kinds of handles: "cuda.context" (CUcontext), "cuda.device" (the driver's number of the card), "cuda.stream" (CUstream
// or cudaStream_t, 0 for the default stream), "cuda.event" (CUevent or cudaEvent_t), and addresses.
#include "interop.hpp"

#include <backplane/plugin/interop.hpp>

#include "device.hpp"

namespace cuda_backend {
namespace {

constexpr const char* context_kind = "cuda.context";
constexpr const char* device_kind = "cuda.device";
constexpr const char* stream_kind = "cuda.stream";
constexpr const char* event_kind = "cuda.event";

constexpr const char* device_kinds[] = {context_kind, device_kind, nullptr};
constexpr const char* stream_kinds[] = {stream_kind, nullptr};
constexpr const char* event_kinds[] = {event_kind, nullptr};
constexpr const char* memory_kinds[] = {BP_NATIVE_ADDRESS, nullptr};

using bp::is_kind;
using bp::unknown_kind;

// ---- Out -----------------------------------------------------------------------------------------------

bp::Status device_handle(Device& device, const char* kind, uint64_t& out) {
  if (is_kind(kind, context_kind))
    out = bp::handle_of(device.context());
  else if (is_kind(kind, device_kind))
    out = static_cast<uint64_t>(device.found().id);
  else
    return unknown_kind("device", kind);
  return bp::ok;
}

bp::Status stream_handle(Device& device, bp_stream* stream, const char* kind, uint64_t& out) {
  if (!is_kind(kind, stream_kind)) return unknown_kind("stream", kind);
  out = bp::handle_of(device.queue_of(stream).get());
  return bp::ok;
}

bp::Status event_handle(bp_event* event, const char* kind, uint64_t& out) {
  if (!is_kind(kind, event_kind)) return unknown_kind("event", kind);
  out = bp::handle_of(reinterpret_cast<Event*>(event)->get());
  return bp::ok;
}

// ---- In ------------------------------------------------------------------------------------------------

bp::Status adopt_stream(Device& device, const bp_native& given, bp_stream** out) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  if (!is_kind(given.kind, stream_kind)) return unknown_kind("stream", given.kind);
  auto* stream = bp::address_of<CUstream_st>(given.value);
  const Current current(device.context());
  CUcontext owner = nullptr;
  // The default streams, which have no handle of their own, belong to whichever context is current.
  const CUresult error = driver.cuStreamGetCtx(stream, &owner);
  if (class_of(error) == BP_DEVICE_LOST) return failed("adopting a stream", error);
  if (error != CUDA_SUCCESS)
    return bp::bad_argument("interop: this is not a stream: %s", name_of(error).c_str());
  if (owner != device.context()) {
    return bp::bad_argument(
        "interop: the stream belongs to another card or context than cuda:%d uses; streams of the "
        "runtime library belong to the primary context",
        device.found().ordinal);
  }
  *out = reinterpret_cast<bp_stream*>(new Queue(device, stream));
  return bp::ok;
}

bp::Status check_address(Device& device, uint64_t address) {
  int ordinal = -1;
  const CUresult error =
      driver.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  if (class_of(error) == BP_DEVICE_LOST) return failed("adopting memory", error);
  if (error != CUDA_SUCCESS) {
    return bp::bad_argument("interop: 0x%llx is not memory that CUDA knows, or lies past its end",
                            number(address));
  }
  if (ordinal == device.found().ordinal) return bp::ok;
  return bp::bad_argument("interop: 0x%llx is memory of card %d, not of card %d", number(address),
                          ordinal, device.found().ordinal);
}

// First and last byte: what lies between may be several allocations, mapped side by side.
bp::Status adopt_memory(Device& device, const bp_native& given, uint64_t bytes, bp_handle& out) {
  if (bp::Status status = device.check_process(); !status.is_ok()) return status;
  if (!is_kind(given.kind, BP_NATIVE_ADDRESS)) return unknown_kind("memory", given.kind);
  const Current current(device.context());
  for (const uint64_t offset : {uint64_t{0}, bytes > 0 ? bytes - 1 : 0}) {
    bp::Status status = check_address(device, given.value + offset);
    if (!status.is_ok()) return status;
  }
  out = given.value;
  return bp::ok;
}

bp::Status open(uint32_t index, const bp_native* adopted, uint32_t num_adopted, bp_device** out) {
  CUcontext context = nullptr;
  for (uint32_t i = 0; i < num_adopted; ++i) {
    if (!is_kind(adopted[i].kind, context_kind)) return unknown_kind("device", adopted[i].kind);
    context = bp::address_of<CUctx_st>(adopted[i].value);
  }
  *out = reinterpret_cast<bp_device*>(context != nullptr ? new Device(index, context)
                                                         : new Device(index));
  return bp::ok;
}

constexpr bp_interop make_interop_functions() {
  bp_interop table =
      bp::interop_of<Device, device_handle, stream_handle>(device_kinds, stream_kinds);
  bp::let_adopt<Device, adopt_stream, adopt_memory, open>(table);
  table.event_kinds = event_kinds;
  table.memory_kinds = memory_kinds;
  table.event_handle = [](bp_device*, bp_event* event, const char* kind, uint64_t* out) {
    return bp::guarded([=] { return event_handle(event, kind, *out); });
  };
  table.forget_stream = [](bp_device*, bp_stream* stream) {
    delete reinterpret_cast<Queue*>(stream);
  };
  table.forget_memory = [](bp_device*, bp_handle) {};
  return table;
}

}  // namespace

constexpr bp_interop interop_functions = make_interop_functions();

}  // namespace cuda_backend
