/* The smallest program in C: two rows of scores become probabilities, on any device. */
#include <stdio.h>

#include <backplane/backplane_client.h>

static const bp_client* bp;

static int fail(void) {
  fprintf(stderr, "hello_c: %s\n", bp ? bp->error_message() : "libbackplane is too old");
  return 1;
}

int main(int argc, char** argv) {
  if (bp_get_client_v1(BP_CLIENT_LEVEL, &bp) != BP_OK) return fail();

  uint32_t device;
  if (bp->find_device(argc > 1 ? argv[1] : "cpu:0", &device) != BP_OK) return fail();

  const float values[4] = {1, 2, 3, 5};
  const int64_t shape[2] = {2, 2};
  bp_tensor* scores;
  if (bp->empty(BP_F32, 2, shape, NULL, device, &scores) != BP_OK) return fail();
  if (bp->write(scores, values, sizeof values) != BP_OK) return fail();

  const bp_operator* softmax; /* softmax(Tensor input, int dim, *, Dtype? dtype=None) -> Tensor */
  if (bp->find_operator("softmax", &softmax) != BP_OK) return fail();
  const bp_value args[2] = {{.tag = BP_TENSOR, .u.tensor = scores}, {.tag = BP_INT, .u.i = -1}};
  bp_tensor* result = NULL; /* a new tensor; one that is not NULL would be written into */
  if (bp->call(softmax, args, 2, &result, 1) != BP_OK) return fail();

  float found[4];
  if (bp->read(result, found, sizeof found) != BP_OK) return fail();
  const char* name;
  if (bp->device_name(device, &name) != BP_OK) return fail();
  printf("%.4f %.4f\n%.4f %.4f on %s\n", found[0], found[1], found[2], found[3], name);

  bp->release(result);
  bp->release(scores);
  return 0;
}
