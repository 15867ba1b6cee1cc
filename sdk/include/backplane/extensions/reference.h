/* The extension "reference.hooks", version 1, of the software device `reference`: lets a test provoke pending work,
 * late errors and exhausted memory. `device` is the index of the device in its plugin. */
#ifndef BACKPLANE_EXTENSIONS_REFERENCE_H
#define BACKPLANE_EXTENSIONS_REFERENCE_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_reference_hooks {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* No queue of the device starts another piece of work until `release`. Holds do not nest. */
  bp_code (*hold)(uint32_t device);
  bp_code (*release)(uint32_t device);

  /* The next piece of work on the device fails with `code` when it runs, not when it is submitted. */
  bp_code (*fail_next)(uint32_t device, bp_code code);

  /* Limits allocations to `bytes` in total; 0 restores the device's own limit. Existing allocations stay. */
  bp_code (*set_limit)(uint32_t device, uint64_t bytes);

  /* Pieces of work that are submitted and not yet done; live allocations and their bytes. */
  bp_code (*usage)(uint32_t device, uint64_t* pending, uint64_t* allocations, uint64_t* bytes);
} bp_reference_hooks;

/* The extension "reference.native", version 1: the software device's own API, for applications that use it without
 * Backplane, as a vendor's header is for a real device. The handle kinds of its bp.interop are the objects below. */
#define BP_REFERENCE_NATIVE "reference.native"
#define BP_REFERENCE_CONTEXT "reference.context"
#define BP_REFERENCE_QUEUE "reference.queue"
#define BP_REFERENCE_BLOCK "reference.block"

typedef struct bp_reference_native {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Blocks and queues belong to a context. A value that is not a live object: BP_BAD_ARGUMENT. */
  bp_code (*create_context)(uint32_t device, uint64_t* out);
  bp_code (*destroy_context)(uint64_t context);

  /* Device memory. Bytes are stored masked: XOR each byte at `at` with 0xA5 to read it. */
  bp_code (*create_block)(uint64_t context, uint64_t bytes, uint64_t* out);
  bp_code (*destroy_block)(uint64_t context, uint64_t block);
  bp_code (*address_of_block)(uint64_t context, uint64_t block, uint8_t** at);

  /* Work runs later, in order, on the queue's own thread. */
  bp_code (*create_queue)(uint64_t context, uint64_t* out);
  bp_code (*destroy_queue)(uint64_t queue);
  bp_code (*give)(uint64_t queue, void (*work)(void* argument), void* argument);
  bp_code (*finish)(uint64_t queue);
} bp_reference_native;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_REFERENCE_H */
