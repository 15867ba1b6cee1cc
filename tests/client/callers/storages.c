/* Storages: for callers that have tensors of their own, and Backplane's memory behind them. */
#include "caller.h"

static void make_tensors_over_one(uint32_t device) {
  bp_storage *storage = NULL, *same = NULL;
  bp_tensor *all = NULL, *odd = NULL, *doubles = NULL;
  const int64_t six[1] = {6}, three[1] = {3}, every_second[1] = {2};
  EXPECT_OK(bp->allocate_storage(device, 24, &storage));
  EXPECT_OK(bp->tensor_over_storage(storage, BP_F32, 1, six, NULL, 0, &all));
  EXPECT_OK(bp->tensor_over_storage(storage, BP_F32, 1, three, every_second, 1, &odd));
  EXPECT_OK(bp->write(all, (const float[]){1, 2, 3, 4, 5, 6}, 24));
  EXPECT(has_values(odd, (const float[]){2, 4, 6}, 3));
  EXPECT_OK(bp->tensor_over_storage(storage, BP_F64, 1, three, NULL, 0, &doubles));
  EXPECT(doubles->itemsize == 8 && doubles->dl.data == all->dl.data);

  bp_storage_info info = {.h = {.size = sizeof info, .type = BP_TYPE_STORAGE_INFO}};
  EXPECT_OK(bp->describe_storage(storage, &info));
  EXPECT(info.bytes >= 24 && info.device == device && info.space == 0 && info.handle != 0);
  void* address = NULL;
  if (bp->data_ptr(all, &address) != BP_OK) address = NULL; /* the host cannot read it */
  EXPECT(info.address == address);

  /* A tensor names its storage; the memory lives as long as one of them. */
  EXPECT_OK(bp->storage_of(odd, &same));
  EXPECT(same == storage);
  bp->release_storage(same);
  bp->retain_storage(storage);
  bp->release_storage(storage);
  bp->release_storage(storage);
  bp->release(all);
  bp->release(doubles);
  EXPECT(has_values(odd, (const float[]){2, 4, 6}, 3));
  bp->release(odd);
}

static void refuse(uint32_t device) {
  bp_storage *storage = NULL, *none = NULL;
  bp_tensor* tensor = NULL;
  bp_storage_info info = {.h = {.size = sizeof info}};
  EXPECT_OK(bp->allocate_storage(device, 64, &storage));
  EXPECT_OK(bp->describe_storage(storage, &info));
  const int64_t more[1] = {(int64_t)(info.bytes / 4) + 1}, one[1] = {1};
  EXPECT_ERROR(bp->tensor_over_storage(storage, BP_F32, 1, more, NULL, 0, &tensor), BP_BAD_ARGUMENT,
               "reaches past the storage");
  EXPECT_ERROR(bp->tensor_over_storage(storage, BP_F32, 1, one, NULL, -1, &tensor), BP_BAD_ARGUMENT,
               "reaches past the storage");
  EXPECT_ERROR(bp->tensor_over_storage(NULL, BP_F32, 1, one, NULL, 0, &tensor), BP_BAD_ARGUMENT,
               "the storage is null");
  EXPECT(tensor == NULL);
  EXPECT_ERROR(bp->describe_storage(storage, NULL), BP_BAD_ARGUMENT, "'out' is NULL");
  bp->release_storage(storage);
  bp->release_storage(NULL);

  EXPECT_OK(bp->empty(BP_F32, 1, one, NULL, 0, &tensor)); /* on meta */
  EXPECT_ERROR(bp->storage_of(tensor, &none), BP_BAD_ARGUMENT, "no memory (it is on meta)");
  EXPECT_ERROR(bp->allocate_storage(0, 8, &none), BP_BAD_ARGUMENT, "meta has no memory");
  EXPECT_ERROR(bp->allocate_storage(device, UINT64_MAX / 2, &none), BP_OUT_OF_MEMORY, "");
  EXPECT(none == NULL);
  bp->release(tensor);
  EXPECT_OK(bp->allocate_storage(device, 0, &storage)); /* of no bytes; and the next call works */
  bp->release_storage(storage);
}

void try_storages(uint32_t device) {
  make_tensors_over_one(device);
  refuse(device);
}
