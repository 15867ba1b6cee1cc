/* The extension "bp.peer", version 1: direct copies between two devices of one backend, bypassing host memory.
 * Offered through bp_plugin.extension. Without it, the host copies through its own memory. */
#ifndef BACKPLANE_EXTENSIONS_PEER_H
#define BACKPLANE_EXTENSIONS_PEER_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_PEER "bp.peer"
#define BP_PEER_VERSION 1u

#define BP_LINK_UNKNOWN 0u
#define BP_LINK_SAME 1u   /* the same physical device */
#define BP_LINK_FABRIC 2u /* the vendor's own: NVLink, Infinity Fabric, ... */
#define BP_LINK_PCI 3u
#define BP_LINK_HOST 4u /* only through host memory */

typedef struct bp_link {
  bp_header h;
  uint32_t kind; /* BP_LINK_* */
  uint32_t reserved;
  uint64_t bytes_per_second; /* in one direction; 0: unknown */
} bp_link;

typedef struct bp_peer {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. Copies `from`, on the device `source`, to `to`, on the device `target`; the regions have equal `bytes`,
   * never 0. Ordered on both streams: the copy begins after all earlier work of both, and later work of either waits for
   * it. May return before the work is done. BP_UNSUPPORTED: not between these two devices; the host then copies itself.
   * Threads: any. */
  bp_code (*copy)(bp_device* target, const bp_region* to, bp_stream* target_stream,
                  bp_device* source, const bp_region* from, bp_stream* source_stream);

  /* Optional. Describes the link between the two; the host has set out->h. BP_UNSUPPORTED: there is no link.
   * Threads: any. */
  bp_code (*link)(bp_device* target, bp_device* source, bp_link* out);
  /* Optional. Later work of `target_stream` waits for an event of the device `source`; the caller does not wait. Without
   * this function the host waits. BP_UNSUPPORTED: not between these two devices. Threads: any. */
  bp_code (*wait_event)(bp_device* target, bp_stream* target_stream, bp_device* source,
                        bp_event* event);
} bp_peer;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_PEER_H */
