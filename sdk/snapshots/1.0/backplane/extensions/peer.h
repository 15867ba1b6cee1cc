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

#define BP_LINK_UNKNOWN 0u
#define BP_LINK_SAME 1u   /* one physical unit */
#define BP_LINK_FABRIC 2u /* the maker's own: NVLink, Infinity Fabric, ... */
#define BP_LINK_PCI 3u
#define BP_LINK_HOST 4u /* through the host's memory alone */

typedef struct bp_link {
  bp_header h;
  uint32_t kind; /* BP_LINK_* */
  uint32_t reserved;
  uint64_t bytes_per_second; /* one way; 0: unknown */
} bp_link;

typedef struct bp_peer {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. Copies `from`, of the device `source`, to `to`, of the device `target`; the regions have equal `bytes`,
   * never 0. Ordered on both streams: it begins after all that was given to either of them, and what is given to either
   * of them later waits for its end. May return before the work is done. BP_UNSUPPORTED: not between these two; the host
   * does it. Threads: any. */
  bp_code (*copy)(bp_device* target, const bp_region* to, bp_stream* target_stream,
                  bp_device* source, const bp_region* from, bp_stream* source_stream);

  /* Optional. What lies between the two; the host has set out->h. BP_UNSUPPORTED: nothing. Threads: any. */
  bp_code (*link)(bp_device* target, bp_device* source, bp_link* out);
  /* Optional. Later work of `target_stream` waits for an event of the device `source`; the caller does not. Without it
   * the host waits. BP_UNSUPPORTED: not between these two. Threads: any. */
  bp_code (*wait_event)(bp_device* target, bp_stream* target_stream, bp_device* source,
                        bp_event* event);
} bp_peer;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_PEER_H */
