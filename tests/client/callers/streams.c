/* Streams: made, current on a thread, ordered, released. */
#include "caller.h"

static const float ones[2] = {1, 1};

static void number_them(uint32_t device) {
  uint32_t stream = 9, current = 9, is_idle = 9;
  EXPECT_OK(bp->current_stream(device, &current));
  EXPECT(current == 0);
  EXPECT_OK(bp->create_stream(device, 0, &stream));
  EXPECT_OK(bp->set_stream(device, stream));
  EXPECT_OK(bp->current_stream(device, &current));
  EXPECT(current == stream);

  bp_tensor *a = made(device, 0, 2, ones), *sum = NULL;
  EXPECT_OK(bp->call(op_of("add"), (bp_value[]){of_tensor(a), of_tensor(a)}, 2, &sum, 1));
  EXPECT_OK(bp->synchronize_stream(device, stream));
  EXPECT_OK(bp->query_stream(device, stream, &is_idle));
  EXPECT(is_idle == 1);

  /* Work of the device's own stream after that of the other one. */
  EXPECT_OK(bp->wait_stream(device, 0, stream));
  EXPECT_OK(bp->set_stream(device, 0));
  EXPECT_OK(bp->current_stream(device, &current));
  EXPECT(current == 0 && has_values(sum, (const float[]){2, 2}, 2));
  bp->release(sum);
  bp->release(a);
  EXPECT_OK(bp->synchronize(device));
  EXPECT_OK(bp->release_stream(device, stream));
  EXPECT_OK(bp->release_stream(device, 0));
  if (stream != 0)
    EXPECT_ERROR(bp->release_stream(device, stream), BP_BAD_ARGUMENT,
                 "create_stream gave no stream");
}

/* Two streams that hand a tensor on, many times: each waits for the other. */
static void order_them(uint32_t device) {
  uint32_t pair[2] = {0, 0};
  EXPECT_OK(bp->create_stream(device, 0, &pair[0]));
  EXPECT_OK(bp->create_stream(device, -1, &pair[1]));
  bp_tensor* a = made(device, 0, 2, ones);
  const bp_value args[2] = {of_tensor(a), of_int(1)};
  EXPECT_OK(bp->wait_stream(device, pair[0], 0));
  for (int i = 0; i < 40; ++i) {
    EXPECT_OK(bp->set_stream(device, pair[i % 2]));
    EXPECT_OK(bp->call(op_of("add"), args, 2, &a, 1));
    EXPECT_OK(bp->wait_stream(device, pair[(i + 1) % 2], pair[i % 2]));
  }
  EXPECT_OK(bp->set_stream(device, 0));
  EXPECT_OK(bp->wait_stream(device, 0, pair[1]));
  EXPECT(has_values(a, (const float[]){41, 41}, 2));
  bp->release(a);
  EXPECT_OK(bp->synchronize(device));
  EXPECT_OK(bp->release_stream(device, pair[0]));
  EXPECT_OK(bp->release_stream(device, pair[1]));
}

static void refuse(uint32_t device) {
  uint32_t stream = 9;
  EXPECT_ERROR(bp->set_stream(device, 12345), BP_BAD_ARGUMENT, "stream 12345 of ");
  EXPECT_ERROR(bp->synchronize_stream(device, 12345), BP_BAD_ARGUMENT, "is not in use");
  EXPECT_ERROR(bp->query_stream(device, 12345, &stream), BP_BAD_ARGUMENT, "is not in use");
  EXPECT_ERROR(bp->wait_stream(device, 0, 12345), BP_BAD_ARGUMENT, "is not in use");
  EXPECT_ERROR(bp->release_stream(device, 12345), BP_BAD_ARGUMENT,
               "create_stream gave no stream 12345");
  EXPECT_ERROR(bp->create_stream(200, 0, &stream), BP_BAD_ARGUMENT, "200");
  EXPECT(stream == 0);
  EXPECT_ERROR(bp->current_stream(device, NULL), BP_BAD_ARGUMENT, "'stream' is NULL");
  EXPECT_OK(bp->current_stream(device, &stream));
  EXPECT(stream == 0);
}

void try_streams(uint32_t device) {
  number_them(device);
  order_them(device);
  refuse(device);
}
