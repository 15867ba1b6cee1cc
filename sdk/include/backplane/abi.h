/* The C ABI of Backplane: everything that a plugin and its host know about each other.
 *
 * A plugin exports one symbol, bp_get_plugin_v1, and imports none of ours: everything it needs
 * comes in through `bp_host`. C11 without dependencies; also valid C++17.
 *
 * Level 1 is ABI 1.0 and is frozen: on 64-bit machines, every declaration below keeps its name, place, type and value
 * for as long as the symbol is called bp_get_plugin_v1. `sdk/abi.lock` records this in numbers; only additions pass it.
 *
 * These rules hold for every declaration below and for the extensions:
 *   - Structs only grow, at their end. A reader accepts any `size` from that of 1.0 up, treats missing fields
 *     as 0 (BP_HAS) and ignores fields it does not know.
 *   - A reader ignores flags it does not know, and treats a bp_code it does not know as BP_INTERNAL. `reserved`
 *     is written as 0 and never read. A reader answers BP_UNSUPPORTED to an operator or call with a dtype, value tag,
 *     kind or expression step that it does not know.
 *   - "Anything" in a declaration, such as a zero in bp_arg, means anything of the plugin's own level: a host of a
 *     higher level passes it nothing newer, unless the plugin named that itself.
 *   - Functions marked "optional" may be NULL; the host then does without them.
 *   - Every function that returns bp_code sets a message through `host->set_error` when it fails.
 *   - Structs that do not begin with a bp_header (bp_value, bp_region, bp_arg, bp_output_spec,
 *     bp_expr_node, the DLPack ones) are frozen; bp_tensor grows by its own `size`.
 *   - After BP_STREAM_LOST or BP_DEVICE_LOST the host still calls destroy, release, close and shutdown, without
 *     synchronizing what was lost. These return promptly, and other streams and devices keep working. The host replaces
 *     a lost stream by destroying it and creating another, and a lost device by `close` and `open`.
 *   - No exception, signal or longjmp crosses the boundary; nothing allocated on one side is freed on the other.
 *   - Strings are UTF-8, zero-terminated, and live as long as the plugin unless stated otherwise.
 */
#ifndef BACKPLANE_ABI_H
#define BACKPLANE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The level of this header: 1 is ABI 1.0, 2 adds the extension bp.tuner. Every release that adds something raises it;
 * `snapshots/` holds the headers of each level. */
#define BP_ABI_LEVEL 2u

/* The highest rank of a tensor that crosses the boundary. */
#define BP_MAX_RANK 16

/* ---- Headers -------------------------------------------------------------------------------- */

typedef struct bp_header {
  uint32_t size;                /* of the whole struct, as its writer knew it */
  uint32_t type;                /* one of BP_TYPE_*; vendors' own begin at 0x10000 */
  const struct bp_header* next; /* a chain of additions, or NULL */
} bp_header;

/* True if the struct at `p`, written by the other side, is long enough to hold `field`. */
#define BP_HAS(p, T, field) ((p)->h.size >= offsetof(T, field) + sizeof(((T*)0)->field))

#define BP_TYPE_HOST 1u
#define BP_TYPE_PLUGIN 2u
#define BP_TYPE_DEVICE_INFO 3u
#define BP_TYPE_MEMORY 4u
#define BP_TYPE_QUEUE 5u
#define BP_TYPE_KERNEL 6u
#define BP_TYPE_CALL 7u
#define BP_TYPE_OPERATOR 8u
#define BP_TYPE_CUSTOM_OPERATOR 9u
#define BP_TYPE_EXTENSION 10u
#define BP_TYPE_SPACE_INFO 11u
#define BP_TYPE_PLAN 12u
#define BP_TYPE_GENERATOR 13u
#define BP_TYPE_TUNER_QUESTION 14u /* since level 2 */

/* ---- Codes ---------------------------------------------------------------------------------- */

typedef int32_t bp_code;

#define BP_OK 0
#define BP_BAD_ARGUMENT 1  /* the caller's fault; nothing was done */
#define BP_UNSUPPORTED 2   /* this backend cannot do that; the host tries the next way */
#define BP_OUT_OF_MEMORY 3 /* the host frees its cache and tries once more */
#define BP_RETRY 4         /* not now: work is still running, or a resource is busy */
#define BP_STREAM_LOST 5   /* work on this stream failed; other streams go on */
#define BP_DEVICE_LOST 6   /* the device no longer answers; other devices go on */
#define BP_INTERNAL 7      /* the plugin's own fault */
#define BP_TIMED_OUT 8     /* not done within its time limit; it may still finish */
#define BP_CANCELLED 9     /* cancelled by somebody; nothing is wrong with the device */
#define BP_PEER_LOST 10    /* another process or machine no longer answers; devices here go on */

