// needs: cpu
// Batches in pinned memory, on the plugin `npu`, which keeps accounts of it; and on a device that has none.
#include <backplane/dispatcher/pinned.hpp>
#include <backplane/loading/loader.hpp>

#include "data/loaders.hpp"

namespace bp::test {
namespace {

Device npu_device() {
  const Backend& backend = load_plugin(BP_TEST_PLUGIN_DIR "/libbackplane_npu.so");
  return backend.devices.front()->device;
}

TEST(PinnedBatches, are_in_memory_of_the_device_whatever_the_workers) {
  for (const Workers& workers :
       {Workers{0, WorkerKind::thread}, {2, WorkerKind::thread}, {2, WorkerKind::process}}) {
    DataLoaderOptions options = with({.batch_size = 2}, workers);
    options.pin_memory = npu_device();
    DataLoader loader(counted_dataset(5), options);
    DataLoader plain(counted_dataset(5), with({.batch_size = 2}, workers));
    int num_pinned = 0;
    for (const Batch& batch : loader)
      num_pinned += is_pinned(batch.as_list()[1].as_tensor(), npu_device());
    EXPECT_EQ(num_pinned, 3) << workers;
    EXPECT_EQ(told_epoch(loader), told_epoch(plain));
  }
}

TEST(PinnedBatches, are_ordinary_where_the_device_has_no_such_memory) {
  DataLoader loader(counted_dataset(4), {.batch_size = 2, .pin_memory = device("cpu")});
  EXPECT_EQ(told_epoch(loader).size(), 2u);
}

}  // namespace
}  // namespace bp::test
