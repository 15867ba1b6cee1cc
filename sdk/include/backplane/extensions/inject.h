/* The extension "bp.inject", version 1, for tests: makes a device fail on request, so that tests can examine the state
 * after a failure even where real failures are rare. Offered through bp_plugin.extension. A device for applications
 * does not need it, and a device that has it never fails unless asked to. */
#ifndef BACKPLANE_EXTENSIONS_INJECT_H
#define BACKPLANE_EXTENSIONS_INJECT_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_INJECT "bp.inject"
#define BP_INJECT_VERSION 1u

/* The function that submits the work returns the code; nothing was submitted. */
#define BP_INJECT_GIVEN 1u
/* The work fails when it runs: its function has returned BP_OK, and the stream reports the error later. On a synchronous
 * device, the same as BP_INJECT_GIVEN. */
#define BP_INJECT_WORK 2u
/* An allocation fails. */
#define BP_INJECT_MEMORY 3u

typedef struct bp_inject {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. From now on `device` lets `skip` requests of this `kind` pass and fails the next one with `code` and a
   * message, once. Copies, fills and kernels count as work, including copies that the host makes for its own purposes. A
   * second call for the same kind replaces the first; BP_OK cancels it. BP_UNSUPPORTED: this kind or code cannot be
   * injected. With BP_STREAM_LOST the stream is lost exactly as in a real failure. Threads: any. */
  bp_code (*fail_next)(bp_device* device, uint32_t kind, uint64_t skip, bp_code code);
} bp_inject;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_INJECT_H */
