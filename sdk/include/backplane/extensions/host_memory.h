/* The extension "bp.host_memory", version 1: pinned (page-locked) host memory, which a device can copy to and from at
 * full speed and without waiting. Offered through bp_plugin.extension. Without it, all host memory is treated alike. */
#ifndef BACKPLANE_EXTENSIONS_HOST_MEMORY_H
#define BACKPLANE_EXTENSIONS_HOST_MEMORY_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_HOST_MEMORY "bp.host_memory"
#define BP_HOST_MEMORY_VERSION 1u

typedef struct bp_host_memory {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Both required. Host memory; `bytes` is never 0. BP_OUT_OF_MEMORY: the host uses ordinary memory, or frees
   * some and tries once more. Released when all work on it is done. Threads: any. */
  bp_code (*allocate)(bp_device* device, uint64_t bytes, uint64_t alignment, void** out);
  void (*release)(bp_device* device, void* memory);

  /* Optional, both or neither. Makes the application's own memory equally fast until `forget`; the application still
   * owns it. BP_BAD_ARGUMENT if it is already registered, BP_UNSUPPORTED if it cannot be; copies then work as
   * before. Threads: any. */
  bp_code (*adopt)(bp_device* device, void* memory, uint64_t bytes);
  void (*forget)(bp_device* device, void* memory);
} bp_host_memory;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_HOST_MEMORY_H */
