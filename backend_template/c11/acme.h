/* What the files of this plugin know of each other. The device is made of host memory and does its work at once, so that
 * everything passes from the first day; replace the bodies by your driver's calls, one file after the other. */
#ifndef ACME_H
#define ACME_H

#include <backplane/abi.h>

extern const bp_host* acme_host; /* plugin.c */

/* Sets the error's text, and returns its code. */
bp_code acme_fail(bp_code code, const char* message);

/* device.c */
bp_code acme_devices(void* self, uint32_t* count, bp_device_info* infos);
bp_code acme_open(void* self, uint32_t index, bp_device** out);
void acme_close(bp_device* device);

extern const bp_memory acme_memory; /* memory.c */
extern const bp_queue acme_queue;   /* queue.c */

/* interop.c: optional functions, by name */
const bp_header* acme_extension(void* self, const char* name, uint32_t min_version);

/* kernels/: each file there is compiled; name its kernels in this list, and nowhere else. */
#define ACME_KERNELS(KERNEL) KERNEL(add) KERNEL(mul) KERNEL(exp) KERNEL(relu) KERNEL(bmm)
#define ACME_DECLARE(name) extern const bp_kernel acme_##name;
ACME_KERNELS(ACME_DECLARE)

/* The first element, row-major. */
static inline float* acme_elements(const bp_tensor* tensor) {
  return (float*)(void*)((char*)tensor->dl.data + tensor->dl.byte_offset);
}

/* A place of a kernel that takes contiguous float32 tensors. */
#define ACME_F32 \
  { .dtypes = 1u << BP_F32, .layouts = BP_LAYOUT_CONTIGUOUS }

#endif /* ACME_H */
