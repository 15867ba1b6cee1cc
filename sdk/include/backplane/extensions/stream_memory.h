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

  /* Required, both. As bp_memory.allocate, in space 0, for work that is given to `stream` from here on, which records
   * nothing. Neither this nor that work waits for other streams: memory that an earlier owner's work still uses is given
   * out to nobody but the stream which has that work before it. BP_OUT_OF_MEMORY: the host waits for what it can, trims and
   * asks once more. BP_UNSUPPORTED: not on this device, which is not asked again. Threads: any, also at once. */
  bp_code (*allocate)(bp_device* device, uint64_t bytes, uint64_t alignment, bp_stream* stream,
                      bp_handle* out);
  /* Ends `handle` after what `stream` was given before; work of other streams on it is done. Never waits. `stream` may be
   * another one than it was allocated for. bp_memory.release ends such a handle too, once all work on it is done.
   * Threads: any, also at once. */
  void (*release)(bp_device* device, bp_handle handle, bp_stream* stream);

  /* Optional. Gives to other processes what no handle names and no work uses, as bp_memory.release does. Never waits.
   * Threads: any, also at once. */
  void (*trim)(bp_device* device);
} bp_stream_memory;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_STREAM_MEMORY_H */
