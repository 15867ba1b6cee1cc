/* The extension "bp.compiler", version 1: the device compiles source or IL at run time and launches the result. A
 * backend that offers it gets a kernel for every operator from the host (`codegen/`), so that nothing but what the
 * compiler cannot do leaves the device. Offered through bp_plugin.extension; one table for all devices of the backend.
 *
 * The host does the rest: it writes the source, keeps compiled binaries on disk, limits how long a build may take,
 * and specializes kernels on dtypes and rank, never on shapes. */
#ifndef BACKPLANE_EXTENSIONS_COMPILER_H
#define BACKPLANE_EXTENSIONS_COMPILER_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_COMPILER "bp.compiler"
#define BP_COMPILER_VERSION 1u

/* Languages by name. Other names may be added by anyone; the host takes the first that it knows of a device's list.
 *   opencl-c   OpenCL C 1.2. A kernel is a `__kernel` function.
 *   cuda-c++   CUDA C++ 17 without its headers. A kernel is an `extern "C" __global__` function.
 *   spirv      a SPIR-V 1.2 module, Kernel capability, physical 64-bit addressing.
 *   c11        C11 without libraries but <math.h>. A kernel is a function
 *                void k(void* const* memory, const void* values, const uint64_t* item)
 *              for one work-item; item[0..2] its place in the grid, item[3..5] the grid's size, both in work-items.
 *              memory[i] is the i-th BP_LAUNCH_MEMORY argument, `values` the one BP_LAUNCH_BYTES argument. */
#define BP_LANGUAGE_OPENCL_C "opencl-c"
#define BP_LANGUAGE_CUDA_CXX "cuda-c++"
#define BP_LANGUAGE_SPIRV "spirv"
#define BP_LANGUAGE_C11 "c11"

/* What kernels should look like. Measured on one processor: a kernel of local tiles 3 to 5 GFLOP/s, one of register
 * blocks 400. */
#define BP_SHAPE_CPU 1u /* few cores with wide vectors: blocks in registers, no barriers */
#define BP_SHAPE_GPU 2u /* many small ones: tiles in local memory, neighbours read neighbours */

#define BP_COMPILER_INFO_TYPE 0x100u
#define BP_SOURCE_TYPE 0x101u
#define BP_LAUNCH_TYPE 0x102u

/* Constant for a device; strings live until it is closed. */
typedef struct bp_compiler_info {
  bp_header h;
  const char* languages; /* best first, separated by spaces */
  /* Device, driver and compiler with their versions: where two are equal, a binary of one runs on the other. */
  const char* identity;
  bp_dtype_set compute_dtypes; /* that kernels may compute in; others (f16 often) are only stored */
  uint64_t max_group[3];       /* work-items of a group along each dimension */
  uint64_t max_group_items;    /* and in all */
  uint64_t local_memory;       /* bytes for a group; 0: none */
  uint32_t shape;              /* BP_SHAPE_* */
  uint32_t compute_units;
  uint32_t vector_bytes;  /* a good width of vector loads; 0: no opinion */
  uint32_t subgroup_size; /* work-items that step together; 0: no subgroups */
} bp_compiler_info;

typedef struct bp_source {
  bp_header h;
  const char* language; /* one of the device's */
  const char* name;     /* for messages: "add f32" */
  const void* code;
  uint64_t bytes;      /* without a zero at the end */
  const char* options; /* in the language's own terms; never NULL */
} bp_source;

typedef struct bp_module bp_module;     /* the plugin's: what was compiled */
typedef struct bp_function bp_function; /* the plugin's: one kernel of a module, alive like it */

/* An allocation: the kernel gets the address of its first byte. Handle 0: a tensor without elements. */
#define BP_LAUNCH_MEMORY 1u
#define BP_LAUNCH_BYTES 2u /* a plain value or struct */

/* One argument of a kernel, in the order of its parameters. Frozen. Offsets into an allocation are values that the
 * kernel adds itself, since not every device can. */
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
  uint64_t items[3];  /* of a group, each at least 1 */
  const bp_launch_argument* arguments;
  uint32_t num_arguments;
  uint32_t reserved;
  uint64_t number; /* of the call that it is part of (bp_call.number) */
} bp_launch;

typedef struct bp_compiler {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. The host has set info->h. */
  bp_code (*describe)(bp_device* device, bp_compiler_info* info);

  /* Required. On failure the message is the compiler's log. May take long; the host gives up waiting after its limit
   * and then drops the module once it exists. Threads: any, also at once. */
  bp_code (*compile)(bp_device* device, const bp_source* source, bp_module** out);

  /* Optional, both or none. `binary` with `to` NULL writes the size to `bytes`; else fills `to`, of *bytes. `load`
   * fails with BP_BAD_ARGUMENT for bytes that are not a binary of this device: the host compiles again then. Threads: any. */
  bp_code (*binary)(bp_device* device, bp_module* module, uint64_t* bytes, void* to);
  bp_code (*load)(bp_device* device, const char* name, const void* binary, uint64_t bytes,
                  bp_module** out);

  /* Required. All launches of its functions are done. */
  void (*release)(bp_device* device, bp_module* module);

  /* Required. */
  bp_code (*find)(bp_device* device, bp_module* module, const char* kernel, bp_function** out);

  /* Required. Ordered on `stream`; may return before the kernel runs. Threads: any, also one function at once. */
  bp_code (*launch)(bp_device* device, const bp_launch* launch, bp_stream* stream);
} bp_compiler;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_COMPILER_H */
