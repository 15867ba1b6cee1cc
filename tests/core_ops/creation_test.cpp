// needs: cpu
// Values from the application into tensors and back.
#include <functional>
#include <gtest/gtest.h>
#include <sstream>

#include <backplane/tensors.hpp>

namespace bp {
namespace {

TEST(Creation, literals_choose_pytorchs_dtypes) {
  EXPECT_EQ(tensor({1, 2}).dtype(), i64);
  EXPECT_EQ(tensor({1.0, 2.0}).dtype(), f32);
  EXPECT_EQ(tensor({true, false}).dtype(), boolean);
  EXPECT_EQ(tensor({1.0f}).dtype(), f32);
  EXPECT_EQ(tensor(3).dtype(), i64);
  EXPECT_EQ(tensor(0.5).dtype(), f32);
  EXPECT_EQ(tensor({1, 2}, {.dtype = f16}).dtype(), f16);
  EXPECT_EQ(tensor(std::vector<double>{1, 2}).dtype(), f64);
  EXPECT_EQ(tensor(std::vector<std::int32_t>{1, 2}).dtype(), i32);
}

TEST(Creation, nested_lists_are_row_major) {
  const Tensor a = tensor({{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}});
  EXPECT_EQ(to_string(a.shape()), "[2, 2, 3]");
  EXPECT_EQ(to_vector<std::int64_t>(a)[7], 8);
  EXPECT_EQ(to_string(tensor(std::vector<float>{1, 2, 3, 4}, {2, 2}).shape()), "[2, 2]");
  EXPECT_EQ(tensor(2.5).ndim(), 0);
}

TEST(Creation, a_blob_is_shared_and_its_deleter_called_once) {
  float values[4] = {1, 2, 3, 4};
  int deleted = 0;
  {
    const Tensor a = from_blob(
        values, {2, 2}, f32, [](void* count) { ++*static_cast<int*>(count); }, &deleted);
    const Tensor row = select(a, 0, 1);
    add_(a, 1);
    EXPECT_EQ(to_vector<float>(row), (std::vector<float>{4, 5}));
  }
  EXPECT_EQ(values[0], 2.0f);
  EXPECT_EQ(deleted, 1);
}

TEST(Creation, items_are_single_values) {
  EXPECT_EQ(item<int>(tensor({{7}})), 7);
  EXPECT_EQ(item<double>(tensor(0.5)), 0.5);
  EXPECT_TRUE(item<bool>(tensor(true)));
  EXPECT_EQ(item<float>(select(tensor({1.0, 2.0, 3.0}), 0, 2)), 3.0f);
  EXPECT_EQ(item<float>(to(tensor(1.5), bf16)), 1.5f);
}

TEST(Creation, a_real_item_has_no_imaginary_part_to_lose) {
  using Numbers = std::vector<std::complex<double>>;
  const Tensor real = tensor(Numbers{{2, 0}}), z = tensor(Numbers{{2, -1}});
  EXPECT_EQ(item<double>(real), 2);
  EXPECT_EQ(item<int>(real), 2);
  EXPECT_EQ(item<std::complex<double>>(z), std::complex<double>(2, -1));
  EXPECT_TRUE(item<bool>(z));
  EXPECT_TRUE(item<Scalar>(z).is_complex());
  for (const std::function<void()>& call : {std::function<void()>([&] { item<double>(z); }),
                                            std::function<void()>([&] { item<float>(z); }),
                                            std::function<void()>([&] { item<int>(z); })}) {
    std::string said = "no error";
    try {
      call();
    } catch (const Error& error) {
      said = error.what();
    }
    EXPECT_EQ(said,
              "item: the value is 2 + -1i, and a real number has no imaginary part; take "
              "item<std::complex<double>>, or the real() part first");
  }
}

TEST(Creation, moves_and_casts_return_the_tensor_itself_where_nothing_changes) {
  const Tensor a = tensor({1.0, 2.0});
  EXPECT_TRUE(to(a, f32).is_same(a));
  EXPECT_TRUE(to(a, a.device()).is_same(a));
  EXPECT_TRUE(cpu(a).is_same(a));
  EXPECT_TRUE(contiguous(a).is_same(a));
  EXPECT_FALSE(clone(a).shares_storage(a));
  EXPECT_EQ(to(a, meta_device).device(), meta_device);
}

TEST(Creation, channels_last_keeps_values_and_changes_strides) {
  const Tensor a = reshape(arange(0, 120), {2, 3, 4, 5});
  const Tensor b = contiguous(a, MemoryFormat::channels_last);
  EXPECT_TRUE(b.is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(to_vector<std::int64_t>(a), to_vector<std::int64_t>(b));
  EXPECT_TRUE(clone(b).is_contiguous(MemoryFormat::channels_last));
}

TEST(Creation, values_are_written_over_a_tensor_of_any_strides) {
  const Tensor a = zeros({2, 3});
  copy_(transpose(a, 0, 1), tensor({{1}, {2}, {3}}));
  EXPECT_EQ(to_vector<float>(a), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  fill_(select(a, 1, 0), 9);
  EXPECT_EQ(to_vector<float>(a), (std::vector<float>{9, 2, 3, 9, 2, 3}));
}

TEST(Creation, tensors_print_as_in_pytorch) {
  std::ostringstream text;
  text << tensor({{1.5, 2.0}, {3.0, 4.0}}) << "\n"
       << tensor({1, 2}) << "\n"
       << zeros({0, 3}) << "\n"
       << tensor({true, false}) << "\n"
       << tensor({1.0}, {.dtype = f64});
  EXPECT_EQ(text.str(),
            "tensor([[1.5000, 2.0000],\n        [3.0000, 4.0000]])\n"
            "tensor([1, 2])\n"
            "tensor([], size=(0, 3))\n"
            "tensor([ True, False])\n"
            "tensor([1.], dtype=float64)");
}

TEST(Creation, operators_mix_tensors_and_numbers) {
  const Tensor a = tensor({1.0, 2.0});
  EXPECT_EQ(to_vector<float>(2 * a + 1), (std::vector<float>{3, 5}));
  EXPECT_EQ(to_vector<float>(1 - a), (std::vector<float>{0, -1}));
  EXPECT_EQ(to_vector<float>(2 / a), (std::vector<float>{2, 1}));
  EXPECT_EQ(to_vector<float>(-a), (std::vector<float>{-1, -2}));
  EXPECT_EQ(to_vector<std::int64_t>(to(1 < a, i64)), (std::vector<std::int64_t>{0, 1}));
  a *= 3;
  EXPECT_EQ(to_vector<float>(a), (std::vector<float>{3, 6}));
}

}  // namespace
}  // namespace bp
