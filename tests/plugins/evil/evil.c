/* A backend that does one thing wrong: the one that the environment variable BACKPLANE_EVIL names when the plugin is
 * asked for. BACKPLANE_EVIL_N (default 1) is the call, counted from 1, at which the kinds "..._on_n" begin. The kinds
 * are listed in README.md beside this file. Without the variable it is a good backend with memory, `add` for f32 and
 * `evil::twice`. */
#define _POSIX_C_SOURCE 200809L

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <backplane/abi.h>

static const bp_host* host;
static char kind[64];
static long at_call; /* BACKPLANE_EVIL_N */
static long num_copies, num_allocations, num_alive, num_kernel_calls;
static int owes_an_error;

static int is(const char* name) {
  return strcmp(kind, name) == 0;
}
static bp_code fail(bp_code code, const char* message) {
  return host->set_error(host, code, message);
}

static void hang(void) {
  for (;;) sleep(1000);
}
static void crash(void) {
  raise(SIGSEGV);
}

void evil_throw(void); /* throws.cpp */

/* "open_aborts": in the function `name`, whichever it is. */
static void stumble(const char* name) {
  const size_t length = strlen(name);
  const char* how = kind + length + 1;
  if (strncmp(kind, name, length) != 0 || kind[length] != '_') return;
  if (strcmp(how, "crashes") == 0) crash();
  if (strcmp(how, "hangs") == 0) hang();
  if (strcmp(how, "aborts") == 0) abort();
  if (strcmp(how, "exits") == 0) exit(3);
  if (strcmp(how, "throws") == 0) evil_throw();
}

static void choose_kind(void) {
  const char* name = getenv("BACKPLANE_EVIL");
  const char* number = getenv("BACKPLANE_EVIL_N");
  snprintf(kind, sizeof kind, "%s", name == NULL ? "" : name);
  at_call = number == NULL ? 1 : strtol(number, NULL, 10);
  num_copies = num_allocations = num_alive = num_kernel_calls = 0;
  owes_an_error = 0;
}

__attribute__((constructor)) static void begin(void) {
  choose_kind();
  if (is("constructor_crashes")) crash();
  if (is("constructor_hangs")) hang();
  stumble("constructor");
}
__attribute__((destructor)) static void end(void) {
  stumble("destructor");
}

/* ---- Devices ---- */

static bp_code probe(void* self) {
  (void)self;
  if (is("probe_says_no")) return fail(BP_UNSUPPORTED, "the driver of evil is not installed");
  if (is("probe_fails")) return fail(BP_INTERNAL, "the probe broke");
  if (is("probe_crashes")) crash();
  if (is("probe_hangs")) hang();
  stumble("probe");
  return BP_OK;
}

static bp_code init(void* self) {
  (void)self;
  if (is("init_fails")) return fail(BP_INTERNAL, "the start broke");
  if (is("init_crashes")) crash();
  if (is("init_hangs")) hang();
  stumble("init");
  return BP_OK;
}

static bp_code quiesce(void* self) {
  (void)self;
  stumble("quiesce");
  return BP_OK;
}

static void shut_down(void* self) {
  (void)self;
  stumble("shutdown");
}

static bp_code devices(void* self, uint32_t* count, bp_device_info* infos) {
  (void)self;
  stumble("devices");
  if (is("devices_fails")) return fail(BP_INTERNAL, "the count of devices broke");
  if (infos == NULL) {
    *count = is("no_devices") ? 0 : is("too_many_devices") ? UINT32_MAX : 1;
    return BP_OK;
  }
  if (is("devices_fails_late")) return fail(BP_INTERNAL, "the description of devices broke");
  if (is("devices_writes_more")) *count = 1000;
  strcpy(infos->name, "a device that means no good");
  if (is("device_name_unterminated")) memset(infos->name, 'x', sizeof infos->name);
  infos->dl_device_type = BP_DL_EXT_DEV;
  infos->flags = BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_SYNCHRONOUS;
  infos->offset_alignment = is("offset_alignment_3") ? 3 : 64;
  return BP_OK;
}

static bp_code open_device(void* self, uint32_t index, bp_device** out) {
  static char only_device[2];
  (void)self;
  if (index == 0) stumble("open");
  if (is("open_fails")) return fail(BP_DEVICE_LOST, "the device does not open");
  *out = is("open_gives_null") ? NULL : (bp_device*)(void*)&only_device[index & 1];
  return BP_OK;
}

