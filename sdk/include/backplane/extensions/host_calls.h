/* The extension "bp.host_calls", version 1: a host function as work of a stream. Offered through
 * bp_plugin.extension. Without it a thread of the host waits for an event and calls. */
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

  /* Required. Calls `function(context)` once, from any thread, which may be one for all streams: a function must not wait
   * for another. It is called after all that `stream` was given before; later work of
   * the stream waits until it has returned, and memory that it wrote is seen. It is called also if earlier work failed or
   * the stream was lost, since it may own what `context` names; then at the latest by destroy_stream. It calls nothing
   * of the plugin's. Threads: any. */
  bp_code (*call)(bp_device* device, bp_stream* stream, void (*function)(void* context),
                  void* context);
} bp_host_calls;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_HOST_CALLS_H */
