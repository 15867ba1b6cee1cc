/* What a plugin's operators may take and give besides single tensors and numbers: many results, a Tensor[] among them,
 * Tensor?[], a Generator; each with its derivative as data. Kernels are for f32, contiguous. */
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
  strcpy(infos->name, "a device for lists");
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

/* ---- What the kernels share ---- */

static float* elements(const bp_tensor* tensor) {
  return (float*)(void*)((char*)tensor->dl.data + tensor->dl.byte_offset);
}

static const bp_tensor* const* list_of(const bp_value* value) {
  return (const bp_tensor* const*)value->u.ptr;
}

static void like(const bp_tensor* tensor, bp_output_spec* out) {
  out->dtype = tensor->dtype;
  out->ndim = (uint32_t)tensor->dl.ndim;
  for (int32_t i = 0; i < tensor->dl.ndim; ++i) out->shape[i] = tensor->dl.shape[i];
}

/* ---- six: result i is i + 1 times the input ---- */

#define SIX                                                                          \
  "lists::six(Tensor input) -> (Tensor one, Tensor two, Tensor three, Tensor four, " \
  "Tensor five, Tensor six)"
#define SIX_BACK                                                                     \
  "lists::six_back(Tensor one, Tensor two, Tensor three, Tensor four, Tensor five, " \
  "Tensor six) -> Tensor"

static bp_code six(void* self, const bp_call* call) {
  const float* from = elements(call->args[0].u.tensor);
  (void)self;
  for (uint32_t r = 0; r < call->num_outputs; ++r)
    for (int64_t i = 0; i < call->outputs[r]->numel; ++i)
      elements(call->outputs[r])[i] = (float)(r + 1) * from[i];
  return BP_OK;
}

static bp_code infer_six(void* self, const bp_call* call, bp_output_spec* outputs) {
  (void)self;
  for (uint32_t r = 0; r < call->num_outputs; ++r) like(call->args[0].u.tensor, &outputs[r]);
  return BP_OK;
}

static bp_code six_back(void* self, const bp_call* call) {
  float* to = elements(call->outputs[0]);
  (void)self;
  for (int64_t i = 0; i < call->outputs[0]->numel; ++i) {
    to[i] = 0;
    for (uint32_t r = 0; r < call->num_args; ++r)
      to[i] += (float)(r + 1) * elements(call->args[r].u.tensor)[i];
  }
  return BP_OK;
}

/* ---- cut: a vector's total, and its pieces of `size` elements; joined again by its derivative ---- */

#define CUT "lists::cut(Tensor input, int size) -> (Tensor total, Tensor[] pieces)"
#define CUT_BACK "lists::cut_back(Tensor total, Tensor[] pieces) -> Tensor"
#define CUT_BACK_BACK \
  "lists::cut_back_back(Tensor grad, Tensor[] pieces) -> (Tensor total, Tensor[] pieces)"

static bp_code cut(void* self, const bp_call* call) {
  const bp_tensor* input = call->args[0].u.tensor;
  const float* from = elements(input);
  (void)self;
  elements(call->outputs[0])[0] = 0;
  for (int64_t i = 0; i < input->numel; ++i) elements(call->outputs[0])[0] += from[i];
  for (uint32_t r = 1; r < call->num_outputs; ++r) {
    const int64_t count = call->outputs[r]->numel;
    memcpy(elements(call->outputs[r]), from, (size_t)count * sizeof(float));
    from += count;
  }
  return BP_OK;
}

static bp_code infer_cut(void* self, const bp_call* call, bp_output_spec* outputs) {
  const bp_tensor* input = call->args[0].u.tensor;
  const int64_t size = call->args[1].u.i;
  int64_t left = input->numel;
  (void)self;
  if (size <= 0) return fail(BP_BAD_ARGUMENT, "pieces of no elements; pass a positive size");
  outputs[0].dtype = input->dtype;
  outputs[0].ndim = 0;
  for (uint32_t r = 1; r < call->num_outputs && left > 0; ++r, left -= size) {
    outputs[r].dtype = input->dtype;
    outputs[r].ndim = 1;
    outputs[r].shape[0] = left < size ? left : size;
  }
  return BP_OK;
}

static bp_code cut_back(void* self, const bp_call* call) {
  const float total = elements(call->args[0].u.tensor)[0];
  float* to = elements(call->outputs[0]);
  (void)self;
  for (uint32_t k = 0; k < call->args[1].aux; ++k) {
    const bp_tensor* piece = list_of(&call->args[1])[k];
    for (int64_t i = 0; i < piece->numel; ++i) *to++ = total + elements(piece)[i];
  }
  return BP_OK;
}

static bp_code infer_cut_back(void* self, const bp_call* call, bp_output_spec* outputs) {
  int64_t count = 0;
  (void)self;
  for (uint32_t k = 0; k < call->args[1].aux; ++k) count += list_of(&call->args[1])[k]->numel;
  like(call->args[0].u.tensor, outputs);
  outputs[0].ndim = 1;
  outputs[0].shape[0] = count;
  return BP_OK;
}