static void close_device(bp_device* device) {
  char text[96];
  (void)device;
  stumble("close");
  snprintf(text, sizeof text, "evil: closed with %ld allocations alive", num_alive);
  host->log(host, num_alive == 0 ? BP_LOG_DEBUG : BP_LOG_ERROR, text);
}

/* ---- Memory ---- */

#define MAGIC UINT64_C(0x6576696c6576696c)

static bp_code allocate(bp_device* device, uint64_t bytes, uint64_t alignment, bp_handle* out) {
  const uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  char* block;
  (void)device;
  ++num_allocations;
  stumble("allocate");
  if (is("allocate_always_fails")) return fail(BP_OUT_OF_MEMORY, "no memory at all");
  if (is("allocate_fails_on_n") && num_allocations == at_call)
    return fail(BP_OUT_OF_MEMORY, "no memory this time");
  if (is("allocate_fails_from_n") && num_allocations >= at_call)
    return fail(BP_OUT_OF_MEMORY, "no memory any more");
  if (is("allocate_strange_code")) return 4711;
  if (is("allocate_negative_code")) return -3;
  if (is("allocate_gives_zero")) {
    *out = 0;
    return BP_OK;
  }
  block = aligned_alloc(alignment,
                        alignment + rounded); /* a mark in front, by which release knows its own */
  if (block == NULL) return fail(BP_OUT_OF_MEMORY, "aligned_alloc found no memory");
  memcpy(block + alignment - 16, &(uint64_t){MAGIC}, 8);
  memcpy(block + alignment - 8, &alignment, 8);
  *out = (bp_handle)(uintptr_t)(block + alignment);
  ++num_alive;
  return BP_OK;
}

static void release(bp_device* device, bp_handle handle) {
  char* ptr = (char*)(uintptr_t)handle;
  uint64_t magic = 0, alignment;
  (void)device;
  if (ptr != NULL) memcpy(&magic, ptr - 16, 8);
  if (magic != MAGIC) {
    host->log(host, BP_LOG_ERROR, "evil: release of a handle that was never allocated");
    return;
  }
  memset(ptr - 16, 0, 8);
  memcpy(&alignment, ptr - 8, 8);
  free(ptr - alignment);
  --num_alive;
}

static bp_code copy(bp_device* device, const bp_region* to, const bp_region* from,
                    uint32_t direction, bp_stream* stream) {
  (void)device, (void)direction, (void)stream;
  ++num_copies;
  if (is("copy_fails_on_n") && num_copies == at_call) return fail(BP_INTERNAL, "this copy broke");
  if (is("copy_fails_silently")) return BP_INTERNAL;
  if (is("copy_strange_code")) return 4711;
  if (is("copy_retries_for_ever")) return fail(BP_RETRY, "still busy");
  if (is("copy_fails_late") && num_copies == at_call) owes_an_error = 1;
  if (is("device_lost_on_n") && num_copies >= at_call)
    return fail(BP_DEVICE_LOST, "the device fell off the bus");
  memcpy((void*)(uintptr_t)(to->handle + to->offset),
         (const void*)(uintptr_t)(from->handle + from->offset), to->bytes);
  return BP_OK;
}

static bp_code synchronize(bp_device* device, bp_stream* stream) {
  (void)device, (void)stream;
  if (is("synchronize_hangs")) hang();
  if (is("synchronize_fails")) return fail(BP_STREAM_LOST, "the stream broke");
  if (is("device_lost_on_n") && num_copies >= at_call)
    return fail(BP_DEVICE_LOST, "the device fell off the bus");
  if (owes_an_error) {
    owes_an_error = 0;
    return fail(BP_STREAM_LOST, "an earlier copy broke");
  }
  return BP_OK;
}

static bp_code create_stream(bp_device* device, int32_t priority, bp_stream** out) {
  (void)device, (void)priority;
  *out = NULL;
  return BP_OK;
}

/* ---- Kernels and operators ---- */

static float* elements(const bp_tensor* tensor) {
  return (float*)(void*)((char*)tensor->dl.data + tensor->dl.byte_offset);
}

static bp_code supports(void* self, const bp_call* call) {
  (void)self, (void)call;
  if (is("supports_strange_code")) return 4711;
  if (is("supports_fails")) return fail(BP_INTERNAL, "the question broke");
  return BP_OK;
}

