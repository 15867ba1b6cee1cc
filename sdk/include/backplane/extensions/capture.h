/* The extension "bp.capture", version 1: records the work submitted to a stream instead of doing it, and replays it as
 * one unit. The host guarantees that memory used by a graph lives as long as the graph, under the same handles. Without
 * this extension the host replays a list of kernel calls. */
#ifndef BACKPLANE_EXTENSIONS_CAPTURE_H
#define BACKPLANE_EXTENSIONS_CAPTURE_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_CAPTURE "bp.capture"
#define BP_CAPTURE_VERSION 1u

typedef struct bp_graph bp_graph; /* the plugin's */

typedef struct bp_capture {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. From here to `end`, kernels, launches, copies within the device and fills submitted to `stream` are
   * recorded. Anything else fails with BP_UNSUPPORTED. One recording per stream at a time. BP_UNSUPPORTED: this device
   * has no graphs; the host keeps a list. */
  bp_code (*begin)(bp_device* device, bp_stream* stream);
  /* Required. If `out` is NULL, drops the recording. */
  bp_code (*end)(bp_device* device, bp_stream* stream, bp_graph** out);
  /* Required. Ordered on `stream`; a graph runs once at a time. */
  bp_code (*replay)(bp_device* device, bp_graph* graph, bp_stream* stream);
  void (*release)(bp_device* device, bp_graph* graph);
} bp_capture;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_CAPTURE_H */
