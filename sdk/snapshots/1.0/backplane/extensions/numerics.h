/* The extension "bp.numerics", version 1: what a backend does with numbers that the conformance suite must know, since
 * it loosens a bound. Offered through bp_plugin.extension; without it nothing is loosened. What is declared here is
 * printed in every report. */
#ifndef BACKPLANE_EXTENSIONS_NUMERICS_H
#define BACKPLANE_EXTENSIONS_NUMERICS_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_NUMERICS "bp.numerics"
#define BP_NUMERICS_VERSION 1u

/* Operands and results below the smallest normal number of their type may be taken for 0. */
#define BP_NUMERICS_FLUSHES_DENORMALS 1u
/* Products of f32 read 10 bits of the fraction (TF32) also where the host allows no such thing. */
#define BP_NUMERICS_TF32_MATMUL 2u
/* Sums of f16 and bf16 are kept in that type, not in f32. */
#define BP_NUMERICS_LOW_ACCUMULATION 4u
/* Functions given a handle, stream or event that lives no more answer BP_BAD_ARGUMENT; without it that is undefined. */
#define BP_NUMERICS_CHECKS_HANDLES 8u
/* Products and convolutions of bf16 may take operands and results below the smallest normal number for 0, as the
 * processors' instructions for them do. */
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