static bp_code add(void* self, const bp_call* call) {
  const float *a = elements(call->args[0].u.tensor), *b = elements(call->args[1].u.tensor);
  const bp_value* alpha = &call->args[2];
  const float factor = alpha->tag == BP_DOUBLE ? (float)alpha->u.f : (float)alpha->u.i;
  (void)self;
  ++num_kernel_calls;
  if (is("kernel_fails_on_n") && num_kernel_calls == at_call)
    return fail(BP_INTERNAL, "the kernel broke");
  if (is("kernel_fails_silently")) return BP_INTERNAL;
  if (is("kernel_strange_code")) return 4711;
  if (is("kernel_unsupported")) return fail(BP_UNSUPPORTED, "not this call after all");
  if (is("kernel_out_of_memory")) return fail(BP_OUT_OF_MEMORY, "no scratch memory");
  if (is("kernel_fails_late")) owes_an_error = 1;
  if (is("kernel_crashes")) crash();
  if (is("kernel_hangs")) hang();
  if (is("kernel_wants_too_much")) {
    bp_region region;
    return host->workspace(host, call, UINT64_C(1) << 60, 64, &region);
  }
  if (is("kernel_allocates_wrong_output")) {
    const int64_t shape[1] = {3};
    return host->allocate_output(host, call, 7, 1, shape);
  }
  for (int64_t i = 0; i < call->outputs[0]->numel; ++i)
    elements(call->outputs[0])[i] = a[i] + factor * b[i];
  return BP_OK;
}

static bp_code twice(void* self, const bp_call* call) {
  const float* a = elements(call->args[0].u.tensor);
  (void)self;
  for (int64_t i = 0; i < call->outputs[0]->numel; ++i) elements(call->outputs[0])[i] = 2 * a[i];
  return BP_OK;
}

static bp_code infer_twice(void* self, const bp_call* call, bp_output_spec* outputs) {
  const bp_tensor* a = call->args[0].u.tensor;
  (void)self;
  if (is("infer_fails")) return fail(BP_BAD_ARGUMENT, "`a` is not to its taste");
  outputs[0].dtype = is("infer_bad_dtype") ? 99 : a->dtype;
  outputs[0].ndim = is("infer_rank_17") ? BP_MAX_RANK + 1 : (uint32_t)a->dl.ndim;
  for (int32_t i = 0; i < a->dl.ndim; ++i)
    outputs[0].shape[i] = is("infer_negative_size") ? -1 : a->dl.shape[i];
  if (is("infer_huge_size")) outputs[0].shape[0] = INT64_MAX;
  return BP_OK;
}

/* ---- Tables, made again for each load ---- */

#define ADD "add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor"
#define TWICE "evil::twice(Tensor input) -> Tensor"
#define F32 \
  { .dtypes = 1u << BP_F32, .layouts = BP_LAYOUT_CONTIGUOUS }

static const bp_arg add_args[] = {F32, F32, {0}, F32};
static const bp_arg twice_args[] = {F32, F32};
static bp_kernel add_kernel, twice_kernel;
static const bp_kernel* kernels[2];
static bp_custom_operator twice_operator, other_operator;
static const bp_custom_operator* operators[2];
static bp_memory memory;
static bp_queue queue;
static union {
  bp_plugin plugin;
  char bytes[sizeof(bp_plugin) + 64]; /* what a newer header might have added */
} whole;

static uint64_t fnv1a(const char* text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != 0; ++text) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

static void make_memory(void) {
  memory = (bp_memory){.h = {sizeof memory, BP_TYPE_MEMORY, NULL},
                       .allocate = allocate,
                       .release = release,
                       .copy = copy};
  if (is("memory_too_small")) memory.h.size = 8;
  if (is("memory_wrong_type")) memory.h.type = BP_TYPE_QUEUE;
  if (is("null_allocate")) memory.allocate = NULL;
  if (is("null_release")) memory.release = NULL;
  if (is("null_copy")) memory.copy = NULL;

  queue = (bp_queue){.h = {sizeof queue, BP_TYPE_QUEUE, NULL}, .synchronize = synchronize};
  if (is("queue_too_small")) queue.h.size = 8;
  if (is("null_synchronize")) queue.synchronize = NULL;
  if (is("half_of_the_streams")) queue.create_stream = create_stream;
}