/* ---- Element types -------------------------------------------------------------------------- */

/* Small consecutive numbers, so that a set of dtypes is one word: bit (bp_dtype_set)1 << dtype. */
#define BP_BOOL 0u /* a byte, 0 or 1: neither the host nor a kernel writes anything else */
#define BP_U8 1u
#define BP_I8 2u
#define BP_I16 3u
#define BP_I32 4u
#define BP_I64 5u
#define BP_U16 6u
#define BP_U32 7u
#define BP_U64 8u
#define BP_F16 9u
#define BP_BF16 10u
#define BP_F32 11u
#define BP_F64 12u
#define BP_COMPLEX64 13u
#define BP_COMPLEX128 14u
#define BP_F8_E4M3FN 15u
#define BP_F8_E5M2 16u
#define BP_NUM_DTYPES 17u
/* 48 to 63 are the backend's own element types, which the host moves but never computes with. No dtype exceeds 63. */
#define BP_DTYPE_OWN 48u

typedef uint64_t bp_dtype_set; /* 64 bits: PyTorch and DLPack already name more than 32 types */

/* ---- Tensors -------------------------------------------------------------------------------- */

/* DLPack's DLDevice, DLDataType and DLTensor, bit for bit, under our names. */
typedef struct bp_dl_device {
  int32_t device_type;
  int32_t device_id;
} bp_dl_device;

typedef struct bp_dl_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} bp_dl_dtype;

typedef struct bp_dl_tensor {
  void* data; /* the allocation's handle (see bp_handle), never the address of an element */
  bp_dl_device device;
  int32_t ndim;
  bp_dl_dtype dtype;
  int64_t* shape;
  int64_t* strides;     /* in elements; never NULL, none negative */
  uint64_t byte_offset; /* from the start of the allocation to element 0 */
} bp_dl_tensor;

#define BP_DL_CPU 1      /* kDLCPU */
#define BP_DL_EXT_DEV 12 /* kDLExtDev: the vendor has no code of its own */

/* Properties of a tensor's strides; several may hold at once. Kernels declare sets of these. A kernel that
 * declares DENSE without STRIDED for several arguments gets equal strides for all of them. Bits 8 to 15 of
 * bp_tensor.flags are for other properties and never appear in a bp_arg. */
#define BP_LAYOUT_CONTIGUOUS 1u    /* row-major without gaps */
#define BP_LAYOUT_CHANNELS_LAST 2u /* rank 4, NHWC in memory, without gaps */
#define BP_LAYOUT_DENSE 4u         /* some permutation of row-major without gaps */
#define BP_LAYOUT_STRIDED 8u       /* any strides, including 0 */
/* Bits 16 to 31: the backend's own layouts (tiles, swizzles), described by bp_tensor.layout. A tensor in one of them
 * has none of the bits 0 to 7 set: its strides follow from its shape and do not describe memory. */
#define BP_LAYOUT_OWN 0x10000u

typedef struct bp_tensor {
  uint32_t size; /* of this struct */
  /* All BP_LAYOUT_* that hold; BP_LAYOUT_STRIDED always does, except in one of the backend's own layouts. */
  uint32_t flags;
  bp_dl_tensor dl;
  uint32_t device; /* the host's number for the device */
  uint32_t space;  /* memory space on the device; 0 is its main memory */
  int64_t numel;
  uint32_t dtype; /* BP_BOOL ... */
  /* Bytes per element, never 0: (dl.dtype.bits * lanes + 7) / 8. Types smaller than a byte are packed into units of
   * whole bytes (4 bits, 2 lanes), low bits first; shape, strides and numel count units. */
  uint32_t itemsize;
  const bp_header* layout; /* describes the backend's own layout if such a bit is set; else NULL */
} bp_tensor;

/* ---- Values --------------------------------------------------------------------------------- */

