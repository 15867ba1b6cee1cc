/* The extension "reference.hooks", version 1, of the software device `reference`: what a test needs to see
 * asynchronous work, late errors and exhaustion on purpose. `device` is the index of the device in its plugin. */
#ifndef BACKPLANE_EXTENSIONS_REFERENCE_H
#define BACKPLANE_EXTENSIONS_REFERENCE_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_reference_hooks {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* No queue of the device begins another piece of work until `release`. Holds do not nest. */
  bp_code (*hold)(uint32_t device);
  bp_code (*release)(uint32_t device);

  /* The next piece of work on the device fails with `code` when it is carried out, not when it is given. */
  bp_code (*fail_next)(uint32_t device, bp_code code);

  /* At most `bytes` in all; 0 restores the device's own limit. What lives already stays. */
  bp_code (*set_limit)(uint32_t device, uint64_t bytes);

  /* Pieces of work that are given and not yet done; allocations that live, and their bytes. */
  bp_code (*usage)(uint32_t device, uint64_t* pending, uint64_t* allocations, uint64_t* bytes);
} bp_reference_hooks;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_REFERENCE_H */
