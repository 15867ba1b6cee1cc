/* The extension "bp.peer", version 1: copies between two devices of one backend, without the host's memory in between.
 * Offered through bp_plugin.extension. Without it the host copies through its own memory. */
#ifndef BACKPLANE_EXTENSIONS_PEER_H
#define BACKPLANE_EXTENSIONS_PEER_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_PEER "bp.peer"
#define BP_PEER_VERSION 1u

typedef struct bp_peer {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. Copies `from`, of the device `source`, to `to`, of the device `target`; the regions have equal `bytes`,
   * never 0. Ordered on both streams: it begins after all that was given to either of them, and what is given to either
   * of them later waits for its end. May return before the work is done. BP_UNSUPPORTED: not between these two; the host
   * does it. Threads: any. */
  bp_code (*copy)(bp_device* target, const bp_region* to, bp_stream* target_stream,
                  bp_device* source, const bp_region* from, bp_stream* source_stream);
} bp_peer;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_PEER_H */