#define BP_NONE 0u        /* an absent optional argument */
#define BP_TENSOR 1u      /* u.tensor */
#define BP_INT 2u         /* u.i; aux: 1 if these are the bits of a uint64_t of at least 2^63 */
#define BP_DOUBLE 3u      /* u.f */
#define BP_BOOLEAN 4u     /* u.i, 0 or 1 */
#define BP_COMPLEX 5u     /* u.ptr: const double[2] */
#define BP_STRING 6u      /* u.ptr: const char*, aux: length without the terminating zero */
#define BP_INT_LIST 7u    /* u.ptr: const int64_t*, aux: count */
#define BP_DOUBLE_LIST 8u /* u.ptr: const double*, aux: count */
#define BP_TENSOR_LIST \
  9u                  /* u.ptr: const bp_tensor* const*, aux: count; NULL for a None in Tensor?[] */
#define BP_DTYPE 10u  /* u.i: BP_BOOL ... */
#define BP_DEVICE 11u /* u.i: the host's number for the device */
#define BP_GENERATOR 12u /* u.ptr: const bp_generator* */

/* Where a call's random numbers start: key and counter of Philox 4x32-10. The host has already advanced its own. */
typedef struct bp_generator {
  bp_header h;
  uint64_t seed;
  uint64_t offset; /* in steps of four 32-bit numbers */
} bp_generator;

/* An argument of a call: 16 bytes, frozen. */
typedef struct bp_value {
  uint32_t tag; /* BP_NONE ... */
  uint32_t aux;
  union {
    int64_t i;
    double f;
    const void* ptr;
    const bp_tensor* tensor;
  } u;
} bp_value;

/* ---- Memory --------------------------------------------------------------------------------- */

typedef struct bp_device bp_device; /* the plugin's, made by open */
typedef struct bp_stream bp_stream; /* the plugin's, made by create_stream; NULL: see bp_queue */
typedef struct bp_event bp_event;   /* the plugin's, made by create_event */

/* Identifies an allocation; only the plugin looks inside. 0 is never an allocation. */
typedef uint64_t bp_handle;

/* Part of an allocation, or of host memory; `handle` is then its address. */
typedef struct bp_region {
  bp_handle handle;
  uint64_t offset;
  uint64_t bytes;
} bp_region;

#define BP_COPY_FROM_HOST 1u /* `from` is host memory */
#define BP_COPY_TO_HOST 2u   /* `to` is host memory */
#define BP_COPY_WITHIN 3u    /* both on the device */

#define BP_SPACE_HOST_VISIBLE 1u /* its handles are addresses that the host may read and write */
#define BP_SPACE_FAST 2u /* faster than space 0 for kernels: put scratch and hot tensors there */

/* One of a device's memories. Space 0 is the main one, which holds tensors unless somebody asks for another. */
typedef struct bp_space_info {
  bp_header h;
  char name[32];  /* for people: "hbm", "sram" */
  uint32_t flags; /* BP_SPACE_* */
  uint32_t reserved;
  uint64_t total_bytes; /* 0: unknown */
  uint64_t free_bytes;  /* now; 0 with total_bytes 0: unknown */
} bp_space_info;

/* Raw device memory: the least that a backend must offer before anything can run on it. The core keeps
 * a pool on top of this, so allocate and release are called rarely, and for large blocks. */
typedef struct bp_memory {
  bp_header h;

  /* Required. Writes a handle to `out`; only the backend looks inside. `bytes` is never 0.
   * Threads: any, one call per device at a time.
   * BP_OUT_OF_MEMORY: the core frees its cache and tries once more. */
  bp_code (*allocate)(bp_device* device, uint64_t bytes, uint64_t alignment, bp_handle* out);

  /* Required. Called when all work on `handle` is done. Cannot fail, since nobody is left to tell. */
  void (*release)(bp_device* device, bp_handle handle);

  /* Required. Ordered on `stream`; may return before the work is done, unless the device is
   * synchronous. Host memory stays valid until the copy is done. The regions have
   * equal `bytes`, never 0, and do not overlap. Threads: any. */
  bp_code (*copy)(bp_device* device, const bp_region* to, const bp_region* from, uint32_t direction,
                  bp_stream* stream);

  /* Optional: if NULL, the core writes through the host. Repeats `pattern` (1, 2, 4, 8 or 16
   * bytes) over `to`. Ordered on `stream`; `pattern` is valid only during the call. */
  bp_code (*fill)(bp_device* device, const bp_region* to, const void* pattern,
                  uint32_t pattern_bytes, bp_stream* stream);

  /* Optional; required with several spaces. Describes `space` and how much of it is free now. The host has set
   * out->h. Threads: any. */
  bp_code (*describe_space)(bp_device* device, uint32_t space, bp_space_info* out);
  /* Optional; required with several spaces. Like allocate, but in `space`, which is not 0. The handle works with
   * release, copy and fill. BP_OUT_OF_MEMORY: this space is full. */
  bp_code (*allocate_in)(bp_device* device, uint32_t space, uint64_t bytes, uint64_t alignment,
                         bp_handle* out);
} bp_memory;

