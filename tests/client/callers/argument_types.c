/* Every type of argument that a schema can have. */
#include <string.h>

#include "caller.h"

static const float six[6] = {1, 2, 3, 4, 5, 6};

static bp_tensor* result_of(const char* op, const bp_value* args, uint32_t num_args) {
  bp_tensor* result = NULL;
  EXPECT_OK(bp->call(op_of(op), args, num_args, &result, 1));
  return result;
}

static void lists_of_tensors(uint32_t device) {
  bp_tensor *a = made(device, 0, 2, six), *b = made(device, 0, 3, six + 2);
  const bp_tensor* both[2] = {a, b};
  const bp_value list = {.tag = BP_TENSOR_LIST, .aux = 2, .u = {.ptr = both}};
  bp_tensor* joined = result_of("cat", &list, 1);
  EXPECT(has_values(joined, (const float[]){1, 2, 3, 4, 5}, 5));
  bp->release(joined);

  /* With a hole, which is NULL. */
  const int64_t shape[1] = {1}, place[1] = {2};
  bp_tensor *grid = made(device, 2, 3, six), *index = NULL;
  EXPECT_OK(bp->empty(BP_I64, 1, shape, NULL, device, &index));
  EXPECT_OK(bp->write(index, place, sizeof place));
  const bp_tensor* places[2] = {NULL, index};
  const bp_value indices = {.tag = BP_TENSOR_LIST, .aux = 2, .u = {.ptr = places}};
  bp_tensor* column = result_of("index", (bp_value[]){of_tensor(grid), indices}, 2);
  EXPECT(has_values(column, (const float[]){3, 6}, 2));
  bp->release(column);
  bp->release(index);
  bp->release(grid);
  bp->release(b);
  bp->release(a);
}

static void absent_and_optional(uint32_t device) {
  const int64_t last[1] = {3};
  const float zero = 0, one = 1;
  bp_tensor *a = made(device, 2, 3, six), *weight = made(device, 0, 3, (const float[]){2, 2, 2});
  bp_tensor* plain = result_of("layer_norm", (bp_value[]){of_tensor(a), of_list(last, 1)}, 2);
  bp_tensor* scaled = result_of(
      "layer_norm",
      (bp_value[]){of_tensor(a), of_list(last, 1), of_tensor(weight), {.tag = BP_NONE}, of_int(0)},
      5);
  float found[6] = {0}, twice[6] = {0};
  EXPECT_OK(bp->read(plain, found, sizeof found));
  EXPECT_OK(bp->read(scaled, twice, sizeof twice));
  EXPECT(found[1] == zero && found[2] > one && twice[2] > 2 * found[2] - 1e-3f);
  bp->release(scaled);
  bp->release(plain);
  bp->release(weight);
  bp->release(a);
}

static void dtypes_devices_numbers(uint32_t device) {
  const int64_t shape[2] = {2, 2};
  const bp_value args[4] = {of_list(shape, 2), of_bool(1), of_dtype(BP_BOOL), of_device(device)};
  bp_tensor* truths = result_of("full", args, 4);
  EXPECT(truths->dtype == BP_BOOL && truths->device == device && truths->numel == 4);
  bp->release(truths);

  const double i[2] = {0, 1};
  const bp_value complex[4] = {of_list(shape, 2),
                               {.tag = BP_COMPLEX, .u = {.ptr = i}},
                               of_dtype(BP_COMPLEX64),
                               of_device(device)};
  bp_tensor* units = result_of("full", complex, 4);
  float parts[8] = {0};
  EXPECT_OK(bp->read(units, parts, sizeof parts));
  EXPECT(parts[0] == 0 && parts[1] == 1);
  bp->release(units);

  /* The largest unsigned numbers have a sign of their own. */
  const bp_value top[4] = {of_list(shape, 2),
                           {.tag = BP_INT, .aux = 1, .u = {.i = -1}},
                           of_dtype(BP_U64),
                           of_device(device)};
  bp_tensor* largest = result_of("full", top, 4);
  uint64_t numbers[4] = {0};
  EXPECT_OK(bp->read(largest, numbers, sizeof numbers));
  EXPECT(numbers[3] == UINT64_MAX);
  bp->release(largest);
}

static void strings(uint32_t device) {
  const char* mean = "mean, and more than that";
  bp_tensor *a = made(device, 1, 2, six), *b = made(device, 1, 2, six + 1), *target = NULL,
            *loss = NULL;
  const int64_t shape[1] = {1};
  EXPECT_OK(bp->empty(BP_F32, 1, shape, NULL, device, &target));
  EXPECT_OK(bp->write(target, six, 4));
  bp_value args[5] = {of_tensor(a),
                      of_tensor(b),
                      of_tensor(target),
                      default_value(),
                      {.tag = BP_STRING, .aux = 4, .u = {.ptr = mean}}};
  EXPECT_OK(bp->call(op_of("cosine_embedding_loss"), args, 5, &loss, 1));
  EXPECT(loss && loss->numel == 1);
  bp->release(loss);
  loss = NULL;
  args[4].aux = (uint32_t)strlen(mean);
  EXPECT_ERROR(bp->call(op_of("cosine_embedding_loss"), args, 5, &loss, 1), BP_BAD_ARGUMENT,
               "mean, and more than that");
  bp->release(target);
  bp->release(b);
  bp->release(a);
}

static void generators(uint32_t device) {
  const int64_t shape[1] = {4};
  bp_generator generator = {
      .h = {.size = sizeof generator, .type = BP_TYPE_GENERATOR}, .seed = 7, .offset = 40};
  bp_value args[4] = {of_list(shape, 1),
                      default_value(),
                      of_device(device),
                      {.tag = BP_GENERATOR, .u = {.ptr = &generator}}};
  float first[4], again[4], later[4], whole[4];
  bp_tensor* draw = result_of("rand", args, 4);
  EXPECT_OK(bp->read(draw, first, sizeof first));
  bp->release(draw);
  draw = result_of("rand", args, 4); /* from the same place: the caller's own is not advanced */
  EXPECT_OK(bp->read(draw, again, sizeof again));
  bp->release(draw);
  generator.offset += 4; /* past them: a step for each element */
  draw = result_of("rand", args, 4);
  EXPECT_OK(bp->read(draw, later, sizeof later));
  bp->release(draw);
  EXPECT(memcmp(first, again, sizeof first) == 0 && memcmp(first, later, sizeof first) != 0);
  EXPECT(generator.seed == 7 && generator.offset == 44);

  /* Without one the device's own is advanced, from its seed. */
  EXPECT_OK(bp->manual_seed(3));
  draw = result_of("rand", args, 3);
  EXPECT_OK(bp->read(draw, first, sizeof first));
  bp->release(draw);
  draw = result_of("rand", args, 3);
  EXPECT_OK(bp->read(draw, again, sizeof again));
  bp->release(draw);
  EXPECT_OK(bp->manual_seed(3));
  draw = result_of("rand", args, 3);
  EXPECT_OK(bp->read(draw, whole, sizeof whole));
  bp->release(draw);
  EXPECT(memcmp(first, whole, sizeof first) == 0 && memcmp(first, again, sizeof first) != 0);
}

void try_argument_types(uint32_t device) {
  lists_of_tensors(device);
  absent_and_optional(device);
  dtypes_devices_numbers(device);
  strings(device);
  generators(device);
}
