/* The extension "bp.host_calls", version 1: runs a host function as part of a stream's work. Offered through
 * bp_plugin.extension. Without it, a thread of the host waits for an event and then calls the function. */
#ifndef BACKPLANE_EXTENSIONS_HOST_CALLS_H
#define BACKPLANE_EXTENSIONS_HOST_CALLS_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_HOST_CALLS "bp.host_calls"
#define BP_HOST_CALLS_VERSION 1u

typedef struct bp_host_calls {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. Calls `function(context)` once, after all earlier work of `stream`. Later work of the stream waits until it
   * has returned, and sees the memory that it wrote. It is also called if earlier work failed or the stream was lost,
   * since it may own what `context` points to; at the latest destroy_stream calls it. The calling thread may be any, and
   * one thread may serve all streams: so a function must not wait for another, and it calls nothing of the plugin's.
   * Threads: any. */
  bp_code (*call)(bp_device* device, bp_stream* stream, void (*function)(void* context),
                  void* context);
} bp_host_calls;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_HOST_CALLS_H */