static void make_kernels(void) {
  add_kernel = (bp_kernel){.h = {sizeof add_kernel, BP_TYPE_KERNEL, NULL},
                           .op = "add",
                           .schema_hash = fnv1a(ADD),
                           .args = add_args,
                           .num_args = 4,
                           .supports = supports,
                           .run = add};
  if (is("kernel_too_small")) add_kernel.h.size = 24;
  if (is("kernel_wrong_type")) add_kernel.h.type = BP_TYPE_MEMORY;
  if (is("kernel_null_name")) add_kernel.op = NULL;
  if (is("kernel_unknown_operator")) add_kernel.op = "no_such_operator";
  if (is("kernel_wrong_hash")) add_kernel.schema_hash ^= 1;
  if (is("kernel_null_run")) add_kernel.run = NULL;
  if (is("kernel_null_args")) add_kernel.args = NULL;
  if (is("kernel_too_many_args")) add_kernel.num_args = UINT32_MAX;
  twice_kernel = (bp_kernel){.h = {sizeof twice_kernel, BP_TYPE_KERNEL, NULL},
                             .op = "evil::twice",
                             .schema_hash = fnv1a(TWICE),
                             .args = twice_args,
                             .num_args = 2,
                             .run = twice};
  kernels[0] = is("null_kernel") ? NULL : &add_kernel;
  kernels[1] = &twice_kernel;
}

static void make_operators(void) {
  twice_operator = (bp_custom_operator){.h = {sizeof twice_operator, BP_TYPE_CUSTOM_OPERATOR, NULL},
                                        .schema = TWICE,
                                        .infer = infer_twice};
  if (is("operator_bad_schema")) twice_operator.schema = "evil::twice(Tensor input, -> ";
  if (is("operator_null_schema")) twice_operator.schema = NULL;
  if (is("operator_without_prefix")) twice_operator.schema = "twice(Tensor input) -> Tensor";
  if (is("operator_of_the_core")) twice_operator.schema = ADD;
  if (is("operator_unknown_backward")) twice_operator.backward = "evil::nowhere";
  if (is("operator_saves_too_much")) twice_operator.saved_args = UINT64_MAX;
  other_operator = twice_operator; /* for duplicate_operator */
  operators[0] = is("null_operator") ? NULL : &twice_operator;
  operators[1] = &other_operator;
}

static void make_plugin(void) {
  bp_plugin* plugin = &whole.plugin;
  memset(&whole, 0, sizeof whole);
  *plugin = (bp_plugin){.h = {sizeof(bp_plugin), BP_TYPE_PLUGIN, NULL},
                        .name = "evil",
                        .vendor = "Backplane tests",
                        .version = "0.1",
                        .probe = probe,
                        .init = init,
                        .quiesce = quiesce,
                        .shutdown = shut_down,
                        .devices = devices,
                        .open = open_device,
                        .close = close_device,
                        .memory = &memory,
                        .queue = &queue,
                        .kernels = kernels,
                        .operators = operators,
                        .num_kernels = 2,
                        .num_operators = is("duplicate_operator") ? 2 : 1};
  if (is("plugin_too_small")) plugin->h.size = 16;
  if (is("plugin_wrong_type")) plugin->h.type = BP_TYPE_HOST;
  if (is("plugin_from_the_future")) {
    plugin->h.size = sizeof whole;
    memset(whole.bytes + sizeof(bp_plugin), 0xff, sizeof whole - sizeof(bp_plugin));
  }
  if (is("null_name")) plugin->name = NULL;
  if (is("empty_name")) plugin->name = "";
  if (is("bad_name")) plugin->name = "e v:i/l";
  if (is("null_vendor")) plugin->vendor = plugin->version = NULL;
  if (is("null_devices")) plugin->devices = NULL;
  if (is("null_open")) plugin->open = NULL;
  if (is("null_close")) plugin->close = NULL;
  if (is("null_memory")) plugin->memory = NULL;
  if (is("null_queue")) plugin->queue = NULL;
  if (is("null_kernels")) plugin->kernels = NULL, plugin->num_kernels = UINT32_MAX;
  if (is("null_operators")) plugin->operators = NULL, plugin->num_operators = UINT32_MAX;
}

bp_code bp_get_plugin_v1(const bp_host* given, uint32_t* abi_inout, const bp_plugin** out) {
  host = given;
  choose_kind();
  if (is("start_crashes")) crash();
  if (is("start_hangs")) hang();
  if (is("start_exits")) exit(0);
  if (is("start_fails")) return fail(BP_INTERNAL, "evil does not want to");
  if (is("start_fails_silently")) return BP_INTERNAL;
  if (is("start_strange_code")) return 4711;
  stumble("start");
  make_memory();
  make_kernels();
  make_operators();
  make_plugin();
  *abi_inout = is("abi_zero") ? 0 : is("abi_future") ? 1000 : BP_ABI_LEVEL;
  whole.plugin.abi = is("abi_differs") ? BP_ABI_LEVEL + 1 : *abi_inout;
  *out = is("null_plugin") ? NULL : &whole.plugin;
  return BP_OK;
}
