/* The extension "bp.interop", version 1: an application and Backplane share a device's context, queues and memory. The
 * plugin hands out the maker's own handles, and takes the application's: what it took it uses and never frees. Offered
 * through bp_plugin.extension; one table for all devices of the backend. Every function is optional. */
#ifndef BACKPLANE_EXTENSIONS_INTEROP_H
#define BACKPLANE_EXTENSIONS_INTEROP_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_INTEROP "bp.interop"
#define BP_INTEROP_VERSION 1u

/* A handle of the maker's own interface. `kind` says which, by name, with the maker's in front: "cuda.stream",
 * "opencl.command_queue". Names belong to their documentation's author; the host compares them and knows none but
 * BP_NATIVE_ADDRESS. `value` is the handle, or the address that it is. Frozen: laid out in arrays. */
typedef struct bp_native {
  const char* kind;
  uint64_t value;
} bp_native;

/* Memory as an address that the device dereferences. Where handles are addresses (BP_DEVICE_REAL_ADDRESSES or
 * BP_DEVICE_HOST_READABLE) the host gives this kind out by itself, and never asks memory_handle for it. */
#define BP_NATIVE_ADDRESS "address"

typedef struct bp_interop {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* The kinds that the functions below know, each list ended by NULL; a list that is NULL is empty. The first of a list
   * is meant where nobody asks for one. Where handles are not addresses, the first of memory_kinds is also what DLPack
   * means by `data` for the devices' dl_device_type. They live as long as the plugin. */
  const char* const* device_kinds;
  const char* const* stream_kinds;
  const char* const* event_kinds;
  const char* const* memory_kinds;

  /* Handles out, of one of the kinds above. They stay the plugin's: valid as long as what they belong to, not retained.
   * `stream` may be NULL, as everywhere. Of an event that was never recorded there may be none: BP_BAD_ARGUMENT.
   * Threads: any. */
  bp_code (*device_handle)(bp_device* device, const char* kind, uint64_t* out);
  bp_code (*stream_handle)(bp_device* device, bp_stream* stream, const char* kind, uint64_t* out);
  bp_code (*event_handle)(bp_device* device, bp_event* event, const char* kind, uint64_t* out);
  bp_code (*memory_handle)(bp_device* device, bp_handle handle, const char* kind, uint64_t* out);

  /* The application's queue as a stream, for every function that takes one but destroy_stream. Its work runs in the
   * order of that queue, and what the application gives it itself counts as earlier work of the stream. Cheap: the host
   * calls it for every exchange with another framework. A queue of another device or context: BP_BAD_ARGUMENT. With
   * forget_stream, or neither. Threads: any. */
  bp_code (*adopt_stream)(bp_device* device, const bp_native* queue, bp_stream** out);
  /* Ends `stream` alone. The queue may have work under way, which goes on. Threads: any. */
  void (*forget_stream)(bp_device* device, bp_stream* stream);

  /* The application's memory, of which `bytes` from its beginning will be used, as a handle that is never given to
   * bp_memory.release. Too small, or of another device or context: BP_BAD_ARGUMENT. If memory_kinds lists
   * BP_NATIVE_ADDRESS, it is asked for addresses too and answers with the address itself; if not, the host believes
   * them. With forget_memory, or neither. Threads: any. */
  bp_code (*adopt_memory)(bp_device* device, const bp_native* memory, uint64_t bytes,
                          bp_handle* out);
  /* Ends `handle` alone. All work on it is done. Threads: any. */
  void (*forget_memory)(bp_device* device, bp_handle handle);

  /* As bp_plugin.open, within what the application has: handles of device_kinds, each kind at most once. They outlive
   * the device. What cannot be taken, or does not fit the device at `index`: BP_BAD_ARGUMENT. */
  bp_code (*open)(void* self, uint32_t index, const bp_native* adopted, uint32_t num_adopted,
                  bp_device** out);
} bp_interop;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_INTEROP_H */
