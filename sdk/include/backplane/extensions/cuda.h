/* The extension "cuda.hooks", version 1, of the backend `cuda`: what a machine without a card can check of it. */
#ifndef BACKPLANE_EXTENSIONS_CUDA_H
#define BACKPLANE_EXTENSIONS_CUDA_H

#include <backplane/extensions/compiler.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_CUDA_HOOKS "cuda.hooks"

typedef struct bp_cuda_hooks {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* As bp_compiler.compile, for cards of `architecture` (90: compute capability 9.0), without a card. Writes the size of
   * the machine code to `bytes`, which comes in as the room at `to`; with `to` NULL that is all. Threads: any, also at
   * once. */
  bp_code (*compile)(const bp_source* source, uint32_t architecture, uint64_t* bytes, void* to);
} bp_cuda_hooks;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_CUDA_H */
