/* Order and completion. With `synchronize` alone the device has one queue; create_stream and its companions in abi.h
 * bring more. */
#include "acme.h"

/* Returns when all work of the stream is done, with the first error of that work, once. */
static bp_code synchronize(bp_device* device, bp_stream* stream) {
  (void)device, (void)stream;
  return BP_OK;
}

const bp_queue acme_queue = {.h = {sizeof(bp_queue), BP_TYPE_QUEUE, NULL},
                             .synchronize = synchronize};
