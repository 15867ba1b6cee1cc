/* Tensors: over memory of several owners, read, written, copied between devices, lent to other frameworks. */
#include <string.h>

#include "caller.h"

static const float six[6] = {1, 2, 3, 4, 5, 6};

static void say_what_they_are(uint32_t device) {
  bp_tensor *rows = made(device, 2, 3, six), *columns = NULL;
  EXPECT(rows->dtype == BP_F32 && rows->itemsize == 4 && rows->numel == 6);
  EXPECT(rows->device == device && rows->dl.ndim == 2);
  EXPECT(rows->dl.shape[0] == 2 && rows->dl.shape[1] == 3);
  EXPECT(rows->dl.strides[0] == 3 && rows->dl.strides[1] == 1);
  EXPECT(rows->flags & BP_LAYOUT_CONTIGUOUS);

  /* By columns: written and read in the order of rows all the same. */
  const int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
  EXPECT_OK(bp->empty(BP_F32, 2, shape, strides, device, &columns));
  EXPECT(!(columns->flags & BP_LAYOUT_CONTIGUOUS));
  EXPECT_OK(bp->write(columns, six, sizeof six));
  EXPECT(has_values(columns, six, 6));
  bp->release(rows);
  bp->release(columns);

  bp_tensor* scalar = NULL;
  EXPECT_OK(bp->empty(BP_I64, 0, NULL, NULL, device, &scalar));
  EXPECT(scalar->dl.ndim == 0 && scalar->numel == 1);
  bp->release(scalar);
}

static void count_down(void* context) {
  --*(int*)context;
}

/* The caller's own memory: in place, and given back once. */
static void over_memory(uint32_t device) {
  float memory[6] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[1] = {3}, strides[1] = {2}, huge[1] = {INT64_MAX};
  int held = 1;
  bp_tensor *tensor = NULL, *sum = NULL;
  bp_device_info info = {.h = {.size = sizeof info}};
  EXPECT_OK(bp->describe_device(device, &info));
  if (!(info.flags & BP_DEVICE_HOST_READABLE)) {
    EXPECT_ERROR(
        bp->tensor_from_blob(memory, BP_F32, 1, shape, NULL, device, count_down, &held, &tensor),
        BP_BAD_ARGUMENT, "tensor_from_blob: the handles of reference:0 are not addresses");
    EXPECT(held == 1 && tensor == NULL);
    return;
  }
  EXPECT_OK(bp->tensor_from_blob(memory + 1, BP_F32, 1, shape, strides, device, count_down, &held,
                                 &tensor));
  void* address = NULL;
  EXPECT_OK(bp->data_ptr(tensor, &address));
  EXPECT(address == memory + 1);
  EXPECT(has_values(tensor, (const float[]){2, 4, 6}, 3));

  const bp_value args[2] = {of_tensor(tensor), of_tensor(tensor)};
  EXPECT_OK(bp->call(op_of("add"), args, 2, &sum, 1));
  bp->retain(tensor);
  bp->release(tensor);
  EXPECT(held == 1);
  EXPECT_OK(bp->call(op_of("add"), args, 2, &tensor, 1)); /* into itself */
  EXPECT(memory[1] == 4 && memory[3] == 8 && memory[2] == 3);
  bp->release(tensor);
  EXPECT_OK(bp->synchronize(device));
  EXPECT(held == 0 && has_values(sum, (const float[]){4, 8, 12}, 3));
  bp->release(sum);

  EXPECT_ERROR(bp->tensor_from_blob(NULL, BP_F32, 1, shape, NULL, device, NULL, NULL, &tensor),
               BP_BAD_ARGUMENT, "data is null");
  EXPECT_ERROR(
      bp->tensor_from_blob((char*)memory + 1, BP_F32, 1, shape, NULL, device, NULL, NULL, &tensor),
      BP_BAD_ARGUMENT, "multiple of the 4 bytes");
  EXPECT_ERROR(bp->empty(BP_F32, 1, huge, NULL, device, &tensor), BP_BAD_ARGUMENT, "empty: ");
  EXPECT(tensor == NULL);
}

