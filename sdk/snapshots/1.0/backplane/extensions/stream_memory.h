/* The extension "bp.stream_memory", version 1: device memory in the order of a stream, where the driver keeps a pool of
 * its own. Offered through bp_plugin.extension. The host asks for blocks above its own pool's sizes here; without it, of
 * bp_memory. */
#ifndef BACKPLANE_EXTENSIONS_STREAM_MEMORY_H
#define BACKPLANE_EXTENSIONS_STREAM_MEMORY_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_STREAM_MEMORY "bp.stream_memory"
#define BP_STREAM_MEMORY_VERSION 1u

typedef struct bp_stream_memory {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required, both. As bp_memory.allocate, in space 0, for work that is given to `stream` from here on, and without
   * waiting for any. bp_memory.release may end it too. Threads: any. */
  bp_code (*allocate)(bp_device* device, uint64_t bytes, uint64_t alignment, bp_stream* stream,
                      bp_handle* out);
  /* Ends `handle` after what `stream` was given before; work of other streams on it is done. Never waits. Threads: any. */
  void (*release)(bp_device* device, bp_handle handle, bp_stream* stream);
} bp_stream_memory;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_STREAM_MEMORY_H */
