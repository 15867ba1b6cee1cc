// needs: cpu
// cat.
#include "direct_call.hpp"

namespace {

using namespace bp_test;

Data counting(const Sizes& shape, int32_t from) {
  Data data(BP_I32, shape);
  for (int64_t i = 0; i < data.numel(); ++i) data.at<int32_t>(i) = from + static_cast<int32_t>(i);
  return data;
}

Data joined(std::vector<Data> tensors, int64_t dim) {
  std::vector<const bp_tensor*> list;
  Sizes shape = tensors[0].shape();
  shape[dim] = 0;
  for (Data& tensor : tensors) {
    list.push_back(tensor.tensor());
    shape[dim] += tensor.shape()[dim];
  }
  bp_value all{};
  all.tag = BP_TENSOR_LIST;
  all.aux = static_cast<uint32_t>(list.size());
  all.u.ptr = list.data();
  Data out(BP_I32, shape);
  run("cat", {all, value(dim)}, {&out});
  return out;
}

TEST(CpuCat, joins_rows_and_columns) {
  EXPECT_EQ(joined({counting({1, 2}, 1), counting({2, 2}, 10)}, 0).values<int32_t>(),
            (std::vector<int32_t>{1, 2, 10, 11, 12, 13}));
  EXPECT_EQ(joined({counting({2, 1}, 1), counting({2, 2}, 10)}, 1).values<int32_t>(),
            (std::vector<int32_t>{1, 10, 11, 2, 12, 13}));
}

TEST(CpuCat, joins_short_rows_of_every_length) {
  for (int64_t width = 1; width <= 9; ++width) {
    Data out = joined({counting({5, width}, 0), counting({5, 3}, 1000)}, 1);
    for (int64_t i = 0; i < out.numel(); ++i) {
      const int64_t row = i / (width + 3), column = i % (width + 3);
      ASSERT_EQ(out.at<int32_t>(i),
                column < width ? row * width + column : 1000 + row * 3 + column - width);
    }
  }
}

TEST(CpuCat, joins_strided_tensors) {
  EXPECT_EQ(
      joined({counting({2, 2}, 1).permuted({1, 0}), counting({2, 2}, 10)}, 1).values<int32_t>(),
      (std::vector<int32_t>{1, 3, 10, 11, 2, 4, 12, 13}));
  EXPECT_EQ(
      joined({counting({2, 2}, 10), counting({2, 1}, 1).permuted({1, 0})}, 0).values<int32_t>(),
      (std::vector<int32_t>{10, 11, 12, 13, 1, 2}));
}

TEST(CpuCat, joins_large_tensors_by_several_threads) {
  Data out = joined({counting({700, 300}, 0), counting({700, 500}, 1000000)}, 1);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const int64_t row = i / 800;
    const int64_t column = i % 800;
    ASSERT_EQ(out.at<int32_t>(i),
              column < 300 ? row * 300 + column : 1000000 + row * 500 + column - 300);
  }
}

}  // namespace