static void between_devices(uint32_t device) {
  uint32_t cpu = 0;
  EXPECT_OK(bp->find_device("cpu:0", &cpu));
  bp_tensor *here = made(device, 2, 3, six), *there = NULL, *back = NULL;
  EXPECT_OK(bp->to(here, cpu, &there));
  EXPECT(there->device == cpu && has_values(there, six, 6));
  EXPECT_OK(bp->to(there, device, &back));
  EXPECT(back->device == device && has_values(back, six, 6));
  EXPECT((there == here) == (device == cpu)); /* the same tensor where it is there already */
  bp->release(back);

  /* Broadcast and cast, from any device, into what exists. */
  bp_tensor *row = made(cpu, 0, 3, (const float[]){7, 8, 9}), *doubles = NULL;
  const int64_t shape[2] = {2, 3};
  double found[6] = {0};
  EXPECT_OK(bp->empty(BP_F64, 2, shape, NULL, device, &doubles));
  EXPECT_OK(bp->copy(doubles, row));
  EXPECT_OK(bp->read(doubles, found, sizeof found));
  EXPECT(found[0] == 7 && found[2] == 9 && found[3] == 7);
  EXPECT_ERROR(bp->copy(row, doubles), BP_BAD_ARGUMENT, "copy: ");
  EXPECT_ERROR(bp->copy(row, NULL), BP_BAD_ARGUMENT, "copy: 'source' is NULL");
  EXPECT_ERROR(bp->to(here, 200, &back), BP_BAD_ARGUMENT, "200");
  EXPECT(back == NULL);
  bp->release(doubles);
  bp->release(row);
  bp->release(there);
  EXPECT_OK(bp->to(here, device, &back));
  EXPECT(back == here);
  bp->release(back);
  bp->release(here);
}

static void refuse(uint32_t device) {
  bp_tensor* tensor = made(device, 2, 3, six);
  float room[7];
  void* address = room;
  EXPECT_ERROR(bp->read(tensor, room, sizeof room), BP_BAD_ARGUMENT,
               "read: the memory has 28 bytes, and the 6 elements of float32 have 24");
  EXPECT_ERROR(bp->write(tensor, NULL, 24), BP_BAD_ARGUMENT, "write: 'memory' is NULL");
  EXPECT_ERROR(bp->read(NULL, room, 24), BP_BAD_ARGUMENT, "read: 'tensor' is NULL");
  EXPECT_ERROR(bp->data_ptr(NULL, &address), BP_BAD_ARGUMENT, "data_ptr: 'tensor' is NULL");
  EXPECT(address == NULL);
  bp->release(tensor);

  const int64_t shape[17] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, negative[1] = {-1};
  EXPECT_ERROR(bp->empty(BP_NUM_DTYPES, 1, shape, NULL, device, &tensor), BP_BAD_ARGUMENT,
               "empty: 17 is not the number of a dtype");
  EXPECT_ERROR(bp->empty(BP_F32, 17, shape, NULL, device, &tensor), BP_BAD_ARGUMENT, "17");
  EXPECT_ERROR(bp->empty(BP_F32, 1, negative, NULL, device, &tensor), BP_BAD_ARGUMENT, "-1");
  EXPECT_ERROR(bp->empty(BP_F32, 1, NULL, NULL, device, &tensor), BP_BAD_ARGUMENT,
               "empty: 'shape' is NULL");
  EXPECT_ERROR(bp->empty(BP_F32, 1, shape, NULL, 200, &tensor), BP_BAD_ARGUMENT, "200");
  EXPECT_ERROR(bp->empty(BP_F32, 1, shape, NULL, device, NULL), BP_BAD_ARGUMENT,
               "empty: 'out' is NULL");
  bp->retain(NULL);
  bp->release(NULL);
}

/* DLPack's struct, as far as a consumer reads it here. */
typedef struct Managed {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct Managed* self);
  uint64_t flags;
  bp_dl_tensor tensor;
} Managed;

static void lend(uint32_t device) {
  bp_tensor *tensor = made(device, 2, 3, six), *back = NULL;
  struct DLManagedTensorVersioned* lent = NULL;
  EXPECT_OK(bp->to_dlpack(tensor, &lent));
  Managed* managed = (Managed*)lent;
  EXPECT(managed->major == 1 && managed->tensor.ndim == 2 && managed->tensor.shape[1] == 3);
  EXPECT_OK(bp->from_dlpack(lent, 0, &back));
  bp->release(tensor);
  EXPECT(has_values(back, six, 6));
  EXPECT_OK(bp->to_dlpack(back, &lent));
  bp->release(back);
  managed = (Managed*)lent;
  managed->deleter(managed); /* by who borrowed it */
  EXPECT_ERROR(bp->from_dlpack(NULL, 0, &back), BP_BAD_ARGUMENT, "from_dlpack: ");
  EXPECT_ERROR(bp->to_dlpack(NULL, &lent), BP_BAD_ARGUMENT, "to_dlpack: 'tensor' is NULL");
  EXPECT(lent == NULL);
}

void try_tensors(uint32_t device) {
  say_what_they_are(device);
  over_memory(device);
  between_devices(device);
  refuse(device);
  lend(device);
}
