/* The extension "bp.numerics", version 1: declares how a backend's arithmetic deviates, so that the conformance suite
 * loosens its bounds accordingly. Offered through bp_plugin.extension; without it no bound is loosened. Every report
 * prints what is declared here. */
#ifndef BACKPLANE_EXTENSIONS_NUMERICS_H
#define BACKPLANE_EXTENSIONS_NUMERICS_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_NUMERICS "bp.numerics"
#define BP_NUMERICS_VERSION 1u

/* Operands and results below the smallest normal number of their type may be treated as 0. */
#define BP_NUMERICS_FLUSHES_DENORMALS 1u
/* Products of f32 read only 10 bits of the fraction (TF32), even where the host does not allow it. */
#define BP_NUMERICS_TF32_MATMUL 2u
/* Sums of f16 and bf16 are accumulated in that type, not in f32. */
#define BP_NUMERICS_LOW_ACCUMULATION 4u
/* Functions return BP_BAD_ARGUMENT for a handle, stream or event that was already freed; without this flag the
 * behavior is undefined. */
#define BP_NUMERICS_CHECKS_HANDLES 8u
/* Products and convolutions of bf16 may treat operands and results below the smallest normal number as 0, as
 * processors' bf16 instructions do. */
#define BP_NUMERICS_FLUSHES_BF16_PRODUCTS 16u

typedef struct bp_numerics {
  bp_header h;    /* type BP_TYPE_EXTENSION */
  uint32_t flags; /* BP_NUMERICS_* */
  uint32_t reserved;
} bp_numerics;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_NUMERICS_H */
