/* The extension "bp.compiler", version 1: the device compiles source or IL at run time and launches the result. The
 * host (`codegen/`) then generates a kernel for every operator that the compiler can handle, so that such calls stay on
 * the device. Offered through bp_plugin.extension; one table for all devices of the backend.
 *
 * The host does the rest: it writes the source, caches compiled binaries on disk, limits how long a build may take,
 * and specializes kernels on dtypes and rank, never on shapes. */
#ifndef BACKPLANE_EXTENSIONS_COMPILER_H
#define BACKPLANE_EXTENSIONS_COMPILER_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_COMPILER "bp.compiler"
#define BP_COMPILER_VERSION 1u

/* Languages by name. Anyone may add other names; of a device's list the host takes the first one that it knows.
 *   opencl-c   OpenCL C 1.2. A kernel is a `__kernel` function.
 *   cuda-c++   CUDA C++ 17 without its headers. A kernel is an `extern "C" __global__` function.
 *   spirv      a SPIR-V 1.2 module, Kernel capability, physical 64-bit addressing.
 *   c11        C11 with no library but <math.h>. A kernel is a function
 *                void k(void* const* memory, const void* values, const uint64_t* item)
 *              for one work-item; item[0..2] is its place in the grid, item[3..5] the grid's size, both in work-items.
 *              memory[i] is the i-th BP_LAUNCH_MEMORY argument, `values` the one BP_LAUNCH_BYTES argument. */
#define BP_LANGUAGE_OPENCL_C "opencl-c"
#define BP_LANGUAGE_CUDA_CXX "cuda-c++"
#define BP_LANGUAGE_SPIRV "spirv"
#define BP_LANGUAGE_C11 "c11"

/* What kernels should look like. Measured on one processor: a kernel with tiles in local memory reaches 3 to 5 GFLOP/s,
 * one with blocks in registers 400. */
#define BP_SHAPE_CPU 1u /* few cores with wide vectors: blocks in registers, no barriers */
#define BP_SHAPE_GPU 2u /* many small cores: tiles in local memory, neighbours read neighbours */

#define BP_COMPILER_INFO_TYPE 0x100u
#define BP_SOURCE_TYPE 0x101u
#define BP_LAUNCH_TYPE 0x102u

/* Constant for a device; strings live until it is closed. */
typedef struct bp_compiler_info {
  bp_header h;
  const char* languages; /* best first, separated by spaces */
  /* Device, driver and compiler with their versions. Devices with equal identities can run each other's binaries. */
  const char* identity;
  bp_dtype_set compute_dtypes; /* that kernels may compute in; others (often f16) are only stored */
  uint64_t max_group[3];       /* work-items in a group along each dimension */
  uint64_t max_group_items;    /* and in total */
  uint64_t local_memory;       /* bytes per group; 0: none */
  uint32_t shape;              /* BP_SHAPE_* */
  uint32_t compute_units;
  uint32_t vector_bytes;  /* a good width for vector loads; 0: no preference */
  uint32_t subgroup_size; /* work-items that run in lockstep; 0: no subgroups */
} bp_compiler_info;

typedef struct bp_source {
  bp_header h;
  const char* language; /* one of the device's */
  const char* name;     /* for messages: "add f32" */
  const void* code;
  uint64_t bytes;      /* without a terminating zero */
  const char* options; /* as the language's compiler takes them; never NULL */
} bp_source;

typedef struct bp_module bp_module;     /* the plugin's: the compiled source */
typedef struct bp_function bp_function; /* the plugin's: a kernel; lives as long as its module */

/* An allocation: the kernel gets the address of its first byte. Handle 0: a tensor without elements. */
#define BP_LAUNCH_MEMORY 1u
#define BP_LAUNCH_BYTES 2u /* a plain value or struct */

/* One argument of a kernel, in the order of its parameters. Frozen. Offsets into an allocation are passed as values,
 * and the kernel adds them, since not every device can pass an address inside an allocation. */
typedef struct bp_launch_argument {
  uint32_t kind;  /* BP_LAUNCH_* */
  uint32_t bytes; /* of BP_LAUNCH_BYTES */
  union {
    bp_handle handle;
    const void* bytes; /* read before launch returns */
  } u;
} bp_launch_argument;

typedef struct bp_launch {
  bp_header h;
  bp_function* function;
  uint64_t groups[3]; /* each at least 1 */
  uint64_t items[3];  /* per group, each at least 1 */
  const bp_launch_argument* arguments;
  uint32_t num_arguments;
  uint32_t reserved;
  uint64_t number; /* of the call that the launch belongs to (bp_call.number) */
} bp_launch;

typedef struct bp_compiler {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. The host has set info->h. */
  bp_code (*describe)(bp_device* device, bp_compiler_info* info);

  /* Required. On failure the message is the compiler's log. May take long: the host stops waiting after its limit
   * and releases the module once it is finished. Threads: any, several at once. */
  bp_code (*compile)(bp_device* device, const bp_source* source, bp_module** out);

  /* Optional, both or neither. If `to` is NULL, `binary` writes the size to `bytes`; else it fills `to`, which has room
   * for *bytes. `load` fails with BP_BAD_ARGUMENT if the bytes are not a binary for this device; the host then compiles
   * again. Threads: any. */
  bp_code (*binary)(bp_device* device, bp_module* module, uint64_t* bytes, void* to);
  bp_code (*load)(bp_device* device, const char* name, const void* binary, uint64_t bytes,
                  bp_module** out);

  /* Required. Called when all launches of its functions are done. */
  void (*release)(bp_device* device, bp_module* module);

  /* Required. */
  bp_code (*find)(bp_device* device, bp_module* module, const char* kernel, bp_function** out);

  /* Required. Ordered on `stream`; may return before the kernel runs. Threads: any, several at once, also for one
   * function. */
  bp_code (*launch)(bp_device* device, const bp_launch* launch, bp_stream* stream);
} bp_compiler;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_COMPILER_H */
