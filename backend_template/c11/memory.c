/* Raw device memory: called for large blocks and seldom, since Backplane pools on top of it. */
#include <stdlib.h>
#include <string.h>

#include "acme.h"

static char* address(const bp_region* region) {
  return (char*)(uintptr_t)(region->handle + region->offset);
}

static bp_code allocate(bp_device* device, uint64_t bytes, uint64_t alignment, bp_handle* out) {
  void* block = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  (void)device;
  if (block == NULL) return acme_fail(BP_OUT_OF_MEMORY, "aligned_alloc found no memory");
  *out = (bp_handle)(uintptr_t)block;
  return BP_OK;
}

static void release(bp_device* device, bp_handle handle) {
  (void)device;
  free((void*)(uintptr_t)handle);
}

/* `direction` says which side is host memory; here both are. */
static bp_code copy(bp_device* device, const bp_region* to, const bp_region* from,
                    uint32_t direction, bp_stream* stream) {
  (void)device, (void)direction, (void)stream;
  memcpy(address(to), address(from), to->bytes);
  return BP_OK;
}

/* Optional: without it Backplane writes through the host. */
static bp_code fill(bp_device* device, const bp_region* to, const void* pattern,
                    uint32_t pattern_bytes, bp_stream* stream) {
  (void)device, (void)stream;
  if (pattern_bytes == 0 || pattern_bytes > 16 || (pattern_bytes & (pattern_bytes - 1)) != 0)
    return acme_fail(BP_BAD_ARGUMENT, "fill: a pattern has 1, 2, 4, 8 or 16 bytes");
  for (uint64_t i = 0; i < to->bytes; ++i)
    address(to)[i] = ((const char*)pattern)[i % pattern_bytes];
  return BP_OK;
}

const bp_memory acme_memory = {.h = {sizeof(bp_memory), BP_TYPE_MEMORY, NULL},
                               .allocate = allocate,
                               .release = release,
                               .copy = copy,
                               .fill = fill};