/* ---- Streams and events --------------------------------------------------------------------- */

/* Order and completion. A backend that provides only `synchronize` is synchronous or has a single
 * stream, NULL. Provide all of level 1's stream functions or none of them; the same for events.
 *
 * NULL is the device's own stream: it always exists and is neither created nor destroyed. It is a stream like any
 * other: only events order its work with that of other streams, and synchronize waits for its own work alone. If it
 * is lost, the device must be opened again.
 *
 * Work that fails after its call has returned is reported once, by the stream's next synchronize or query_stream,
 * through host->set_call_error with the number of the call that submitted it. Other work of the stream may or may not
 * have run. After BP_STREAM_LOST nothing more runs on the stream, and every function that is asked to submit work to it
 * returns BP_STREAM_LOST; after any other code the stream goes on. Events express order, not success: an event whose
 * work failed counts as reached, and a stream that waits for it goes on. query_event and synchronize_event return BP_OK
 * and do not consume the error, which only the stream reports. The host passes it from one stream to the other. */
typedef struct bp_queue {
  bp_header h;

  /* Required. Returns when all work submitted to `stream` is done; reports the first error of that work, once.
   * Threads: any. */
  bp_code (*synchronize)(bp_device* device, bp_stream* stream);

  /* Optional. `priority`: 0 is normal, lower is more urgent. */
  bp_code (*create_stream)(bp_device* device, int32_t priority, bp_stream** out);
  /* Called after the host has synchronized the stream, or after it was lost. */
  void (*destroy_stream)(bp_device* device, bp_stream* stream);
  /* BP_OK: idle. BP_RETRY: busy (no message needed). Otherwise the first error of its work, once. The error may be
   * known while the stream is still busy: ask again. */
  bp_code (*query_stream)(bp_device* device, bp_stream* stream);

  /* Optional. An event that was never recorded counts as reached. An event that is recorded again stands for the newest
   * recording; work that already waits for it keeps waiting for the previous one. */
  bp_code (*create_event)(bp_device* device, bp_event** out);
  /* Allowed before the event is reached: streams that wait for it go on waiting. */
  void (*destroy_event)(bp_device* device, bp_event* event);
  bp_code (*record_event)(bp_device* device, bp_event* event, bp_stream* stream);
  /* Later work of `stream` waits for the current recording of `event`; the caller does not wait. */
  bp_code (*wait_event)(bp_device* device, bp_stream* stream, bp_event* event);
  /* BP_OK: reached. BP_RETRY: not yet (no message needed). */
  bp_code (*query_event)(bp_device* device, bp_event* event);
  bp_code (*synchronize_event)(bp_device* device, bp_event* event);
  /* Optional. Nanoseconds on the device's clock between two reached events. */
  bp_code (*elapsed)(bp_device* device, bp_event* start, bp_event* end, double* out_ns);
} bp_queue;

/* ---- Operators, as the host describes them --------------------------------------------------- */

#define BP_KIND_POINTWISE 1u
#define BP_KIND_REDUCTION 2u
#define BP_KIND_VIEW 3u
#define BP_KIND_MATMUL 4u
#define BP_KIND_CONVOLUTION 5u
#define BP_KIND_GATHER 6u
#define BP_KIND_SCATTER 7u
#define BP_KIND_SCAN 8u
#define BP_KIND_SORT 9u
#define BP_KIND_RANDOM 10u
#define BP_KIND_FACTORY 11u
#define BP_KIND_COMPOSITE 12u
#define BP_KIND_COPY 13u
#define BP_KIND_COLLECTIVE 14u

/* Steps of an expression. Floating-point steps are computed in the operand's type (f16 and bf16 in f32);
 * integers in their own width, wrapping. Comparisons and logic give bool. */
