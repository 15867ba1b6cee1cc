// needs: cpu reference_primitives
// DLPack with real backends: the host's memory both ways, and a device that no other framework can read.
#include <thread>

#include <backplane/runtime/dlpack.hpp>
#include <backplane/tensors.hpp>

#include "allocations.hpp"
#include "runtime/dlpack_producer.hpp"

namespace bp::test {
namespace {

// Another framework that passes on what it was lent, under a description of its own.
ManagedVersioned* pass_on(DLManagedTensor* lent) {
  auto* passed = new ManagedVersioned;
  passed->tensor = Managed::of(lent)->tensor;
  passed->context = lent;
  passed->deleter = [](ManagedVersioned* self) {
    auto* from = Managed::of(static_cast<DLManagedTensor*>(self->context));
    from->deleter(from);
    delete self;
  };
  return passed;
}

TEST(DlpackExchange, goes_through_another_framework_and_back_without_a_copy) {
  const Device cpu = device("cpu");
  const std::int64_t before = num_live_storages(cpu);
  {
    const Tensor ours = arange(0, 12, 1, f32, cpu);
    const Tensor back = from_dlpack(pass_on(to_dlpack(transpose(view(ours, {3, 4}), 0, 1)))->get());
    EXPECT_FALSE(back.shares_storage(ours));
    EXPECT_EQ(back.data_ptr(), ours.data_ptr());
    EXPECT_EQ(back.strides()[0], 1);
    fill_(select(back, 0, 3), 50);
    EXPECT_EQ(ours.data<float>()[3], 50);
    EXPECT_EQ(sum(back).data<float>()[0], 0 + 1 + 2 + 4 + 5 + 6 + 8 + 9 + 10 + 3 * 50);
  }
  EXPECT_EQ(num_live_storages(cpu), before);
}

TEST(DlpackExchange, foreign_memory_is_computed_with_and_written_to) {
  Producer<Managed> theirs({1, 2, 3, 4}, {2, 2});
  device("cpu");
  {
    const Tensor ours = from_dlpack(theirs.get());
    add_(ours, ours);
    const Tensor product = matmul(ours, ours);
    EXPECT_EQ(product.data<float>()[3], 88);
  }
  EXPECT_EQ(theirs.values, (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(theirs.num_deleted, 1);
}

TEST(DlpackExchange, a_device_that_nobody_else_can_read_keeps_its_tensors_to_itself) {
  const Device reference = device("reference_primitives");
  const Tensor ours = arange(0, 4, 1, f32, reference);
  DLManagedTensor* lent = to_dlpack(select(ours, 0, 2));
  ManagedVersioned* passed = pass_on(lent);
  EXPECT_EQ(passed->tensor.device.device_type, BP_DL_EXT_DEV);
  DlpackImport options;
  options.device = reference;
  EXPECT_THROW(from_dlpack(passed->get(), options), Error);
  delete passed;
  const Tensor back = from_dlpack(lent);
  EXPECT_TRUE(back.shares_storage(ours));
  EXPECT_EQ(item<float>(back), 2);
}

TEST(DlpackExchange, many_threads_lend_and_give_back) {
  const Device cpu = device("cpu");
  const std::int64_t before = num_live_storages(cpu);
  const Tensor ours = arange(0, 5000, 1, f32, cpu);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        ManagedVersioned* passed = pass_on(to_dlpack(ours));
        std::thread([&] { from_dlpack(passed->get()); }).join();
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(num_live_storages(cpu), before + 1);
}

// A failed import leaves the tensor with the producer, and a failed export leaves nothing.
TEST(DlpackExchange, no_host_memory_is_an_error_that_changes_nothing) {
  const Device cpu = device("cpu");
  const Tensor ours = arange(0, 4, 1, f32, cpu);
  Producer<Managed> theirs({1, 2}, {2});
  const std::int64_t before = num_live_storages(cpu);
  for (std::uint64_t n = 1; n < 50; ++n) {
    DLManagedTensor* lent = nullptr;
    Tensor taken;
    fail_heap_allocation(n);
    try {
      lent = to_dlpack(ours);
      taken = from_dlpack(theirs.get());
    } catch (const std::exception&) {
    }
    const bool failed = heap_allocation_failed();
    fail_heap_allocation(0);
    if (lent) Managed::of(lent)->deleter(Managed::of(lent));
    if (failed) {
      EXPECT_FALSE(taken.defined());
      EXPECT_EQ(theirs.num_deleted, 0);
    }
    taken = {};
    EXPECT_EQ(num_live_storages(cpu), before) << "allocation " << n;
    if (!failed) return;
  }
  FAIL() << "it never succeeded";
}

}  // namespace
}  // namespace bp::test
