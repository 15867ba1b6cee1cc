/* The extension "bp.semaphores", version 1: a stream waits for another device, API or process, and signals it when
 * done, without involving the host. Offered through bp_plugin.extension. Without it, the host waits. */
#ifndef BACKPLANE_EXTENSIONS_SEMAPHORES_H
#define BACKPLANE_EXTENSIONS_SEMAPHORES_H

#include <backplane/abi.h>
#include <backplane/extensions/interop.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_SEMAPHORES "bp.semaphores"
#define BP_SEMAPHORES_VERSION 1u

typedef struct bp_semaphore bp_semaphore; /* the plugin's: a number that only increases */

/* A number in 8 bytes of host memory, which host threads raise and read; native.value is its address. */
#define BP_SEMAPHORE_HOST "host.timeline"
/* A file descriptor. On success the plugin owns it. */
#define BP_SEMAPHORE_OPAQUE_FD "fd.timeline"
/* The same, for a dma-buf or a sync_file: its fence is signalled once, at 1, and from then on the descriptor is readable
 * (POLLIN). Only its creator signals it; signalling one that was taken is BP_UNSUPPORTED. */
#define BP_SEMAPHORE_DMA_BUF_FD "fd.dma_buf"

typedef struct bp_semaphores {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* The kinds that `take` and `give` know, ending with NULL; vendors add their own, with their name in front. */
  const char* const* kinds;

  /* Required. Imports a semaphore of one of `kinds`. Threads: any. */
  bp_code (*take)(bp_device* device, const bp_native* native, bp_semaphore** out);
  /* Required. No work waits for it or signals it any longer. */
  void (*release)(bp_device* device, bp_semaphore* semaphore);
  /* Both required. wait: later work of `stream` waits until the number is at least `value`. signal: the number becomes
   * `value` after all earlier work of `stream`, even if that failed. Neither blocks the caller. Threads: any. */
  bp_code (*wait)(bp_device* device, bp_stream* stream, bp_semaphore* semaphore, uint64_t value);
  bp_code (*signal)(bp_device* device, bp_stream* stream, bp_semaphore* semaphore, uint64_t value);

  /* Optional, both or neither. create: a semaphore of the plugin's own, starting at 0. give: exports it as
   * `native->kind`, which the caller has set. Threads: any. */
  bp_code (*create)(bp_device* device, bp_semaphore** out);
  bp_code (*give)(bp_device* device, bp_semaphore* semaphore, bp_native* native);
} bp_semaphores;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_SEMAPHORES_H */
