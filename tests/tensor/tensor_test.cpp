#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include <backplane/tensor/error.hpp>

#include "test_storage.hpp"

namespace bp {
namespace {

using test::make_meta_tensor;
using test::make_range;
using test::make_tensor;
using test::TestStorage;

std::uint32_t flags_of(IntList shape, IntList strides) {
  return make_view(make_tensor({1}), shape, strides, 0).impl()->abi.flags;
}

constexpr std::uint32_t contiguous = BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE | BP_LAYOUT_STRIDED;
constexpr std::uint32_t dense = BP_LAYOUT_DENSE | BP_LAYOUT_STRIDED;
constexpr std::uint32_t strided = BP_LAYOUT_STRIDED;

TEST(tensor, knows_its_layout) {
  EXPECT_EQ(flags_of({}, {}), contiguous);
  EXPECT_EQ(flags_of({2, 3}, {3, 1}), contiguous);
  EXPECT_EQ(flags_of({2, 3}, {1, 2}), dense);
  EXPECT_EQ(flags_of({2, 3, 4}, {4, 8, 1}), dense);
  EXPECT_EQ(flags_of({2, 3}, {4, 1}), strided);
  EXPECT_EQ(flags_of({2, 3}, {0, 1}), strided);
  EXPECT_EQ(flags_of({3, 2}, {1, 1}), strided);
  EXPECT_EQ(flags_of({2, 3, 3}, {1, 3, 5}), strided);  // spans 18 elements, but not each
}

TEST(tensor, ignores_the_strides_of_single_elements) {
  EXPECT_EQ(flags_of({1, 3}, {99, 1}), contiguous);
  EXPECT_EQ(flags_of({3, 1}, {1, 7}), contiguous);
  EXPECT_EQ(flags_of({1}, {0}), contiguous);
}

TEST(tensor, is_contiguous_without_elements) {
  EXPECT_EQ(flags_of({0}, {5}), contiguous);
  EXPECT_EQ(flags_of({2, 0}, {1, 1}), contiguous);
  EXPECT_EQ(make_tensor({0, 4, std::int64_t{1} << 62}).numel(), 0);
}

TEST(tensor, knows_channels_last) {
  EXPECT_EQ(flags_of({2, 3, 4, 5}, {60, 1, 15, 3}), dense | BP_LAYOUT_CHANNELS_LAST);
  EXPECT_EQ(flags_of({2, 1, 4, 5}, {20, 20, 5, 1}), contiguous | BP_LAYOUT_CHANNELS_LAST);
  EXPECT_EQ(flags_of({2, 3, 1, 1}, {3, 1, 1, 1}), contiguous | BP_LAYOUT_CHANNELS_LAST);
  EXPECT_EQ(flags_of({3, 4, 5}, {1, 15, 3}), dense);
  EXPECT_TRUE(make_view(make_tensor({1}), {2, 3, 4, 5}, {60, 1, 15, 3}, 0)
                  .is_contiguous(MemoryFormat::channels_last));
}

TEST(tensor, gives_its_storage_back_with_the_last_reference) {
  {
    Tensor tensor = make_range({4, 4});
    EXPECT_EQ(TestStorage::alive, 1);
    Tensor view = make_view(tensor, {4}, {5}, 0);
    EXPECT_TRUE(view.shares_storage(tensor));
    EXPECT_EQ(tensor.impl()->storage->refs, 1u);  // the view holds the tensor, and that the storage
    EXPECT_EQ(tensor.impl()->num_views(), 1u);
    Tensor copy = view;
    EXPECT_TRUE(copy.is_same(view));
    EXPECT_EQ(copy.impl()->refs, 2u);
    tensor = Tensor();
    EXPECT_EQ(TestStorage::alive, 1);
    EXPECT_EQ(view.data<std::int64_t>()[5], 5);
  }
  EXPECT_EQ(TestStorage::alive, 0);
}

TEST(tensor, survives_moves_and_assignment_to_itself) {
  Tensor tensor = make_range({2});
  TensorImpl* impl = tensor.impl();
  Tensor moved = std::move(tensor);
  EXPECT_FALSE(tensor.defined());  // NOLINT: that is the promise
  const Tensor& same = moved;
  moved = same;
  EXPECT_EQ(moved.impl(), impl);
  EXPECT_EQ(impl->refs, 1u);
  Tensor shared = Tensor::share(impl);
  EXPECT_EQ(impl->refs, 2u);
}

TEST(tensor, counts_versions_for_all_that_share_its_storage) {
  Tensor tensor = make_range({4});
  Tensor view = make_view(tensor, {2}, {1}, 2);
  EXPECT_EQ(view.version(), 0u);
  tensor.impl()->storage->bump_version();
  EXPECT_EQ(tensor.version(), 1u);
  EXPECT_EQ(view.version(), 1u);
  EXPECT_EQ(make_meta_tensor({2}).version(), 0u);
}

TEST(tensor, counts_offsets_from_its_storage_not_from_the_allocation) {
  auto* storage = new TestStorage(256);
  storage->offset = 64;
  Tensor tensor = test::make_tensor(storage, {4, 4}, f32);
  EXPECT_EQ(tensor.storage_offset(), 0);
  Tensor view = make_view(tensor, {2}, {1}, 3);
  EXPECT_EQ(view.storage_offset(), 3);
  EXPECT_EQ(view.impl()->abi.dl.byte_offset, 64u + 12u);
  EXPECT_EQ(view.data<float>(), tensor.data<float>() + 3);
}

TEST(tensor, gives_its_sizes_by_dimension) {
  const Tensor tensor = make_tensor({2, 3});
  EXPECT_EQ(tensor.size(0), 2);
  EXPECT_EQ(tensor.size(-1), 3);
  EXPECT_THROW(tensor.size(2), Error);
  EXPECT_THROW(make_tensor({}).size(0), Error);
  EXPECT_EQ(tensor.nbytes(), 24u);
}

TEST(tensor, gives_its_data_only_where_the_host_can_read_it) {
  Tensor tensor = make_tensor({2});
  EXPECT_NO_THROW(tensor.data<float>());
  EXPECT_THROW(tensor.data<double>(), Error);
  tensor.impl()->storage->host_readable = false;
  EXPECT_THROW(tensor.data_ptr(), Error);
  EXPECT_THROW(make_meta_tensor({2}).data_ptr(), Error);
  EXPECT_THROW(Tensor().data_ptr(), Error);
  EXPECT_THROW(Tensor().data<float>(), Error);
}

struct Noted : LayerData {
  Noted(std::uint64_t key, std::vector<std::uint64_t>& dropped)
      : LayerData(key), dropped(dropped) {}
  ~Noted() override { dropped.push_back(key); }
  std::vector<std::uint64_t>& dropped;
};

TEST(tensor, keeps_the_data_of_several_layers_until_its_end) {
  std::vector<std::uint64_t> dropped;
  const auto note = [&](std::uint64_t key) { return std::make_unique<Noted>(key, dropped); };
  const std::uint64_t autograd = layer_data_key(autograd_layer);
  const std::uint64_t first = layer_data_key(50, 1), second = layer_data_key(50, 2),
                      other = layer_data_key(45);
  {
    Tensor tensor = make_tensor({2});
    TensorImpl& impl = *tensor.impl();
    for (const std::uint64_t key : {first, autograd, second, other})
      set_layer_data(impl, note(key));
    for (const std::uint64_t key : {first, autograd, second, other})
      EXPECT_EQ(find_layer_data(impl, key)->key, key);
    EXPECT_EQ(autograd_data(impl)->key, autograd);
    EXPECT_EQ(impl.keys, 1ull << 50 | 1ull << 45 | 1ull << autograd_layer);
    EXPECT_EQ(find_layer_data(impl, layer_data_key(50, 3)), nullptr);

    set_layer_data(impl, note(autograd));
    EXPECT_THAT(dropped, testing::ElementsAre(autograd));
    drop_layer_data(impl, autograd);
    EXPECT_EQ(autograd_data(impl), nullptr);
    drop_layer_data(impl, second);
    drop_layer_data(impl, second);
    EXPECT_EQ(impl.keys, 1ull << 50 | 1ull << 45);
    drop_layer_data(impl, first);
    EXPECT_EQ(impl.keys, 1ull << 45);
    EXPECT_THAT(dropped, testing::ElementsAre(autograd, autograd, second, first));

    set_layer_data(impl, note(autograd));
    EXPECT_EQ(autograd_data(impl)->key, autograd);
    const Tensor view = make_view(tensor, {2}, {1}, 0);
    EXPECT_EQ(view.impl()->layer_data, nullptr);
    dropped.clear();
  }
  EXPECT_THAT(dropped, testing::UnorderedElementsAre(autograd, other));
  EXPECT_EQ(make_tensor({2}).impl()->layer_data, nullptr);
}

TEST(tensor, view_keeps_device_dtype_and_layers) {
  Tensor tensor = make_tensor({2}, bf16);
  tensor.impl()->keys = 5;
  tensor.impl()->backend = 3;
  tensor.impl()->abi.space = 2;
  const Tensor view = make_view(tensor, {1}, {1}, 1);
  EXPECT_EQ(view.dtype(), bf16);
  EXPECT_EQ(view.device(), tensor.device());
  EXPECT_EQ(view.itemsize(), 2u);
  EXPECT_EQ(view.impl()->keys, 5u);
  EXPECT_EQ(view.impl()->backend, 3);
  EXPECT_EQ(view.impl()->abi.space, 2u);
  EXPECT_EQ(view.impl()->abi.size, sizeof(bp_tensor));
  EXPECT_EQ(view.impl()->abi.dl.shape, view.impl()->shape);
}

TEST(tensor, is_shared_by_threads) {
  {
    Tensor tensor = make_range({8});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([tensor] {
        for (int i = 0; i < 2000; ++i) {
          Tensor copy = tensor;
          Tensor view = make_view(copy, {4}, {2}, 0);
          ASSERT_EQ(view.data<std::int64_t>()[2], 2);
        }
      });
    tensor = Tensor();
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(TestStorage::alive, 0);
}

}  // namespace
}  // namespace bp