static bp_code infer_cut_back_back(void* self, const bp_call* call, bp_output_spec* outputs) {
  (void)self;
  outputs[0].dtype = call->args[0].u.tensor->dtype;
  outputs[0].ndim = 0;
  for (uint32_t k = 0; k < call->args[1].aux && k + 1 < call->num_outputs; ++k)
    like(list_of(&call->args[1])[k], &outputs[k + 1]);
  return BP_OK;
}

/* ---- weigh: the sum of the tensors that are there, each times its place in the list ---- */

#define WEIGH "lists::weigh(Tensor input, Tensor?[] others) -> Tensor"
#define WEIGH_BACK \
  "lists::weigh_back(Tensor grad, Tensor?[] others) -> (Tensor input, Tensor[] others)"

static bp_code weigh(void* self, const bp_call* call) {
  const bp_tensor* input = call->args[0].u.tensor;
  float* to = elements(call->outputs[0]);
  (void)self;
  for (int64_t i = 0; i < input->numel; ++i) {
    to[i] = elements(input)[i];
    for (uint32_t k = 0; k < call->args[1].aux; ++k)
      if (list_of(&call->args[1])[k] != NULL)
        to[i] += (float)(k + 1) * elements(list_of(&call->args[1])[k])[i];
  }
  return BP_OK;
}

static bp_code weigh_back(void* self, const bp_call* call) {
  const bp_tensor* grad = call->args[0].u.tensor;
  uint32_t r = 1;
  (void)self;
  memcpy(elements(call->outputs[0]), elements(grad), (size_t)grad->numel * sizeof(float));
  for (uint32_t k = 0; k < call->args[1].aux; ++k) {
    if (list_of(&call->args[1])[k] == NULL) continue;
    for (int64_t i = 0; i < grad->numel; ++i)
      elements(call->outputs[r])[i] = (float)(k + 1) * elements(grad)[i];
    ++r;
  }
  return BP_OK;
}

static bp_code infer_weigh_back(void* self, const bp_call* call, bp_output_spec* outputs) {
  uint32_t r = 1;
  (void)self;
  like(call->args[0].u.tensor, &outputs[0]);
  for (uint32_t k = 0; k < call->args[1].aux && r < call->num_outputs; ++k)
    if (list_of(&call->args[1])[k] != NULL) like(list_of(&call->args[1])[k], &outputs[r++]);
  return BP_OK;
}

/* ---- noise: the input times what stands for a random number ---- */

#define NOISE "lists::noise(Tensor input, *, Generator? generator=None) -> Tensor"
#define NOISE_BACK "lists::noise_back(Tensor grad, Generator? generator) -> Tensor"

static bp_code noise(void* self, const bp_call* call) {
  const bp_tensor* input = call->args[0].u.tensor;
  const bp_generator* generator;
  (void)self;
  if (call->args[1].tag != BP_GENERATOR) return fail(BP_INTERNAL, "the host took no numbers");
  generator = (const bp_generator*)call->args[1].u.ptr;
  if (generator->h.size < sizeof(bp_generator) || generator->h.type != BP_TYPE_GENERATOR)
    return fail(BP_INTERNAL, "no generator");
  for (int64_t i = 0; i < input->numel; ++i)
    elements(call->outputs[0])[i] =
        elements(input)[i] * (float)(100 * generator->seed + generator->offset + (uint64_t)i);
  return BP_OK;
}

/* ---- endless: a list that never ends ---- */

#define ENDLESS "lists::endless(Tensor input) -> Tensor[]"

static bp_code infer_endless(void* self, const bp_call* call, bp_output_spec* outputs) {
  (void)self;
  for (uint32_t r = 0; r < call->num_outputs; ++r) like(call->args[0].u.tensor, &outputs[r]);
  return BP_OK;
}

/* ---- copy: from any strides, so that kernels may ask for contiguous tensors ---- */

#define COPY "copy(Tensor input) -> Tensor"

static bp_code copy_strided(void* self, const bp_call* call) {
  const bp_dl_tensor* input = &call->args[0].u.tensor->dl;
  const float* from = elements(call->args[0].u.tensor);
  (void)self;
  for (int64_t i = 0; i < call->outputs[0]->numel; ++i) {
    int64_t rest = i, at = 0;
    for (int32_t d = input->ndim; d-- > 0; rest /= input->shape[d])
      at += rest % input->shape[d] * input->strides[d];
    elements(call->outputs[0])[i] = from[at];
  }
  return BP_OK;
}

/* ---- Tables ---- */

#define F32 \
  { .dtypes = 1u << BP_F32, .layouts = BP_LAYOUT_CONTIGUOUS }

