/* The extension "bp.program", version 1: a kernel for an expression that did not exist when the plugin started. The
 * host joins chains of pointwise operators into one operator and asks here for its kernel; a backend without this
 * extension gets one through its compiler, or runs the chain step by step. */
#ifndef BACKPLANE_EXTENSIONS_PROGRAM_H
#define BACKPLANE_EXTENSIONS_PROGRAM_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_PROGRAM "bp.program"
#define BP_PROGRAM_VERSION 1u

typedef struct bp_program {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. A kernel for `op`, of kind pointwise with an expression; BP_UNSUPPORTED if it is beyond the backend. The
   * operator lives until `release` of its kernel has returned, or with a failure until this returns; without `release`
   * as long as the host, and the kernel until shutdown. Threads: any, one call at a time. */
  bp_code (*make)(void* self, const bp_operator* op, const bp_kernel** out);
  /* Optional. Ends a kernel that `make` has made: no call of it is under way or will come, all its work is done.
   * Threads: any, one call of `make` or `release` at a time. */
  void (*release)(void* self, const bp_kernel* kernel);
} bp_program;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_PROGRAM_H */
