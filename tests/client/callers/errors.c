/* What a caller may get wrong in a call: each has a code and a sentence, and the next call works. */
#include <string.h>

#include "caller.h"

static bp_tensor* a = NULL;
static bp_tensor* none = NULL;

static void next_call_works(void) {
  bp_tensor* sum = NULL;
  EXPECT(none == NULL);
  EXPECT_OK(bp->call(op_of("add"), (bp_value[]){of_tensor(a), of_tensor(a)}, 2, &sum, 1));
  EXPECT(has_values(sum, (const float[]){2, 4}, 2));
  bp->release(sum);
}

static void fails(const char* op, const bp_value* args, uint32_t num_args, const char* words) {
  EXPECT_ERROR(bp->call(op_of(op), args, num_args, &none, 1), BP_BAD_ARGUMENT, words);
  next_call_works();
}

static void arguments(void) {
  const bp_value tensor = of_tensor(a), nothing = {.tag = BP_NONE};
  const bp_tensor* hole[1] = {NULL};
  fails("add", &tensor, 1, "add: argument 'other' is missing; the schema is add(Tensor input");
  fails("add", (bp_value[]){tensor, tensor, of_int(1), tensor}, 4, "add: takes 3 arguments, got 4");
  fails("add", (bp_value[]){of_tensor(NULL), tensor}, 2, "argument 'input' is a Tensor at NULL");
  fails("add", (bp_value[]){nothing, tensor}, 2, "add: argument 'input' takes Tensor, got None");
  fails("add", (bp_value[]){tensor, default_value()}, 2, "add: argument 'other' is missing");
  fails("add", (bp_value[]){tensor, {.tag = 77}}, 2, "got a value of unknown tag");
  fails("sum", (bp_value[]){tensor, of_int(0)}, 2,
        "sum: argument 'dim' takes int[] or None, got int");
  fails("sum", (bp_value[]){tensor, default_value(), of_bool(2)}, 3, "argument 2 is the boolean 2");
  fails("sum", (bp_value[]){tensor, of_list(NULL, 1)}, 2, "argument 'dim' is a int[] at NULL");
  fails("cast", (bp_value[]){tensor, of_dtype(40)}, 2,
        "cast: 'dtype' is 40, which is not the number of a dtype");
  fails("cast", (bp_value[]){tensor, of_int(BP_F64)}, 2,
        "cast: argument 'dtype' takes Dtype, got int");
  fails("cat", (bp_value[]){{.tag = BP_TENSOR_LIST, .aux = 1, .u = {.ptr = hole}}}, 1, "cat: ");
  const int64_t shape[1] = {2};
  fails("zeros", (bp_value[]){of_list(shape, 1), default_value(), of_device(1u << 20)}, 3,
        "argument 2 is device 1048576, which does not exist");
  bp_generator unset = {.seed = 1};
  fails("rand",
        (bp_value[]){of_list(shape, 1),
                     default_value(),
                     default_value(),
                     {.tag = BP_GENERATOR, .u = {.ptr = &unset}}},
        4, "set h.size to the size of bp_generator");
}

static void results(void) {
  const bp_value two[2] = {of_tensor(a), of_tensor(a)};
  bp_tensor* many[3] = {NULL, NULL, NULL};
  EXPECT_ERROR(bp->call(op_of("add"), two, 2, many, 3), BP_BAD_ARGUMENT,
               "add: there is room for 3 results, and the call has 1");
  EXPECT_ERROR(bp->call(op_of("add"), two, 2, NULL, 1), BP_BAD_ARGUMENT, "call: 'results' is NULL");
  EXPECT_ERROR(bp->call(op_of("add"), two, 2, many, 0), BP_BAD_ARGUMENT, "room for 0 results");
  EXPECT_ERROR(bp->call(op_of("add"), NULL, 2, many, 1), BP_BAD_ARGUMENT, "call: 'args' is NULL");
  EXPECT_ERROR(bp->call(NULL, two, 2, many, 1), BP_BAD_ARGUMENT, "call: 'op' is NULL");
  EXPECT(!many[0] && !many[1] && !many[2]);

  bp_tensor* ints = NULL;
  const int64_t shape[1] = {2};
  EXPECT_OK(bp->empty(BP_I32, 1, shape, NULL, a->device, &ints));
  many[0] = ints;
  EXPECT_ERROR(bp->call(op_of("add"), two, 2, many, 1), BP_BAD_ARGUMENT,
               "add: the result is float32 and cannot be written to an output of int32");
  EXPECT(many[0] == ints);
  bp->release(ints);
  next_call_works();
}

static void names(void) {
  const bp_operator* op = op_of("add");
  uint32_t position = 9;
  EXPECT_ERROR(bp->find_argument(op, "beta", &position), BP_BAD_ARGUMENT,
               "add: there is no argument 'beta'; the schema is");
  EXPECT(position == 0);
  EXPECT_ERROR(bp->find_operator("no_such_row", &op), BP_BAD_ARGUMENT,
               "find_operator: there is no operator 'no_such_row'");
  EXPECT(op == NULL);
  EXPECT_ERROR(bp->find_operator(NULL, &op), BP_BAD_ARGUMENT, "find_operator: 'name' is NULL");
  EXPECT_ERROR(bp->find_operator("add", NULL), BP_BAD_ARGUMENT, "find_operator: 'out' is NULL");
  next_call_works();
}

static void two_devices(void) {
  uint32_t cpu = 0, reference = 0;
  EXPECT_OK(bp->find_device("cpu:0", &cpu));
  EXPECT_OK(bp->find_device("reference:0", &reference));
  bp_tensor* there = made(a->device == cpu ? reference : cpu, 0, 2, (const float[]){1, 2});
  fails("add", (bp_value[]){of_tensor(a), of_tensor(there)}, 2, "move one with to()");
  bp->release(there);
}

void try_errors(uint32_t device) {
  a = made(device, 0, 2, (const float[]){1, 2});
  arguments();
  results();
  names();
  two_devices();
  bp->release(a);
}
