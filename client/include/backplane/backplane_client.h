/* Backplane for callers in C: load plugins, make tensors, call operators.
 *
 * libbackplane exports one C function, bp_get_client_v1, which gives a table of all others. A program or a bridge that
 * was compiled against this header runs with every later release of the same major version, whichever compiler and C++
 * library built that. C11 without dependencies; also valid C++. docs/c.md shows how to begin.
 *
 * Codes, dtypes, values and the fields of a tensor are those of abi.h: callers and plugins speak of the same things.
 *
 * These rules hold for every function below:
 *   - One that returns bp_code returns BP_OK, or the class of the error; error_message() is then the sentence. What it would
 *     have written is then NULL or 0, and nothing else has changed.
 *   - No exception crosses the boundary, and no argument that abi.h allows ends the process. Pointers must be NULL or valid.
 *   - Threads: any, several at once, also on the same tensor or stream, as long as nobody writes what another one reads.
 *   - Strings are UTF-8 and zero-terminated. Those passed in are read during the call alone.
 *   - Work may go on after a function has returned: it is ordered by the device's current stream on the calling thread.
 *   - Structs and the table only grow, at their end. A caller sets `h.size` of a struct that is to be filled; no more than
 *     that is written.
 */
#ifndef BACKPLANE_CLIENT_H
#define BACKPLANE_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The level of this header: 1 is that of release 1.0. Every release that adds something raises it. */
#define BP_CLIENT_LEVEL 1u

/* Values of bp_header.type, apart from those of plugins. */
#define BP_TYPE_CLIENT 0x1000u
#define BP_TYPE_STORAGE_INFO 0x1001u

/* As the tag of an argument: what the operator's schema says for it. */
#define BP_DEFAULT 0xffffffffu

/* Memory that tensors share. Counted: each bp_storage* that a function gives is released once. */
typedef struct bp_storage bp_storage;

typedef struct bp_storage_info {
  bp_header h;
  void*
      address; /* of its first byte, for the host; NULL where the host cannot read the device's memory */
  bp_handle handle; /* of the allocation that it is a part of */
  uint64_t offset;  /* from the start of that */
  uint64_t bytes;   /* may be more than was asked for */
  uint32_t device;
  uint32_t space;
} bp_storage_info;

/* DLPack's, from its version 1.0 on; defined by <dlpack/dlpack.h>. */
struct DLManagedTensorVersioned;

/* The functions. A tensor is a bp_tensor that Backplane made: read its dtype, shape, strides, device and numel from the
 * struct itself, and change nothing there. Counted: each bp_tensor* that a function gives is released once. A device is
 * its number in this process, and a stream its number on its device; 0 is the device's own stream, which always exists. */
