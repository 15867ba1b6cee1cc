// The extension "reference.native": the device as an application uses it without Backplane.
#pragma once

#include <backplane/extensions/reference.h>
#include <backplane/plugin.hpp>

#include "memory.hpp"
#include "queue.hpp"

namespace reference {

extern const bp_reference_native native_functions;

// The object that a value names: one of the application's, or of an open device; an error if none does. Threads: any.
struct NativeQueue {
  Queue* queue = nullptr;
  Context* context = nullptr;
};
bp::Result<Context*> find_context(uint64_t value);
bp::Result<NativeQueue> find_queue(uint64_t value);

}  // namespace reference