#define BP_X_ARG 1u   /* argument `a` of the schema: a tensor's element, or a number */
#define BP_X_CONST 2u /* `imm`, in the type of the other operand */
#define BP_X_ADD 3u
#define BP_X_SUB 4u
#define BP_X_MUL 5u
#define BP_X_DIV 6u
#define BP_X_NEG 7u
#define BP_X_ABS 8u
#define BP_X_EXP 9u
#define BP_X_LOG 10u
#define BP_X_SQRT 11u
#define BP_X_SIN 12u
#define BP_X_COS 13u
#define BP_X_TANH 14u
#define BP_X_MAX 15u /* NaN if either is */
#define BP_X_MIN 16u /* NaN if either is */
#define BP_X_EQ 17u
#define BP_X_NE 18u
#define BP_X_LT 19u
#define BP_X_LE 20u
#define BP_X_GT 21u
#define BP_X_GE 22u
#define BP_X_AND 23u
#define BP_X_OR 24u
#define BP_X_NOT 25u
#define BP_X_SELECT 26u /* a ? b : c */
#define BP_X_FLOOR 27u
#define BP_X_CEIL 28u
#define BP_X_TRUNC 29u
#define BP_X_ROUND 30u /* half to even */
#define BP_X_SIGMOID 31u
#define BP_X_EXPM1 32u
#define BP_X_LOG1P 33u
#define BP_X_POW 34u
#define BP_X_ERF 35u
#define BP_X_ACC 36u    /* the value accumulated so far; see bp_operator.initial */
#define BP_X_BITAND 37u /* of integers; on bools, this and the next three are logical */
#define BP_X_BITOR 38u
#define BP_X_BITXOR 39u
#define BP_X_BITNOT 40u
#define BP_X_TAN 41u
#define BP_X_ASIN 42u
#define BP_X_ACOS 43u
#define BP_X_ATAN 44u
#define BP_X_SINH 45u
#define BP_X_COSH 46u
#define BP_X_ASINH 47u
#define BP_X_ACOSH 48u
#define BP_X_ATANH 49u
#define BP_X_EXP2 50u
#define BP_X_LOG2 51u
#define BP_X_LOG10 52u
#define BP_X_ERFC 53u
#define BP_X_ATAN2 54u    /* of a / b, in the quadrant of (b, a) */
#define BP_X_FMOD 55u     /* exact, with the sign of a; integers modulo 0: 0 */
#define BP_X_COPYSIGN 56u /* magnitude of a, sign of b */
#define BP_X_SHL 57u      /* of integers; by a negative count, or by the width or more: 0 */
#define BP_X_SHR 58u /* of integers, shifts the sign in (0 if unsigned), also by such a count */
#define BP_NUM_X 59u

/* One step; a, b and c are indices of earlier steps (for BP_X_ARG, `a` is the index of an argument). */
typedef struct bp_expr_node {
  uint16_t code;
  uint16_t a, b, c;
  double imm;
} bp_expr_node;

#define BP_OP_PRIMITIVE 1u  /* one of the at most forty that all others decompose into */
#define BP_OP_SHAPE_DATA 2u /* the shape of an output depends on data: see allocate_output */

/* An operator as data: one of the operator table, or a custom one. */
typedef struct bp_operator {
  bp_header h;
  const char* name;
  const char* schema; /* "add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor" */
  /* 64-bit FNV-1a of the schema as first published, since the names of arguments may change. */
  uint64_t schema_hash;
  uint32_t kind;       /* BP_KIND_* */
  uint32_t flags;      /* BP_OP_* */
  bp_dtype_set dtypes; /* of the computation, after promotion */
  uint32_t num_nodes;  /* 0: no expression */
  uint32_t reserved;
  const bp_expr_node* nodes; /* the last one is the result */
  /* For operators that accumulate (reductions, scans, scatters): the nodes combine BP_X_ACC with the next element, and
   * this is its initial value; for integers, an infinity stands for the extreme value of the dtype. */
  double initial;
} bp_operator;

/* ---- Calls ---------------------------------------------------------------------------------- */

/* One call of a kernel. The kernel may rely on this: outputs are allocated (except for BP_OP_SHAPE_DATA) with
 * the right shape, dtype and device; inputs are on the device; dtypes and layouts are among those
 * that the kernel declared; every output has at least one element; no output overlaps an input, except that
 * with BP_KERNEL_IN_PLACE_SAFE an output may be exactly an input. Memory lives until
 * the call's work on the stream is done; this struct, shapes and lists live until `run` returns. */
