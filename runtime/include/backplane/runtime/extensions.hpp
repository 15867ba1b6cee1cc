// The extensions that a backend offers. It is asked once, when it is registered.
#pragma once

#include <backplane/extensions/capture.h>
#include <backplane/extensions/compiler.h>
#include <backplane/extensions/host_calls.h>
#include <backplane/extensions/host_memory.h>
#include <backplane/extensions/interop.h>
#include <backplane/extensions/peer.h>
#include <backplane/extensions/program.h>
#include <backplane/extensions/semaphores.h>
#include <backplane/extensions/stream_memory.h>
#include <backplane/tensor/api.hpp>

namespace bp {

struct Backend;
struct DeviceRecord;

// The extensions that the core uses, each as a table of this header's size: what the backend does not offer is NULL, and so
// is all of a table that it does not have. A table with one required function has all of them.
struct Extensions {
  bp_capture capture{};
  bp_compiler compiler{};
  bp_host_calls host_calls{};
  bp_host_memory host_memory{};
  bp_interop interop{};
  bp_peer peer{};
  bp_program program{};
  bp_semaphores semaphores{};
  bp_stream_memory stream_memory{};
};

// They live as long as the backend. Meta offers none.
BP_API const Extensions& extensions_of(const Backend& backend);
BP_API const Extensions& extensions_of(const DeviceRecord& record);

}  // namespace bp
