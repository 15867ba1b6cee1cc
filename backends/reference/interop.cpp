#include "interop.hpp"

#include <backplane/plugin/interop.hpp>

#include "device.hpp"
#include "native.hpp"

namespace reference {
namespace {

constexpr const char* device_kinds[] = {BP_REFERENCE_CONTEXT, nullptr};
constexpr const char* stream_kinds[] = {BP_REFERENCE_QUEUE, nullptr};
constexpr const char* memory_kinds[] = {BP_REFERENCE_BLOCK, nullptr};

// Each list has one kind.
bp::Status check_kind(const char* kind, const char* expected) {
  if (bp::is_kind(kind, expected)) return bp::ok;
  return bp::bad_argument("interop: a handle of kind '%s'; here it is '%s'",
                          kind != nullptr ? kind : "(none)", expected);
}

bp::Status give_handle(const char* kind, const char* expected, uint64_t handle, uint64_t* out) {
  *out = handle;
  return check_kind(kind, expected);
}

bp::Status adopt_stream(Device& device, const bp_native& given, bp_stream** out) {
  if (bp::Status status = check_kind(given.kind, BP_REFERENCE_QUEUE); !status.is_ok())
    return status;
  bp::Result<NativeQueue> found = find_queue(given.value);
  if (!found.is_ok()) return found.status();
  if (found.value().context != &device.context()) {
    return bp::bad_argument("interop: the queue belongs to another context than %s:%u uses",
                            Device::identity.name, device.index());
  }
  *out = reinterpret_cast<bp_stream*>(found.value().queue);
  return bp::ok;
}

// The block's own handle: Backplane never releases what it was not given by allocate.
bp::Status adopt_memory(Device& device, const bp_native& given, uint64_t bytes, bp_handle& out) {
  if (bp::Status status = check_kind(given.kind, BP_REFERENCE_BLOCK); !status.is_ok())
    return status;
  out = given.value;
  return device.bytes_of(bp::Region{{given.value, 0, bytes}}, "interop: the block").status();
}

bp::Status open_within(uint32_t index, const bp_native* adopted, uint32_t num_adopted,
                       bp_device** out) {
  Context* context = nullptr;
  for (uint32_t i = 0; i < num_adopted; ++i) {
    if (bp::Status status = check_kind(adopted[i].kind, BP_REFERENCE_CONTEXT); !status.is_ok())
      return status;
    bp::Result<Context*> found = find_context(adopted[i].value);
    if (!found.is_ok()) return found.status();
    context = found.value();
    if (context->device != index)
      return bp::bad_argument("interop: the context is of %s:%u, not of %s:%u",
                              Device::identity.name, context->device, Device::identity.name, index);
  }
  *out = reinterpret_cast<bp_device*>(new Device(index, context));
  return bp::ok;
}

constexpr bp_interop make_interop_functions() {
  bp_interop table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.device_kinds = device_kinds;
  table.stream_kinds = stream_kinds;
  table.memory_kinds = memory_kinds;
  table.device_handle = [](bp_device* device, const char* kind, uint64_t* out) {
    const auto context = reinterpret_cast<uint64_t>(&Device::of(device).context());
    return give_handle(kind, BP_REFERENCE_CONTEXT, context, out).code();
  };
  table.stream_handle = [](bp_device* device, bp_stream* stream, const char* kind, uint64_t* out) {
    Queue& queue = Device::of(device).queue_of(reinterpret_cast<Queue*>(stream));
    return give_handle(kind, BP_REFERENCE_QUEUE, reinterpret_cast<uint64_t>(&queue), out).code();
  };
  table.memory_handle = [](bp_device*, bp_handle handle, const char* kind, uint64_t* out) {
    return give_handle(kind, BP_REFERENCE_BLOCK, handle, out).code();
  };
  bp::let_adopt<Device, adopt_stream, adopt_memory, open_within>(table);
  table.forget_stream = [](bp_device*, bp_stream*) {};
  table.forget_memory = [](bp_device*, bp_handle) {};
  return table;
}

}  // namespace

constexpr bp_interop interop_functions = make_interop_functions();

}  // namespace reference
