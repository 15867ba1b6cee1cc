/* The extension "cuda.hooks", version 1, of the backend `cuda`: lets a machine without a GPU check part of it. */
#ifndef BACKPLANE_EXTENSIONS_CUDA_H
#define BACKPLANE_EXTENSIONS_CUDA_H

#include <backplane/extensions/compiler.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_CUDA_HOOKS "cuda.hooks"

typedef struct bp_cuda_hooks {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Like bp_compiler.compile, for GPUs of `architecture` (90: compute capability 9.0), but needs no GPU. On entry
   * `*bytes` is the room at `to`; on return it is the size of the machine code. If `to` is NULL, only the size is
   * written. Threads: any, several at once. */
  bp_code (*compile)(const bp_source* source, uint32_t architecture, uint64_t* bytes, void* to);
} bp_cuda_hooks;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_CUDA_H */
