/* A backend in C11, built against the header of release 0.1 alone: memory, one kernel, one operator. A host of
 * any later level must load it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <backplane/abi.h>

static const bp_host* host;

struct bp_device {
  uint32_t index;
};

static struct bp_device only_device;

static bp_code fail(bp_code code, const char* message) {
  return host->set_error(host, code, message);
}

/* ---- Devices and memory ---- */

static bp_code devices(void* self, uint32_t* count, bp_device_info* infos) {
  (void)self;
  if (infos == NULL) {
    *count = 1;
    return BP_OK;
  }
  strcpy(infos->name, "a device written in C");
  infos->dl_device_type = BP_DL_EXT_DEV;
  infos->flags = BP_DEVICE_REAL_ADDRESSES | BP_DEVICE_CAN_SUBALLOCATE | BP_DEVICE_SYNCHRONOUS;
  infos->offset_alignment = 64;
  return BP_OK;
}

static bp_code open_device(void* self, uint32_t index, bp_device** out) {
  (void)self;
  only_device.index = index;
  *out = &only_device;
  return BP_OK;
}

static void close_device(bp_device* device) {
  (void)device;
}

static bp_code allocate(bp_device* device, uint64_t bytes, uint64_t alignment, bp_handle* out) {
  void* ptr = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  (void)device;
  if (ptr == NULL) return fail(BP_OUT_OF_MEMORY, "aligned_alloc found no memory");
  *out = (bp_handle)(uintptr_t)ptr;
  return BP_OK;
}

static void release(bp_device* device, bp_handle handle) {
  (void)device;
  free((void*)(uintptr_t)handle);
}

static bp_code copy(bp_device* device, const bp_region* to, const bp_region* from,
                    uint32_t direction, bp_stream* stream) {
  (void)device, (void)direction, (void)stream;
  memcpy((void*)(uintptr_t)(to->handle + to->offset),
         (const void*)(uintptr_t)(from->handle + from->offset), to->bytes);
  return BP_OK;
}

static bp_code synchronize(bp_device* device, bp_stream* stream) {
  (void)device, (void)stream;
  return BP_OK;
}

/* ---- Kernels: f32, contiguous ---- */

static float* elements(const bp_tensor* tensor) {
  return (float*)(void*)((char*)tensor->dl.data + tensor->dl.byte_offset);
}

static double number(const bp_value* value) {
  return value->tag == BP_DOUBLE ? value->u.f : (double)value->u.i;
}

static bp_code add(void* self, const bp_call* call) {
  const float *a = elements(call->args[0].u.tensor), *b = elements(call->args[1].u.tensor);
  const float alpha = (float)number(&call->args[2]);
  float* out = elements(call->outputs[0]);
  (void)self;
  for (int64_t i = 0; i < call->outputs[0]->numel; ++i) out[i] = a[i] + alpha * b[i];
  return BP_OK;
}

static bp_code scale(void* self, const bp_call* call) {
  const float* a = elements(call->args[0].u.tensor);
  const float factor = (float)number(&call->args[1]);
  float* out = elements(call->outputs[0]);
  (void)self;
  for (int64_t i = 0; i < call->outputs[0]->numel; ++i) out[i] = a[i] * factor;
  return BP_OK;
}

static bp_code infer_scale(void* self, const bp_call* call, bp_output_spec* outputs) {
  const bp_tensor* a = call->args[0].u.tensor;
  (void)self;
  if (a->dtype != BP_F32) return fail(BP_BAD_ARGUMENT, "c11::scale: `a` must be f32");
  outputs[0].dtype = a->dtype;
  outputs[0].ndim = (uint32_t)a->dl.ndim;
  for (int32_t i = 0; i < a->dl.ndim; ++i) outputs[0].shape[i] = a->dl.shape[i];
  return BP_OK;
}

/* ---- Tables ---- */

#define F32 \
  { .dtypes = 1u << BP_F32, .layouts = BP_LAYOUT_CONTIGUOUS }
#define SCALE "c11::scale(Tensor input, float factor) -> Tensor"

static const bp_arg add_args[] = {F32, F32, {0}, F32};
static const bp_arg scale_args[] = {F32, {0}, F32};

static bp_kernel add_kernel = {.h = {sizeof(bp_kernel), BP_TYPE_KERNEL, NULL},
                               .op = "add",
                               .args = add_args,
                               .num_args = 4,
                               .run = add};
static bp_kernel scale_kernel = {.h = {sizeof(bp_kernel), BP_TYPE_KERNEL, NULL},
                                 .op = "c11::scale",
                                 .args = scale_args,
                                 .num_args = 3,
                                 .run = scale};
static const bp_kernel* const kernels[] = {&add_kernel, &scale_kernel};

static const bp_custom_operator scale_operator = {
    .h = {sizeof(bp_custom_operator), BP_TYPE_CUSTOM_OPERATOR, NULL},
    .schema = SCALE,
    .infer = infer_scale};
static const bp_custom_operator* const operators[] = {&scale_operator};

static const bp_memory memory = {.h = {sizeof(bp_memory), BP_TYPE_MEMORY, NULL},
                                 .allocate = allocate,
                                 .release = release,
                                 .copy = copy};
static const bp_queue queue = {.h = {sizeof(bp_queue), BP_TYPE_QUEUE, NULL},
                               .synchronize = synchronize};

static uint64_t fnv1a(const char* text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != 0; ++text) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

static bp_code init(void* self) {
  (void)self;
  add_kernel.schema_hash = fnv1a("add(Tensor input, Tensor other, *, Scalar alpha=1) -> Tensor");
  scale_kernel.schema_hash = fnv1a(SCALE);
  return BP_OK;
}

static void shut_down(void* self) {
  (void)self;
  host = NULL;
}

static bp_plugin plugin = {.h = {sizeof(bp_plugin), BP_TYPE_PLUGIN, NULL},
                           .name = "c11",
                           .vendor = "Backplane tests",
                           .version = "0.1",
                           .init = init,
                           .shutdown = shut_down,
                           .devices = devices,
                           .open = open_device,
                           .close = close_device,
                           .memory = &memory,
                           .queue = &queue,
                           .kernels = kernels,
                           .operators = operators,
                           .num_kernels = 2,
                           .num_operators = 1};

bp_code bp_get_plugin_v1(const bp_host* given, uint32_t* abi_inout, const bp_plugin** out) {
  if (host && host != given)
    return given->set_error(given, BP_RETRY, "c11 serves another host of this process");
  host = given;
  if (*abi_inout > BP_ABI_LEVEL) *abi_inout = BP_ABI_LEVEL;
  if (*abi_inout < host->abi_min) return fail(BP_UNSUPPORTED, "c11 speaks ABI level 1");
  plugin.abi = *abi_inout;
  *out = &plugin;
  return BP_OK;
}