typedef struct bp_client {
  bp_header h;
  uint32_t level;      /* the library's BP_CLIENT_LEVEL */
  uint32_t abi_level;  /* the library's BP_ABI_LEVEL, for plugins */
  const char* version; /* the library's, for people */

  /* ---- Errors -------------------------------------------------------------------------------- */

  /* What was wrong with this thread's last failed call: the operator or function, both values, what to do. Never NULL;
   * empty before the first failure. Valid until the thread's next failed call. */
  const char* (*error_message)(void);
  /* 1 if that was an error of earlier work, met by a call that waited for it; else 0. */
  uint32_t (*error_is_late)(void);

  /* ---- Plugins ------------------------------------------------------------------------------- */

  /* Loads the plugin in the file `path`, whatever the manifests say. `name` may be NULL; else it gets that of the devices:
   * the first one of "acme" is "acme:0". Loading a file again gives the same name. */
  bp_code (*load_plugin)(const char* path, const char** name);
  /* Loads every plugin that can be found. One that cannot be loaded is left out: `backplane doctor` says why. */
  bp_code (*load_all_plugins)(void);
  /* Unloads the plugin whose devices are called `name`. BP_RETRY, with a list of them, while tensors, streams or storages
   * of its devices exist. No call on these may be running. */
  bp_code (*unload_plugin)(const char* name);

  /* ---- Devices ------------------------------------------------------------------------------- */

  /* The number of "acme:0", of "acme" (its first device), or of "meta" (shapes without memory). Loads the plugin that offers
   * it, if need be. A number may be given again after its plugin was unloaded. */
  bp_code (*find_device)(const char* name, uint32_t* device);
  /* All devices of loaded plugins. `devices` has room for `*count` numbers; NULL: it has none. `*count` becomes how many
   * devices there are, which may be more than were written. */
  bp_code (*devices)(uint32_t* count, uint32_t* devices);
  /* "acme:0". Lives as long as the process. */
  bp_code (*device_name)(uint32_t device, const char** name);
  /* Fills `out` with what the plugin says of the device, in the units of abi.h. Does not open it. */
  bp_code (*describe_device)(uint32_t device, bp_device_info* out);
  /* Waits for all streams of the device; returns the first error of their work, once. */
  bp_code (*synchronize)(uint32_t device);

  /* ---- Tensors ------------------------------------------------------------------------------- */

  /* A tensor with memory of its own, without values. `shape` and `strides` have `ndim` elements, at most BP_MAX_RANK, and are
   * counted in elements; strides NULL: row-major. BP_OUT_OF_MEMORY says what is held. */
  bp_code (*empty)(uint32_t dtype, uint32_t ndim, const int64_t* shape, const int64_t* strides,
                   uint32_t device, bp_tensor** out);
  /* Over memory of the caller's, which the device must be able to use in place: the host's for cpu. Element 0 is at `data`,
   * aligned to its size. `deleter`, if not NULL, is called once, on any thread, when the last tensor over the memory is
   * gone and the device is done with it; not if this function fails. Until then the memory stays. */
  bp_code (*tensor_from_blob)(void* data, uint32_t dtype, uint32_t ndim, const int64_t* shape,
                              const int64_t* strides, uint32_t device,
                              void (*deleter)(void* context), void* context, bp_tensor** out);
  /* Over a storage, in which element 0 has the index `storage_offset`, counted in elements of `dtype`. Adds a reference to the
   * storage. BP_BAD_ARGUMENT if elements would lie outside of it. */
  bp_code (*tensor_over_storage)(bp_storage* storage, uint32_t dtype, uint32_t ndim,
                                 const int64_t* shape, const int64_t* strides,
                                 int64_t storage_offset, bp_tensor** out);
  /* Another framework's tensor over the same memory; see docs/interop.md. Owns `managed` from then on, unless it fails.
   * `accept_read_only`: 1 promises not to write, so that read-only memory is taken; else 0. */
  bp_code (*from_dlpack)(struct DLManagedTensorVersioned* managed, uint32_t accept_read_only,
                         bp_tensor** out);
  /* The tensor for another framework, which releases it by `(*out)->deleter`, once, on any thread. */
  bp_code (*to_dlpack)(const bp_tensor* tensor, struct DLManagedTensorVersioned** out);

  /* Adds a reference. NULL: does nothing. */
  void (*retain)(const bp_tensor* tensor);
  /* Drops a reference; the last one frees the tensor, and its memory once the device is done with that. NULL: does nothing. */
  void (*release)(const bp_tensor* tensor);

  /* The address of element 0, for the host. Wait for the device's work first: synchronize. BP_BAD_ARGUMENT if the host cannot
   * read the device's memory: copy with `read`. */
  bp_code (*data_ptr)(const bp_tensor* tensor, void** out);
  /* Copies all elements, row-major, to host memory of exactly that many bytes. Waits until it is done. */
  bp_code (*read)(const bp_tensor* tensor, void* to, uint64_t bytes);
  /* Copies all elements, row-major, from host memory of exactly that many bytes. Waits until it is done. */
  bp_code (*write)(const bp_tensor* tensor, const void* from, uint64_t bytes);
  /* The tensor on another device, row-major; the same tensor, with a reference more, if it is there already. */
  bp_code (*to)(const bp_tensor* tensor, uint32_t device, bp_tensor** out);
  /* Writes the elements of `source`, broadcast and cast, from any device, into `target`. */
  bp_code (*copy)(const bp_tensor* target, const bp_tensor* source);

  /* ---- Storages ------------------------------------------------------------------------------ */

  /* At least `bytes` of the device's memory, for work on its current stream of this thread. 0 gives a storage without any. */
  bp_code (*allocate_storage)(uint32_t device, uint64_t bytes, bp_storage** out);
  /* The storage under a tensor, with a reference more. BP_BAD_ARGUMENT for a tensor on meta. */
  bp_code (*storage_of)(const bp_tensor* tensor, bp_storage** out);
  bp_code (*describe_storage)(const bp_storage* storage, bp_storage_info* out);
  /* Add and drop a reference, as retain and release do. */
  void (*retain_storage)(bp_storage* storage);
  void (*release_storage)(bp_storage* storage);

  /* ---- Operators ----------------------------------------------------------------------------- */

  /* The operator of this name: a row of the table ("add"), or a plugin's own ("acme::swish"). Each schema has a name of its
   * own, so that there are no overloads to choose from. Look it up once: it lives as long as the process, or, a plugin's own,
   * as the plugin. `(*out)->schema` names arguments and results, their types and their defaults. */
  bp_code (*find_operator)(const char* name, const bp_operator** out);
  /* The position of an argument by its name in the schema. */
  bp_code (*find_argument)(const bp_operator* op, const char* name, uint32_t* position);
  /* How many results a call has. That is the schema's number but for results of type Tensor[], whose tensors count one by
   * one. */
  bp_code (*count_results)(const bp_operator* op, const bp_value* args, uint32_t num_args,
                           uint32_t* count);
  /* Calls the operator with `num_args` arguments in schema order; those that are missing at the end, or have the tag
   * BP_DEFAULT, take their defaults. All are borrowed for the call; `aux` is 0 where abi.h gives it no meaning. A list of
   * tensors is an array of bp_tensor pointers. A BP_GENERATOR says where the numbers of this draw begin; each element
   * drawn takes one step of `offset`, and the caller's own is not advanced. Absent, the device's generator gives them.
   *
   * `results` has an entry for each result. One that is NULL gets a new tensor. One that is a tensor is written into (out=): it
   * has the result's shape and device, or no elements, in which case it takes the result's shape, and a dtype that holds
   * the result. Passing an argument there computes in place. After a failure no entry has changed, but the elements of
   * tensors given there may have.
   *
   * BP_BAD_ARGUMENT: the arguments do not fit the schema or each other. BP_UNSUPPORTED: nothing can compute this, or a
   * policy forbids what could. */
  bp_code (*call)(const bp_operator* op, const bp_value* args, uint32_t num_args,
                  bp_tensor** results, uint32_t num_results);
  /* Seeds the generators of all devices, also of later ones. */
  bp_code (*manual_seed)(uint64_t seed);

  /* ---- Streams ------------------------------------------------------------------------------- */

  /* A new stream, or 0 on a device that has no others. `priority`: 0 is normal, lower is more urgent. */
  bp_code (*create_stream)(uint32_t device, int32_t priority, uint32_t* stream);
  /* The stream is done with once its work is; its number may then be given again. It must not be current on any thread.
   * Its work still runs. 0: does nothing. BP_BAD_ARGUMENT unless create_stream gave the number. */
  bp_code (*release_stream)(uint32_t device, uint32_t stream);
  /* Where this thread's work on the device goes. */
  bp_code (*current_stream)(uint32_t device, uint32_t* stream);
  bp_code (*set_stream)(uint32_t device, uint32_t stream);
  /* `is_idle` becomes 1 if all its work is done, else 0. Returns the first error of that work, once. */
  bp_code (*query_stream)(uint32_t device, uint32_t stream, uint32_t* is_idle);
  /* Waits for all its work; returns the first error of that work, once. */
  bp_code (*synchronize_stream)(uint32_t device, uint32_t stream);
  /* Later work of `stream` waits for what `passed` has been given by now; the caller does not wait, if the device has
   * events. */
  bp_code (*wait_stream)(uint32_t device, uint32_t stream, uint32_t passed);
} bp_client;

/* The one C function that libbackplane exports for callers. `level` is the caller's BP_CLIENT_LEVEL. Writes the table to
 * `out`; it lives as long as the process.
 * BP_UNSUPPORTED: the library is older than `level`. `out` gets the table all the same: the functions of later levels are
 * missing, which BP_HAS(table, bp_client, function) tells of each.
 * BP_BAD_ARGUMENT: `level` is 0, which none is, or `out` is NULL. */
typedef bp_code (*bp_get_client_fn)(uint32_t level, const bp_client** out);
BP_EXPORT bp_code bp_get_client_v1(uint32_t level, const bp_client** out);

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_CLIENT_H */