typedef struct bp_call {
  bp_header h;
  const bp_operator* op;
  const bp_value* args; /* num_args of them, in schema order */
  bp_tensor* const* outputs;
  uint32_t num_args, num_outputs;
  bp_device* device;
  bp_stream* stream;
  const bp_region* fault; /* 8 zeroed bytes on the device for BP_KERNEL_MAY_FAULT, else NULL: a
                             kernel that finds a bad index writes a nonzero word there */
  void* host_data;        /* the host's */
  uint64_t number;        /* of this call, for host->set_call_error; 0: it has none */
  const void* plan;       /* made by the kernel's `plan` for such calls, else NULL */
  bp_region workspace;    /* of the size that the plan asked for; bytes 0: none */
} bp_call;

/* What a kernel accepts for one argument, or for each tensor of a list. Zero means anything (of the plugin's level);
 * arguments from num_args on accept anything too. */
typedef struct bp_arg {
  bp_dtype_set dtypes;
  uint32_t layouts;           /* the tensor must have one of these BP_LAYOUT_* */
  uint32_t spaces;            /* one bit per memory space; 0: space 0 alone */
  uint8_t min_rank, max_rank; /* max_rank 0: any */
  uint8_t scalar_ok;          /* 1: a number in place of the tensor is accepted */
  uint8_t reserved;
  uint32_t alignment; /* of the first element, in bytes; 0: the element's own */
} bp_arg;

#define BP_KERNEL_DETERMINISTIC 1u /* the same bits for the same inputs */
#define BP_KERNEL_CAPTURABLE 2u
#define BP_KERNEL_IN_PLACE_SAFE 4u /* an output may exactly alias an input */
#define BP_KERNEL_MAY_FAULT 8u     /* checks indices on the device, reports through `fault` */
#define BP_KERNEL_SCRATCH 16u      /* may ask for host->workspace */
/* May be slower than another kernel that takes the call: the host runs both on the first large calls of a
 * class of shapes and keeps the faster one. Until then, or where the host must not wait, the other one runs. */
#define BP_KERNEL_MEASURED 32u

/* The plan for all calls of one class of shapes. */
typedef struct bp_plan {
  bp_header h;
  const void* own;    /* the kernel's own data, passed to `run` as call->plan; may be NULL */
  uint64_t workspace; /* bytes that `run` gets as call->workspace; 0: none */
  uint64_t alignment; /* of the workspace; 0: the device's own */
} bp_plan;

typedef struct bp_kernel {
  bp_header h;
  const char* op;
  uint64_t schema_hash; /* of the schema that it was written against */
  const bp_arg* args;   /* num_args of them: one per argument of the schema, then one per output */
  uint32_t num_args;    /* later arguments and outputs accept anything */
  uint32_t flags;       /* BP_KERNEL_* */
  int32_t priority;     /* of the kernels that accept a call, the one with the highest runs */
  uint32_t reserved;
  void* self;
  /* Optional. Looks at the actual call, whose outputs may be unallocated (outputs[i] is NULL for BP_OP_SHAPE_DATA).
   * BP_UNSUPPORTED sends it to the next candidate; no message is needed. Threads: any. */
  bp_code (*supports)(void* self, const bp_call* call);
  /* Required. Submits the work to call->stream. BP_UNSUPPORTED, with the outputs untouched, sends the
   * call to the next candidate; prefer to say so in `supports`. Threads: any, several at once. */
  bp_code (*run)(void* self, const bp_call* call);
  /* Optional. Looks at a call that `run` will get, whose outputs may be unallocated, and prepares what all calls with
   * the same dtypes, shapes, strides, alignments and other arguments have in common. Submits no work to the device.
   * Called once for each such class, and again if the host has dropped the plan. BP_UNSUPPORTED: the next candidate.
   * Threads: any. */
  bp_code (*plan)(void* self, const bp_call* call, bp_plan* out);
  /* Required with `plan`. Called when no call uses `own` any longer. */
  void (*release_plan)(void* self, const void* own);
} bp_kernel;

/* ---- Custom operators ------------------------------------------------------------------------ */

typedef struct bp_output_spec {
  uint32_t dtype;
  uint32_t ndim;
  int64_t shape[BP_MAX_RANK];
} bp_output_spec;

