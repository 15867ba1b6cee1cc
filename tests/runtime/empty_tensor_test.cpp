// New tensors: what is filled in, which shapes are refused.
#include <backplane/runtime/allocator.hpp>

#include "fake_plugin.hpp"

namespace bp::test {
namespace {

struct EmptyTensor : testing::Test {
  FakePlugin fake;
  Registered acme{fake};
  Device device = acme.device();
};

TEST_F(EmptyTensor, describes_itself_to_plugins) {
  const Tensor tensor = empty_tensor({2, 3}, f32, device);
  const bp_tensor& abi = tensor.impl()->abi;
  EXPECT_EQ(abi.size, sizeof(bp_tensor));
  EXPECT_EQ(abi.flags, BP_LAYOUT_CONTIGUOUS | BP_LAYOUT_DENSE | BP_LAYOUT_STRIDED);
  EXPECT_EQ(abi.numel, 6);
  EXPECT_EQ(abi.itemsize, 4u);
  EXPECT_EQ(abi.dtype, BP_F32);
  EXPECT_EQ(abi.device, device.number);
  EXPECT_EQ(abi.dl.ndim, 2);
  EXPECT_EQ(abi.dl.dtype.bits, 32);
  EXPECT_EQ(abi.dl.device.device_type, BP_DL_EXT_DEV);
  EXPECT_EQ(tensor.strides(), (IntList{3, 1}));
  EXPECT_EQ(reinterpret_cast<bp_handle>(abi.dl.data), tensor.impl()->storage->handle);
  EXPECT_EQ(abi.dl.byte_offset, tensor.impl()->storage->offset);
  EXPECT_EQ(tensor.impl()->backend, acme.backend->number);
  EXPECT_EQ(tensor.impl()->keys, 0u);
  EXPECT_EQ(tensor.storage_offset(), 0);
  std::memset(tensor.data_ptr(), 1, tensor.nbytes());
}

TEST_F(EmptyTensor, agrees_with_update_layout) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {},           {1},          {5},          {0},          {2, 3},      {1, 0, 3},
      {2, 3, 4, 5}, {2, 1, 4, 5}, {2, 3, 1, 1}, {1, 1, 1, 1}, {0, 3, 4, 5}};
  for (const auto& shape : shapes) {
    const Tensor tensor = empty_tensor(shape, f16, device);
    EXPECT_EQ(tensor.strides(), IntList(contiguous_strides(shape))) << to_string(shape);
    const std::uint32_t flags = tensor.impl()->abi.flags;
    update_layout(*tensor.impl());
    EXPECT_EQ(tensor.impl()->abi.flags, flags) << to_string(shape);
    EXPECT_EQ(tensor.numel(), checked_numel("", shape));
  }
}

TEST_F(EmptyTensor, comes_in_channels_last) {
  const Tensor tensor = empty_tensor({2, 3, 4, 5}, f32, device, MemoryFormat::channels_last);
  EXPECT_EQ(tensor.strides(), (IntList{60, 1, 15, 3}));
  EXPECT_TRUE(tensor.is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(text_of([&] {
              empty_tensor({2, 3}, f32, device, MemoryFormat::channels_last);
            }),
            "empty: channels_last needs rank 4, not shape [2, 3]");
}

TEST_F(EmptyTensor, comes_with_given_strides) {
  const Tensor tensor = empty_strided_tensor({3, 2}, {1, 3}, f64, device);
  EXPECT_EQ(tensor.strides(), (IntList{1, 3}));
  EXPECT_GE(tensor.impl()->storage->bytes, 48u);
  const Tensor row = empty_strided_tensor({1000, 8}, {0, 1}, f64, device);
  EXPECT_EQ(row.impl()->storage->bytes, 64u);
  EXPECT_EQ(text_of([&] {
              empty_strided_tensor({3, 2}, {1}, f64, device);
            }),
            "empty_strided: shape [3, 2] and strides [1] differ in length");
  EXPECT_EQ(text_of([&] { empty_strided_tensor({3}, {-1}, f64, device); }),
            "empty_strided: stride -1 of dimension 0 is negative; flip the elements instead");
}

TEST_F(EmptyTensor, refuses_shapes_that_are_none) {
  EXPECT_EQ(text_of([&] {
              empty_tensor({2, -1}, f32, device);
            }),
            "empty: size -1 of dimension 1 is negative in shape [2, -1]");
  EXPECT_EQ(error_of([&] {
              empty_tensor({1ll << 40, 1ll << 40}, f32, device);
            }).error_class(),
            ErrorClass::bad_argument);
  EXPECT_EQ(error_of([&] {
              empty_tensor({1ll << 61, 2}, f64, device);
            }).error_class(),
            ErrorClass::bad_argument);
  const std::vector<std::int64_t> deep(17, 1);
  EXPECT_EQ(error_of([&] { empty_tensor(deep, f32, device); }).error_class(),
            ErrorClass::bad_argument);
  const Tensor odd_but_fine = empty_tensor({1ll << 62, 4, 0}, f32, device);
  EXPECT_EQ(odd_but_fine.numel(), 0);
}

TEST_F(EmptyTensor, on_meta_has_a_shape_and_no_memory) {
  const Tensor tensor = empty_tensor({1ll << 40, 3}, f32, meta_device);
  EXPECT_EQ(tensor.numel(), 3ll << 40);
  EXPECT_EQ(tensor.impl()->storage, nullptr);
  EXPECT_EQ(tensor.impl()->abi.dl.data, nullptr);
  EXPECT_EQ(tensor.impl()->backend, 0);
  EXPECT_EQ(empty_strided_tensor({3}, {2}, f32, meta_device).impl()->storage, nullptr);
}

TEST_F(EmptyTensor, without_elements_has_a_storage) {
  const Tensor tensor = empty_tensor({0, 3}, f32, device);
  ASSERT_NE(tensor.impl()->storage, nullptr);
  EXPECT_EQ(tensor.impl()->storage->bytes, 0u);
}

TEST_F(EmptyTensor, over_memory_of_the_application_runs_the_deleter_once) {
  float values[6] = {1, 2, 3, 4, 5, 6};
  int deleted = 0;
  const auto count = [](void* times) { ++*static_cast<int*>(times); };
  {
    const Tensor tensor = tensor_from_blob(values, {2, 3}, {3, 1}, f32, device, count, &deleted);
    EXPECT_EQ(tensor.data<float>(), values);
    const Tensor copy = tensor;
    record_stream(tensor, Stream::current(device));
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(text_of([&] { tensor_from_blob(nullptr, {2}, {1}, f32, device, count, &deleted); }),
            "tensor_from_blob: data is null for shape [2]");
  EXPECT_EQ(
      text_of([&] { tensor_from_blob(values, {2}, {1}, f32, meta_device, count, &deleted); }),
      "tensor_from_blob: the handles of meta are not addresses; make a tensor there and copy");
  EXPECT_EQ(deleted, 1);
}

}  // namespace
}  // namespace bp::test
