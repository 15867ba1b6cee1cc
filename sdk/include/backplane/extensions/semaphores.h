/* The extension "bp.semaphores", version 1: a stream waits for another device, interface or process, and tells it when
 * it is done, without the host. Offered through bp_plugin.extension. Without it the host waits. */
#ifndef BACKPLANE_EXTENSIONS_SEMAPHORES_H
#define BACKPLANE_EXTENSIONS_SEMAPHORES_H

#include <backplane/abi.h>
#include <backplane/extensions/interop.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_SEMAPHORES "bp.semaphores"
#define BP_SEMAPHORES_VERSION 1u

typedef struct bp_semaphore bp_semaphore; /* the plugin's: a number that only rises */

/* A number in 8 bytes of the host's memory that threads of the host raise and read; native.value is its address. */
#define BP_SEMAPHORE_HOST "host.timeline"
/* A descriptor of a file, which the plugin takes over if it succeeds. */
#define BP_SEMAPHORE_OPAQUE_FD "fd.timeline"
/* The same, of a dma-buf or a sync_file: its fence is reached once, at 1, and the descriptor is readable from then on
 * (POLLIN). Its maker reaches it: signalling one that was taken over is BP_UNSUPPORTED. */
#define BP_SEMAPHORE_DMA_BUF_FD "fd.dma_buf"

typedef struct bp_semaphores {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* The kinds that `take` and `give` know, ended by NULL; makers add their own, with their name in front. */
  const char* const* kinds;

  /* Required. Another's semaphore, of one of `kinds`. Threads: any. */
  bp_code (*take)(bp_device* device, const bp_native* native, bp_semaphore** out);
  /* Required. No work waits for it or signals it any more. */
  void (*release)(bp_device* device, bp_semaphore* semaphore);
  /* Required, both. Later work of `stream` waits until the number is `value` or more; the number becomes `value` after
   * all that `stream` was given before, also where that failed. Neither waits. Threads: any. */
  bp_code (*wait)(bp_device* device, bp_stream* stream, bp_semaphore* semaphore, uint64_t value);
  bp_code (*signal)(bp_device* device, bp_stream* stream, bp_semaphore* semaphore, uint64_t value);

  /* Optional, both or neither. One of the plugin's own, from 0, and its native form for others: of `native->kind`, which
   * the caller has set. Threads: any. */
  bp_code (*create)(bp_device* device, bp_semaphore** out);
  bp_code (*give)(bp_device* device, bp_semaphore* semaphore, bp_native* native);
} bp_semaphores;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_SEMAPHORES_H */
