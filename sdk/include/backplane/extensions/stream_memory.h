/* The extension "bp.stream_memory", version 1: stream-ordered allocation, for drivers that keep a memory pool of their
 * own. Offered through bp_plugin.extension. The host allocates blocks that are too large for its own pool here; without
 * this extension, through bp_memory. */
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

  /* Both required. allocate: like bp_memory.allocate, in space 0, for later work of `stream`, which is not recording.
   * Neither this call nor that work waits for other streams: while an earlier owner's work still uses the memory, only
   * the stream that runs that work may get it. BP_OUT_OF_MEMORY: the host waits for what it can, trims and tries once
   * more. BP_UNSUPPORTED: not on this device; the host does not ask again. Threads: any, several at once. */
  bp_code (*allocate)(bp_device* device, uint64_t bytes, uint64_t alignment, bp_stream* stream,
                      bp_handle* out);
  /* Frees `handle` after all earlier work of `stream`; work of other streams on it is done. Never waits. `stream` need not
   * be the one that it was allocated for. bp_memory.release frees such a handle too, once all work on it is done.
   * Threads: any, several at once. */
  void (*release)(bp_device* device, bp_handle handle, bp_stream* stream);

  /* Optional. Returns memory that has no handle and no pending work to the system, for other processes, as
   * bp_memory.release does. Never waits. Threads: any, several at once. */
  void (*trim)(bp_device* device);
} bp_stream_memory;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_STREAM_MEMORY_H */