static const bp_arg tensors[] = {F32, F32, F32, F32, F32, F32, F32};
static const bp_arg any_strides[] = {
    {.dtypes = 1u << BP_F32, .layouts = BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_STRIDED}, F32};
static const bp_arg one_and_number[] = {F32, {0}, F32, F32};

#define KERNEL(function, name, places, count)                                                      \
  {                                                                                                \
    .h = {sizeof(bp_kernel), BP_TYPE_KERNEL, NULL}, .op = name, .args = places, .num_args = count, \
    .run = function, .flags = BP_KERNEL_DETERMINISTIC                                              \
  }
static bp_kernel made[] = {KERNEL(six, "lists::six", tensors, 7),
                           KERNEL(six_back, "lists::six_back", tensors, 7),
                           KERNEL(cut, "lists::cut", one_and_number, 4),
                           KERNEL(cut_back, "lists::cut_back", tensors, 3),
                           KERNEL(cut, "lists::cut_back_back", tensors, 4),
                           KERNEL(weigh, "lists::weigh", tensors, 3),
                           KERNEL(weigh_back, "lists::weigh_back", tensors, 4),
                           KERNEL(noise, "lists::noise", one_and_number, 3),
                           KERNEL(noise, "lists::noise_back", one_and_number, 3),
                           KERNEL(copy_strided, "copy", any_strides, 2)};
#define NUM_KERNELS (sizeof made / sizeof made[0])
static const char* const schemas[] = {SIX,   SIX_BACK,   CUT,   CUT_BACK,   CUT_BACK_BACK,
                                      WEIGH, WEIGH_BACK, NOISE, NOISE_BACK, COPY};
static const bp_kernel* kernels[NUM_KERNELS];

#define OPERATOR \
  { sizeof(bp_custom_operator), BP_TYPE_CUSTOM_OPERATOR, NULL }
static const bp_custom_operator six_operator = {
    .h = OPERATOR, .schema = SIX, .infer = infer_six, .backward = "lists::six_back"};
static const bp_custom_operator six_back_operator = {
    .h = OPERATOR, .schema = SIX_BACK, .backward = "lists::six"};
static const bp_custom_operator cut_operator = {
    .h = OPERATOR, .schema = CUT, .infer = infer_cut, .backward = "lists::cut_back"};
static const bp_custom_operator cut_back_operator = {.h = OPERATOR,
                                                     .schema = CUT_BACK,
                                                     .infer = infer_cut_back,
                                                     .backward = "lists::cut_back_back",
                                                     .saved_args = 2};
static const bp_custom_operator cut_back_back_operator = {
    .h = OPERATOR, .schema = CUT_BACK_BACK, .infer = infer_cut_back_back};
static const bp_custom_operator weigh_operator = {
    .h = OPERATOR, .schema = WEIGH, .backward = "lists::weigh_back", .saved_args = 2};
static const bp_custom_operator weigh_back_operator = {
    .h = OPERATOR, .schema = WEIGH_BACK, .infer = infer_weigh_back};
static const bp_custom_operator noise_operator = {
    .h = OPERATOR, .schema = NOISE, .backward = "lists::noise_back", .saved_args = 2};
static const bp_custom_operator noise_back_operator = {.h = OPERATOR, .schema = NOISE_BACK};
static const bp_custom_operator endless_operator = {
    .h = OPERATOR, .schema = ENDLESS, .infer = infer_endless};
static const bp_custom_operator* const operators[] = {
    &six_operator,           &six_back_operator,   &cut_operator,   &cut_back_operator,
    &weigh_operator,         &weigh_back_operator, &noise_operator, &noise_back_operator,
    &cut_back_back_operator, &endless_operator};

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
  for (size_t i = 0; i < NUM_KERNELS; ++i) {
    made[i].schema_hash = fnv1a(schemas[i]);
    kernels[i] = &made[i];
  }
  return BP_OK;
}

static bp_plugin plugin = {.h = {sizeof(bp_plugin), BP_TYPE_PLUGIN, NULL},
                           .name = "lists",
                           .vendor = "Backplane tests",
                           .version = "0.1",
                           .init = init,
                           .devices = devices,
                           .open = open_device,
                           .close = close_device,
                           .memory = &memory,
                           .queue = &queue,
                           .kernels = kernels,
                           .operators = operators,
                           .num_kernels = NUM_KERNELS,
                           .num_operators = sizeof operators / sizeof operators[0]};

bp_code bp_get_plugin_v1(const bp_host* given, uint32_t* abi_inout, const bp_plugin** out) {
  host = given;
  if (*abi_inout > BP_ABI_LEVEL) *abi_inout = BP_ABI_LEVEL;
  if (*abi_inout < host->abi_min) return fail(BP_UNSUPPORTED, "lists speaks ABI level 1");
  plugin.abi = *abi_inout;
  *out = &plugin;
  return BP_OK;
}
