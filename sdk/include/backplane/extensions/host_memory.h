/* The extension "bp.host_memory", version 1: memory of the host that a device copies from and to at full speed and
 * without waiting (pinned, page-locked). Offered through bp_plugin.extension. Without it all host memory is alike. */
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

  /* Required, both. Memory of the host; `bytes` is never 0. BP_OUT_OF_MEMORY: the host takes ordinary memory, or frees
   * some and asks once more. Released when all work on it is done. Threads: any. */
  bp_code (*allocate)(bp_device* device, uint64_t bytes, uint64_t alignment, void** out);
  void (*release)(bp_device* device, void* memory);

  /* Optional, both or neither. The application's own memory, made as fast as the above until `forget`; it stays the
   * application's. What is registered already, or cannot be: BP_BAD_ARGUMENT or BP_UNSUPPORTED; copies work then as
   * before. Threads: any. */
  bp_code (*adopt)(bp_device* device, void* memory, uint64_t bytes);
  void (*forget)(bp_device* device, void* memory);
} bp_host_memory;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_HOST_MEMORY_H */
