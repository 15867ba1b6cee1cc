/* The extension "bp.settings", version 1, of the host: further settings of the application, beyond those in bp_host.
 * Offered through bp_host.extension; with a host that lacks it, assume that none of this is allowed. */
#ifndef BACKPLANE_EXTENSIONS_SETTINGS_H
#define BACKPLANE_EXTENSIONS_SETTINGS_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_SETTINGS "bp.settings"
#define BP_SETTINGS_VERSION 1u

typedef struct bp_settings {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. 1 if products of f32 may read their factors with fewer bits of the fraction (TF32: 10 of 23) where the
   * device is faster that way. Sums stay f32. Ask again for each call. Threads: any. */
  uint32_t (*allow_tf32)(const bp_host* host);
} bp_settings;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_SETTINGS_H */
