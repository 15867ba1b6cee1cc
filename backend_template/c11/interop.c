/* The extension bp.interop: your driver's memory in an application's hands, and the application's in yours, without a copy.
 * Optional. What an application hands in is used and never freed; queues come the same way, by adopt_stream. */
#include <string.h>

#include <backplane/extensions/interop.h>

#include "acme.h"

static const char* const memory_kinds[] = {BP_NATIVE_ADDRESS, NULL};

/* Handles are addresses here, so that the address is the handle. Ask your driver whether `bytes` from there on are memory
 * of this device. */
static bp_code adopt_memory(bp_device* device, const bp_native* memory, uint64_t bytes,
                            bp_handle* out) {
  (void)device;
  if (memory->value + bytes < memory->value)
    return acme_fail(BP_BAD_ARGUMENT, "adopt_memory: the memory ends beyond the last address");
  *out = memory->value;
  return BP_OK;
}

static void forget_memory(bp_device* device, bp_handle handle) {
  (void)device, (void)handle;
}

static const bp_interop interop = {.h = {sizeof(bp_interop), BP_TYPE_EXTENSION, NULL},
                                   .memory_kinds = memory_kinds,
                                   .adopt_memory = adopt_memory,
                                   .forget_memory = forget_memory};

/* Every extension is asked for by its name. */
const bp_header* acme_extension(void* self, const char* name, uint32_t min_version) {
  (void)self;
  return strcmp(name, BP_INTEROP) == 0 && min_version <= BP_INTEROP_VERSION ? &interop.h : NULL;
}
