/* The template's backend, whose kernels declare "anything" for every place and look themselves. Built against the headers of
 * 1.0, and so never handed a dtype, layout, space or tag that came later: each would be an error here. */
#define bp_get_plugin_v1 get_template
#include "plugin.c"
#undef bp_get_plugin_v1

#include <stdbool.h>
#include <stdio.h>

#define DTYPES_OF_1_0 17u
#define TAGS_OF_1_0 13u
#define LAYOUTS_OF_1_0 \
  (BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_CHANNELS_LAST | BP_LAYOUT_DENSE | BP_LAYOUT_STRIDED)

BP_EXPORT bp_code bp_get_plugin_v1(const bp_host* host, uint32_t* abi_inout, const bp_plugin** out);

/* What of it came after 1.0, or NULL. */
static const char* later_part(const bp_tensor* tensor) {
  if (tensor->dtype >= DTYPES_OF_1_0) return "dtype";
  if ((tensor->flags & LAYOUTS_OF_1_0) == 0) return "layout";
  if (tensor->space != 0) return "space";
  return NULL;
}

static bp_code refuse(const char* part, const char* op) {
  char text[100];
  snprintf(text, sizeof text, "%s: a %s that came after ABI 1.0 was given to 'anything'", op, part);
  return acme_fail(BP_INTERNAL, text);
}

static const bp_tensor* tensor_at(const bp_call* call, uint32_t place) {
  if (place >= call->num_args) return call->outputs[place - call->num_args];
  return call->args[place].tag == BP_TENSOR ? call->args[place].u.tensor : NULL;
}

static bool takes(const bp_arg* declared, const bp_tensor* tensor) {
  return (declared->dtypes >> tensor->dtype & 1) != 0 && (declared->layouts & tensor->flags) != 0;
}

static bool fits(const bp_kernel* original, const bp_call* call) {
  for (uint32_t i = 0; i < call->num_args + call->num_outputs; ++i) {
    const bp_tensor* tensor = tensor_at(call, i);
    /* What came later is `run`'s to complain of. */
    if (tensor == NULL || later_part(tensor) != NULL) continue;
    if (i >= original->num_args || !takes(&original->args[i], tensor)) return false;
  }
  return true;
}

static bp_code supports(void* self, const bp_call* call) {
  return fits(self, call) ? BP_OK : BP_UNSUPPORTED;
}

static bp_code run_after_looking(void* self, const bp_call* call) {
  const bp_kernel* original = self;
  for (uint32_t i = 0; i < call->num_args; ++i)
    if (call->args[i].tag >= TAGS_OF_1_0) return refuse("tag", original->op);
  for (uint32_t i = 0; i < call->num_args + call->num_outputs; ++i) {
    const bp_tensor* tensor = tensor_at(call, i);
    if (tensor == NULL) continue;
    const char* part = later_part(tensor);
    if (part != NULL) return refuse(part, original->op);
  }
  return original->run(original->self, call);
}

#define MAX_KERNELS 64
bp_code bp_get_plugin_v1(const bp_host* host, uint32_t* abi_inout, const bp_plugin** out) {
  static bp_kernel declared[MAX_KERNELS];
  static const bp_kernel* list[MAX_KERNELS];
  static const bp_arg zeros[BP_MAX_RANK];
  const bp_code code = get_template(host, abi_inout, out);
  if (code != BP_OK) return code;
  for (uint32_t i = 0; i < plugin.num_kernels && i < MAX_KERNELS; ++i) {
    declared[i] = *plugin.kernels[i];
    declared[i].self = (void*)plugin.kernels[i];
    declared[i].supports = supports;
    declared[i].run = run_after_looking;
    /* The one half with a zero for each place, the other with no places at all. */
    declared[i].args = i % 2 == 0 ? zeros : NULL;
    if (i % 2 != 0) declared[i].num_args = 0;
    list[i] = &declared[i];
  }
  plugin.kernels = list;
  return BP_OK;
}
