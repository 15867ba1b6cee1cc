// The extension bp.interop: your driver's queues and memory in an application's hands, and the application's in yours, without a
// copy. Optional. The names of kinds are yours; what an application hands in is used and never freed.
#include <cstring>

#include <backplane/extensions/interop.h>

#include "device.hpp"

namespace acme {
namespace {

constexpr const char* queue_kinds[] = {"acme.queue", nullptr};
constexpr const char* memory_kinds[] = {BP_NATIVE_ADDRESS, nullptr};

// A stream is a Queue here; the default one has none of its own, and is 0.
bp_code give_queue(bp_device*, bp_stream* stream, const char*, uint64_t* out) {
  *out = reinterpret_cast<uint64_t>(stream);
  return BP_OK;
}

// Ask your driver whether the queue is of this device; what you say reaches the application.
bp_code adopt_queue(bp_device*, const bp_native* queue, bp_stream** out) {
  if (queue->value == 0) return bp::bad_argument("adopt_stream: the queue is null").code();
  *out = reinterpret_cast<bp_stream*>(queue->value);
  return BP_OK;
}

// Handles are addresses here, so that the address is the handle. Ask your driver whether `bytes` from there on are memory
// of this device.
bp_code adopt_memory(bp_device*, const bp_native* memory, uint64_t bytes, bp_handle* out) {
  if (memory->value + bytes < memory->value)
    return bp::bad_argument("adopt_memory: the memory ends beyond the last address").code();
  *out = memory->value;
  return BP_OK;
}

constexpr bp_interop make_interop() {
  bp_interop table{};
  table.h = {sizeof table, BP_TYPE_EXTENSION, nullptr};
  table.stream_kinds = queue_kinds;
  table.stream_handle = give_queue;
  table.adopt_stream = adopt_queue;
  table.forget_stream = [](bp_device*, bp_stream*) {};
  table.memory_kinds = memory_kinds;
  table.adopt_memory = adopt_memory;
  table.forget_memory = [](bp_device*, bp_handle) {};
  return table;
}

constexpr bp_interop interop = make_interop();

}  // namespace

// Every extension is asked for by its name.
const bp_header* Device::extension(const char* name, uint32_t min_version) {
  const bool is_interop = std::strcmp(name, BP_INTEROP) == 0 && min_version <= BP_INTEROP_VERSION;
  return is_interop ? &interop.h : nullptr;
}

}  // namespace acme
