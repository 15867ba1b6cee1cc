/* The extension "bp.inject", version 1, for tests: a device fails when it is asked to, so that what a failure leaves
 * behind can be examined where real ones are rare. Offered through bp_plugin.extension; a device that serves
 * applications need not have it, and one that has it fails nothing by itself. */
#ifndef BACKPLANE_EXTENSIONS_INJECT_H
#define BACKPLANE_EXTENSIONS_INJECT_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_INJECT "bp.inject"
#define BP_INJECT_VERSION 1u

/* The function that is given the work answers with the code: nothing was given. */
#define BP_INJECT_GIVEN 1u
/* The work fails when it is carried out: its function has answered BP_OK, and the stream tells later. On a synchronous
 * device the same as BP_INJECT_GIVEN. */
#define BP_INJECT_WORK 2u
/* An allocation. */
#define BP_INJECT_MEMORY 3u

typedef struct bp_inject {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. Of what `device` is asked for from now on, the first after `skip` others of the same `kind` fails with
   * `code` and a message, once. Copies, fills and kernels are work; copies of the host's own instruments are too. A second
   * request of a kind replaces the first; BP_OK takes it back. BP_UNSUPPORTED: this kind or code cannot be asked for.
   * With BP_STREAM_LOST the stream is lost as if by itself. Threads: any. */
  bp_code (*fail_next)(bp_device* device, uint32_t kind, uint64_t skip, bp_code code);
} bp_inject;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_INJECT_H */
