/* Calls: results that are new, given (out=) or an argument; several, and as many as the call says. */
#include <string.h>

#include "caller.h"

static const float six[6] = {1, 2, 3, 4, 5, 6};

static void add(uint32_t device) {
  const bp_operator* op = op_of("add");
  EXPECT(strcmp(op->name, "add") == 0 && strstr(op->schema, "alpha") != NULL);
  bp_tensor *a = made(device, 2, 3, six), *out = made(device, 2, 3, six), *sum = NULL;
  bp_value args[3] = {of_tensor(a), of_tensor(a), of_double(10)};
  EXPECT_OK(bp->call(op, args, 2, &sum, 1));
  EXPECT(has_values(sum, (const float[]){2, 4, 6, 8, 10, 12}, 6));

  uint32_t alpha = 0;
  EXPECT_OK(bp->find_argument(op, "alpha", &alpha));
  EXPECT(alpha == 2);
  bp_tensor* given = out;
  EXPECT_OK(bp->call(op, args, 3, &given, 1)); /* out= */
  EXPECT(given == out && has_values(out, (const float[]){11, 22, 33, 44, 55, 66}, 6));
  args[2] = default_value();
  EXPECT_OK(bp->call(op, args, 3, &given, 1));
  EXPECT(has_values(out, (const float[]){2, 4, 6, 8, 10, 12}, 6));

  args[1] = of_int(1); /* a number in place of a tensor, and into the argument itself */
  given = a;
  EXPECT_OK(bp->call(op, args, 2, &given, 1));
  EXPECT(has_values(a, (const float[]){2, 3, 4, 5, 6, 7}, 6));
  bp->release(a);
  bp->release(out);
  bp->release(sum);
}

static void multiply_and_sum(uint32_t device) {
  bp_tensor *a = made(device, 2, 3, six), *b = made(device, 3, 2, six), *product = NULL;
  const int64_t none[1] = {0}, dims[1] = {0};
  bp_tensor *out = NULL, *total = NULL;
  EXPECT_OK(bp->call(op_of("matmul"), (bp_value[]){of_tensor(a), of_tensor(b)}, 2, &product, 1));
  EXPECT(has_values(product, (const float[]){22, 28, 49, 64}, 4));

  /* An output without elements takes the result's shape. */
  EXPECT_OK(bp->empty(BP_F32, 1, none, NULL, device, &out));
  bp_tensor* given = out;
  EXPECT_OK(bp->call(op_of("matmul"), (bp_value[]){of_tensor(a), of_tensor(b)}, 2, &given, 1));
  EXPECT(given == out && out->dl.ndim == 2 && has_values(out, (const float[]){22, 28, 49, 64}, 4));

  const bp_operator* sum = op_of("sum");
  EXPECT_OK(bp->call(sum, (bp_value[]){of_tensor(a)}, 1, &total, 1));
  EXPECT(total->dl.ndim == 0 && has_values(total, (const float[]){21}, 1));
  bp->release(total);
  total = NULL;
  EXPECT_OK(bp->call(sum,
                     (bp_value[]){of_tensor(a), of_list(dims, 1), of_bool(1), of_dtype(BP_F64)}, 4,
                     &total, 1));
  double columns[3] = {0};
  EXPECT(total->dtype == BP_F64 && total->dl.ndim == 2 && total->dl.shape[0] == 1);
  EXPECT_OK(bp->read(total, columns, sizeof columns));
  EXPECT(columns[0] == 5 && columns[1] == 7 && columns[2] == 9);
  bp->release(total);
  bp->release(out);
  bp->release(product);
  bp->release(b);
  bp->release(a);
}

static void have_several_results(uint32_t device) {
  bp_tensor* a = made(device, 2, 3, six);
  bp_tensor* two[2] = {NULL, NULL};
  uint32_t count = 0;
  const bp_value largest[2] = {of_tensor(a), of_int(1)};
  EXPECT_OK(bp->count_results(op_of("topk"), largest, 2, &count));
  EXPECT(count == 2);
  EXPECT_OK(bp->call(op_of("topk"), largest, 2, two, 2));
  EXPECT(has_values(two[0], (const float[]){3, 6}, 2) && two[1]->dtype == BP_I64);
  /* One given, one new. */
  bp_tensor* values = two[0];
  bp->release(two[1]);
  two[1] = NULL;
  EXPECT_OK(bp->call(op_of("topk"), largest, 2, two, 2));
  EXPECT(two[0] == values && two[1] != NULL);
  bp->release(two[0]);
  bp->release(two[1]);

  /* A Tensor[]: as many as the arguments say. */
  bp_tensor* columns[8] = {NULL};
  const bp_value along[2] = {of_tensor(a), of_int(1)};
  EXPECT_OK(bp->count_results(op_of("unbind"), along, 2, &count));
  EXPECT(count == 3);
  EXPECT_OK(bp->call(op_of("unbind"), along, 2, columns, 3));
  EXPECT(has_values(columns[2], (const float[]){3, 6}, 2));
  EXPECT(columns[2]->dl.data == a->dl.data); /* views, which keep the memory */
  bp->release(a);
  EXPECT(has_values(columns[1], (const float[]){2, 5}, 2));
  for (int i = 0; i < 3; ++i) bp->release(columns[i]);
}

static void fail_without_a_trace(uint32_t device) {
  bp_tensor *a = made(device, 2, 3, six), *b = made(device, 2, 2, six), *none = NULL;
  const bp_value args[2] = {of_tensor(a), of_tensor(b)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_ERROR(bp->call(op_of("add"), args, 2, &none, 1), BP_BAD_ARGUMENT,
                 "add: shapes [2, 3] and [2, 2] do not broadcast");
    EXPECT(none == NULL && !bp->error_is_late());
  }
  bp_tensor* given = b;
  EXPECT_ERROR(bp->call(op_of("add"), (bp_value[]){of_tensor(a), of_tensor(a)}, 2, &given, 1),
               BP_BAD_ARGUMENT, "add: the output has shape [2, 2], the result has [2, 3]");
  EXPECT(given == b && has_values(b, six, 4));
  EXPECT_OK(bp->call(op_of("add"), (bp_value[]){of_tensor(a), of_tensor(a)}, 2, &none, 1));
  EXPECT(has_values(none, (const float[]){2, 4, 6, 8, 10, 12}, 6));
  bp->release(none);
  bp->release(b);
  bp->release(a);
}

void try_calls(uint32_t device) {
  add(device);
  multiply_and_sum(device);
  have_several_results(device);
  fail_without_a_trace(device);
}
