// Tensors over a given storage: what they share, and what is refused.
#include <backplane/runtime/allocator.hpp>
#include <backplane/runtime/storage_tensor.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

struct StorageTensor : testing::Test {
  FakePlugin fake;
  Registered acme{fake};
  Tensor owner = empty_tensor({6}, f32, acme.device());
  Storage* storage = owner.impl()->storage;
};

TEST_F(StorageTensor, shares_the_memory_at_an_offset) {
  const Tensor part = tensor_over_storage(storage, {2, 2}, {2, 1}, f32, 2);
  EXPECT_TRUE(part.shares_storage(owner));
  EXPECT_EQ(part.storage_offset(), 2);
  EXPECT_EQ(part.data_ptr(), static_cast<float*>(owner.data_ptr()) + 2);
  EXPECT_TRUE(part.is_contiguous());
  EXPECT_EQ(part.device(), acme.device());
}

TEST_F(StorageTensor, may_have_another_dtype_and_any_strides) {
  EXPECT_EQ(tensor_over_storage(storage, {3}, {1}, f64).numel(), 3);
  EXPECT_FALSE(tensor_over_storage(storage, {2, 3}, {1, 2}, f32).is_contiguous());
}

TEST_F(StorageTensor, holds_a_reference) {
  const std::uint32_t before = storage->refs.load();
  {
    const Tensor second = tensor_over_storage(storage, {6}, {1}, f32);
    EXPECT_EQ(storage->refs.load(), before + 1);
  }
  EXPECT_EQ(storage->refs.load(), before);
}

TEST_F(StorageTensor, refuses_what_does_not_fit) {
  const auto bytes = static_cast<std::int64_t>(storage->bytes / sizeof(float));
  EXPECT_THROW(tensor_over_storage(nullptr, {1}, {1}, f32), Error);
  EXPECT_THROW(tensor_over_storage(storage, {bytes + 1}, {1}, f32), Error);
  EXPECT_THROW(tensor_over_storage(storage, {bytes}, {1}, f32, 1), Error);
  EXPECT_THROW(tensor_over_storage(storage, {2}, {1}, f32, -1), Error);
  EXPECT_THROW(tensor_over_storage(storage, {2}, {1}, f32, INT64_MAX), Error);
  EXPECT_THROW(tensor_over_storage(storage, {2}, {1, 1}, f32), Error);
  EXPECT_EQ(storage->refs.load(), 1u);
}

}  // namespace
}  // namespace bp::test
