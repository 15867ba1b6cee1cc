/* The batched matrix product: matmul, linear and many others come down to it. */
#include <backplane/generated/schemas.h>

#include "acme.h"

/* [batch, m, k] by [batch, k, n] into [batch, m, n], row-major. */
static bp_code run_bmm(void* self, const bp_call* call) {
  const bp_tensor *a = call->args[0].u.tensor, *b = call->args[1].u.tensor;
  const int64_t batches = a->dl.shape[0], m = a->dl.shape[1], k = a->dl.shape[2],
                n = b->dl.shape[2];
  const float *left = acme_elements(a), *right = acme_elements(b);
  float* out = acme_elements(call->outputs[0]);
  (void)self;
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        float total = 0;
        for (int64_t i = 0; i < k; ++i)
          total += left[(batch * m + row) * k + i] * right[(batch * k + i) * n + column];
        out[(batch * m + row) * n + column] = total;
      }
  return BP_OK;
}

static const bp_arg places[] = {ACME_F32, ACME_F32, ACME_F32};

const bp_kernel acme_bmm = {.h = {sizeof(bp_kernel), BP_TYPE_KERNEL, NULL},
                            .op = "bmm",
                            .schema_hash = BP_SCHEMA_HASH_bmm,
                            .args = places,
                            .num_args = 3,
                            .flags = BP_KERNEL_DETERMINISTIC,
                            .run = run_bmm};