/* An operator that a plugin adds. Its name has the vendor's prefix: "acme::swish". */
typedef struct bp_custom_operator {
  bp_header h;
  const char* schema;
  void* self;
  /* Optional. Shapes and dtypes of the outputs (for a Tensor[] see docs/abi.md); NULL: those of the first tensor.
   * Threads: any. */
  bp_code (*infer)(void* self, const bp_call* call, bp_output_spec* outputs);
  /* Optional: the derivative as data. `backward` names an operator that takes the gradients of the outputs, then
   * the saved arguments (one bit each in `saved_args`), then the saved outputs (in `saved_outputs`). */
  const char* backward;
  uint64_t saved_args;
  uint64_t saved_outputs;
  /* Optional. `schema` as first published, if names of arguments or results have changed since. The operator's hash is
   * taken from it, so that kernels built earlier still work. NULL: nothing has changed. */
  const char* first_schema;
} bp_custom_operator;

/* ---- The host -------------------------------------------------------------------------------- */

#define BP_LOG_DEBUG 0u
#define BP_LOG_INFO 1u
#define BP_LOG_WARNING 2u
#define BP_LOG_ERROR 3u

/* Everything that a plugin may call. Each plugin gets its own; it lives until `shutdown` has returned.
 * Threads: any, for every function. */
typedef struct bp_host bp_host;
struct bp_host {
  bp_header h;
  uint32_t abi_min, abi_max; /* the levels that this host supports */
  const char* version;       /* the host's, for messages */
  const char* plugin_path;   /* the plugin's own file */
  void* context;             /* the host's */

  /* Sets this thread's error record and returns `code`. Copies `message`. */
  bp_code (*set_error)(const bp_host* host, bp_code code, const char* message);
  void (*log)(const bp_host* host, uint32_t level, const char* message);

  /* For BP_OP_SHAPE_DATA: allocates output `index` and completes call->outputs[index]. */
  bp_code (*allocate_output)(const bp_host* host, const bp_call* call, uint32_t index,
                             uint32_t ndim, const int64_t* shape);
  /* Scratch memory on the call's device, valid for the call's work on its stream. For kernels that declare
   * BP_KERNEL_SCRATCH. */
  bp_code (*workspace)(const bp_host* host, const bp_call* call, uint64_t bytes, uint64_t alignment,
                       bp_region* out);

  /* Host memory, which the host accounts for and may refuse. */
  bp_code (*allocate_host)(const bp_host* host, uint64_t bytes, uint64_t alignment, void** out);
  void (*release_host)(const bp_host* host, void* ptr);

  /* The operators known so far, in a fixed order; NULL past the end. They live as long as the host. */
  const bp_operator* (*operator_at)(const bp_host* host, uint32_t index);
  const bp_operator* (*find_operator)(const bp_host* host, const char* name);

  /* Adds kernels after `init`; they must live until `shutdown`. */
  bp_code (*register_kernels)(const bp_host* host, const bp_kernel* const* kernels,
                              uint32_t num_kernels);

  /* How many threads the application lets one call use. */
  uint32_t (*num_threads)(const bp_host* host);
  /* 1 if the application asked for the same bits for the same inputs. */
  uint32_t (*deterministic)(const bp_host* host);

  /* The host's extension of this name; NULL if it has none. */
  const bp_header* (*extension)(const bp_host* host, const char* name, uint32_t min_version);

  /* Like set_error, for failed work that the call `number` (bp_call.number) had submitted; 0: unknown which. */
  bp_code (*set_call_error)(const bp_host* host, bp_code code, uint64_t number,
                            const char* message);
};

/* ---- The plugin ------------------------------------------------------------------------------ */

#define BP_DEVICE_REAL_ADDRESSES 1u  /* handles are addresses that the device dereferences */
#define BP_DEVICE_HOST_READABLE 2u   /* handles are addresses that the host may read and write */
#define BP_DEVICE_CAN_SUBALLOCATE 4u /* several tensors may share a handle, at different offsets */
#define BP_DEVICE_SYNCHRONOUS 8u     /* every call has done its work when it returns */
/* Only synchronize, synchronize_event and close wait for work submitted by other calls: a stream may be blocked for as
 * long as another process takes, while everything else goes on. Without this flag the host asks the device for nothing
 * that may wait (allocations, releases, new kernels) while such work is under way. */
