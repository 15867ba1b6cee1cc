/* The extension "bp.program", version 1: makes a kernel for an expression that did not exist when the plugin started.
 * The host fuses a chain of pointwise operators into one operator and asks for its kernel here. For a backend without
 * this extension the host uses the compiler (bp.compiler), or runs the chain step by step. */
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

  /* Required. Makes a kernel for `op`, a pointwise operator with an expression; BP_UNSUPPORTED if the backend cannot. The
   * operator lives until `release` of its kernel has returned, or, after a failure, until this call returns. Without
   * `release`, the operator lives as long as the host and the kernel until shutdown. Threads: any, one call at a time. */
  bp_code (*make)(void* self, const bp_operator* op, const bp_kernel** out);
  /* Optional. Frees a kernel that `make` has made: no call of it is running or will come, and all its work is done.
   * Threads: any, one call of `make` or `release` at a time. */
  void (*release)(void* self, const bp_kernel* kernel);
} bp_program;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_PROGRAM_H */
