/* The extension "bp.interop", version 1: an application and Backplane share a device's context, queues and memory. The
 * plugin hands out the vendor's own handles and accepts the application's, which it uses but never frees. Offered
 * through bp_plugin.extension; one table for all devices of the backend. Every function is optional. */
#ifndef BACKPLANE_EXTENSIONS_INTEROP_H
#define BACKPLANE_EXTENSIONS_INTEROP_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_INTEROP "bp.interop"
#define BP_INTEROP_VERSION 1u

/* A handle of the vendor's own API. `kind` names its type, with the vendor's name in front: "cuda.stream",
 * "opencl.command_queue". Whoever documents a kind defines it; the host only compares names, and knows none but
 * BP_NATIVE_ADDRESS. `value` is the handle as a number or an address. Frozen, since it is passed in arrays. */
typedef struct bp_native {
  const char* kind;
  uint64_t value;
} bp_native;

/* Memory as an address that the device dereferences. If handles are addresses (BP_DEVICE_REAL_ADDRESSES or
 * BP_DEVICE_HOST_READABLE), the host provides this kind by itself and never asks memory_handle for it. */
#define BP_NATIVE_ADDRESS "address"

typedef struct bp_interop {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* The kinds that the functions below know. Each list ends with NULL; a NULL list is empty. The first of a list is the
   * default. If handles are not addresses, the first of memory_kinds is also what DLPack's `data` holds for the devices'
   * dl_device_type. The lists live as long as the plugin. */
  const char* const* device_kinds;
  const char* const* stream_kinds;
  const char* const* event_kinds;
  const char* const* memory_kinds;

  /* Hand out a handle of one of the kinds above. The plugin still owns it; it is valid as long as the object that it
   * belongs to, and is not retained. `stream` may be NULL, as everywhere. An event that was never recorded may have no
   * handle: BP_BAD_ARGUMENT. Threads: any. */
  bp_code (*device_handle)(bp_device* device, const char* kind, uint64_t* out);
  bp_code (*stream_handle)(bp_device* device, bp_stream* stream, const char* kind, uint64_t* out);
  bp_code (*event_handle)(bp_device* device, bp_event* event, const char* kind, uint64_t* out);
  bp_code (*memory_handle)(bp_device* device, bp_handle handle, const char* kind, uint64_t* out);

  /* Wraps the application's queue as a stream, for every function that takes one except destroy_stream. The stream's work
   * runs in the order of that queue, and work that the application itself submits to the queue counts as earlier work of
   * the stream. Must be cheap: the host calls it for every exchange with another framework. A queue of another device or
   * context: BP_BAD_ARGUMENT. Provide forget_stream too, or neither. Threads: any. */
  bp_code (*adopt_stream)(bp_device* device, const bp_native* queue, bp_stream** out);
  /* Frees `stream` but not the queue, whose pending work goes on. Threads: any. */
  void (*forget_stream)(bp_device* device, bp_stream* stream);

  /* Wraps the application's memory, whose first `bytes` bytes will be used, as a handle. The handle is never passed to
   * bp_memory.release. Memory that is too small, or of another device or context: BP_BAD_ARGUMENT. If memory_kinds lists
   * BP_NATIVE_ADDRESS, this is also called for addresses and returns the address itself; if not, the host uses addresses
   * unchecked. Provide forget_memory too, or neither. Threads: any. */
  bp_code (*adopt_memory)(bp_device* device, const bp_native* memory, uint64_t bytes,
                          bp_handle* out);
  /* Frees `handle` but not the memory. All work on it is done. Threads: any. */
  void (*forget_memory)(bp_device* device, bp_handle handle);

  /* Like bp_plugin.open, but with the application's own objects: handles of device_kinds, each kind at most once. They
   * outlive the device. A handle that cannot be used, or does not fit the device at `index`: BP_BAD_ARGUMENT. */
  bp_code (*open)(void* self, uint32_t index, const bp_native* adopted, uint32_t num_adopted,
                  bp_device** out);
} bp_interop;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_INTEROP_H */