#define BP_DEVICE_NO_HIDDEN_WAITS 16u
/* The part of this that most drivers can promise: allocate and release wait for no other work, but the first launch of
 * a kernel may. */
#define BP_DEVICE_NO_MEMORY_WAITS 32u

typedef struct bp_device_info {
  bp_header h;
  char name[128];         /* for people: "AMD EPYC 9R14" */
  int32_t dl_device_type; /* BP_DL_EXT_DEV if the vendor has none */
  int32_t dl_device_id;
  uint32_t flags;            /* BP_DEVICE_* */
  uint32_t num_spaces;       /* 0 counts as 1 */
  uint64_t total_memory;     /* bytes; 0: unknown */
  uint64_t offset_alignment; /* of sub-allocations, in bytes; 0 counts as 64 */
  uint64_t max_allocation;   /* bytes; 0: unlimited */
  uint8_t uuid[16]; /* of the physical device, equal in every backend and process; zeros: unknown */
  char bus[32];     /* "0000:17:00.0"; empty: none */
  char driver[64];  /* its version, for people; empty: none */
  int32_t numa_node;         /* -1: unknown */
  uint32_t num_cores;        /* as the vendor counts them; 0: unknown */
  uint32_t clock_mhz;        /* the highest; 0: unknown */
  int32_t least_priority;    /* the largest number that create_stream distinguishes ... */
  int32_t greatest_priority; /* ... and the smallest; both 0: all streams are equal */
  uint32_t reserved;
} bp_device_info;

typedef struct bp_plugin {
  bp_header h;
  uint32_t abi; /* the plugin's level, as returned by bp_get_plugin_v1 */
  uint32_t reserved;
  const char *name, *vendor, *version; /* devices are named after `name`: "acme:0" */
  void* self;

  /* Optional. Tells whether there can be a device. Quick, without side effects. If the driver is not
   * installed, return BP_UNSUPPORTED with a message; this is not an error. */
  bp_code (*probe)(void* self);
  /* Optional. Called once, before everything else but probe. */
  bp_code (*init)(void* self);
  /* Optional. Finish or drop all work; no more will come. */
  bp_code (*quiesce)(void* self);
  /* Optional. The last call; all devices are closed. Also called after a failed probe or init, and for a plugin that
   * the host rejects before calling either. */
  void (*shutdown)(void* self);

  /* Required, with open, close, memory and queue. If all five are NULL, the plugin has no devices and only offers
   * extensions (collectives, a compiler). If `infos` is NULL, writes the number of devices to `count`; else fills in
   * `*count` of them. The host has zeroed each one except for h, and numa_node, which is -1. infos[0].h.size is also
   * the distance from one to the next. */
  bp_code (*devices)(void* self, uint32_t* count, bp_device_info* infos);
  /* Required. */
  bp_code (*open)(void* self, uint32_t index, bp_device** out);
  /* Required. Called when its streams are synchronized or lost and all its allocations, streams and events are gone.
   * After a loss, `open` may be called again. */
  void (*close)(bp_device* device);

  const bp_memory* memory;
  const bp_queue* queue;

  /* Optional; read after init. */
  const bp_kernel* const* kernels;
  const bp_custom_operator* const* operators;
  uint32_t num_kernels, num_operators;

  /* Optional. Returns the extension of this name ("bp.compiler", "bp.program", "acme.x"), or NULL. */
  const bp_header* (*extension)(void* self, const char* name, uint32_t min_version);
} bp_plugin;

/* The one symbol that a plugin exports. On entry `*abi_inout` is the highest level that the host
 * supports; on return it is the level that the plugin will use, within [abi_min, abi_max]. This is settled before
 * any state is created. Called once per load. The plugin lives until the library is closed. A library serves one
 * host at a time: if another host in the process loads the same file, it gets BP_RETRY, with a message through its
 * own set_error, until the first host's `shutdown` has returned. */
typedef bp_code (*bp_get_plugin_fn)(const bp_host* host, uint32_t* abi_inout,
                                    const bp_plugin** out);

#if defined(__GNUC__) || defined(__clang__)
#  define BP_EXPORT __attribute__((visibility("default")))
#else
#  define BP_EXPORT
#endif

BP_EXPORT bp_code bp_get_plugin_v1(const bp_host* host, uint32_t* abi_inout, const bp_plugin** out);

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_ABI_H */
