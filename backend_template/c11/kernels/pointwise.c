/* Elementwise kernels. Backplane has done shapes, promotion, layout and allocation, so that each is one launch; what is
 * not here runs by these, by other kernels, or on the host. `backplane conform gaps` says what to write next. */
#include <math.h>

#include <backplane/generated/schemas.h>

#include "acme.h"

static bp_code run_add(void* self, const bp_call* call) {
  const float *a = acme_elements(call->args[0].u.tensor),
              *b = acme_elements(call->args[1].u.tensor);
  const bp_value* number = &call->args[2];
  const float alpha = (float)(number->tag == BP_DOUBLE ? number->u.f : (double)number->u.i);
  float* out = acme_elements(call->outputs[0]);
  (void)self;
  for (int64_t i = 0; i < call->outputs[0]->numel; ++i) out[i] = a[i] + alpha * b[i];
  return BP_OK;
}

static bp_code run_mul(void* self, const bp_call* call) {
  const float *a = acme_elements(call->args[0].u.tensor),
              *b = acme_elements(call->args[1].u.tensor);
  float* out = acme_elements(call->outputs[0]);
  (void)self;
  for (int64_t i = 0; i < call->outputs[0]->numel; ++i) out[i] = a[i] * b[i];
  return BP_OK;
}

static bp_code run_exp(void* self, const bp_call* call) {
  const float* a = acme_elements(call->args[0].u.tensor);
  float* out = acme_elements(call->outputs[0]);
  (void)self;
  for (int64_t i = 0; i < call->outputs[0]->numel; ++i) out[i] = expf(a[i]);
  return BP_OK;
}

static bp_code run_relu(void* self, const bp_call* call) {
  const float* a = acme_elements(call->args[0].u.tensor);
  float* out = acme_elements(call->outputs[0]);
  (void)self;
  for (int64_t i = 0; i < call->outputs[0]->numel; ++i)
    out[i] = a[i] > 0 || isnan(a[i]) ? a[i] : 0; /* NaN stays NaN */
  return BP_OK;
}

/* Of the schema's arguments, then of the output. */
static const bp_arg add_places[] = {ACME_F32, ACME_F32, {0}, ACME_F32};
static const bp_arg two_places[] = {ACME_F32, ACME_F32, ACME_F32};
static const bp_arg one_place[] = {ACME_F32, ACME_F32};

#define KERNEL(row, places, function)                                           \
  {                                                                             \
    .h = {sizeof(bp_kernel), BP_TYPE_KERNEL, NULL}, .op = #row,                 \
    .schema_hash = BP_SCHEMA_HASH_##row, .args = places,                        \
    .num_args = sizeof places / sizeof places[0],                               \
    .flags = BP_KERNEL_DETERMINISTIC | BP_KERNEL_IN_PLACE_SAFE, .run = function \
  }

const bp_kernel acme_add = KERNEL(add, add_places, run_add);
const bp_kernel acme_mul = KERNEL(mul, two_places, run_mul);
const bp_kernel acme_exp = KERNEL(exp, one_place, run_exp);
const bp_kernel acme_relu = KERNEL(relu, one_place, run_relu);
