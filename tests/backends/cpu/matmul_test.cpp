// needs: cpu
// matmul and bmm against three plain loops, over dtypes, layouts, batches and sizes on both sides of
// every threshold.
#include <cmath>
#include <complex>

#include "direct_call.hpp"

namespace {

using namespace bp_test;

float from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Small whole numbers: sums are exact in every dtype but bf16.
template <class T> T number(int64_t i) {
  const int64_t value = (i * 7 + i / 5 + 3) % 9 - 4;
  if constexpr (std::is_same_v<T, uint16_t>) {  // bf16's bits
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
  } else if constexpr (requires { typename T::value_type; }) {
    using Part = typename T::value_type;
    return T(static_cast<Part>(value), static_cast<Part>(i % 4 - 2));
  } else {
    return static_cast<T>(value);
  }
}

template <class T> void fill_with_numbers(Data& data, int64_t seed) {
  for (int64_t i = 0; i < data.numel(); ++i) data.at<T>(i) = number<T>(i + seed);
}

// Element [row, column] of matrix `batch` of the output's batches, right-aligned and broadcast.
int64_t place(const Sizes& shape, const Sizes& batches, int64_t batch, int64_t row,
              int64_t column) {
  int64_t offset = 0;
  int64_t step = 1;
  const size_t lead = batches.size() + 2 - shape.size();
  for (size_t i = batches.size(); i-- > 0;) {
    const int64_t index = batch % batches[i];
    batch /= batches[i];
    if (i < lead) continue;
    const int64_t size = shape[i - lead];
    if (size != 1) offset += index * step;
    step *= size;
  }
  const size_t rank = shape.size();
  return (offset * shape[rank - 2] + row) * shape[rank - 1] + column;
}

template <class T, class Sum>
void expect_product(Data a, Data b, uint32_t dtype, const std::string& op = "matmul") {
  fill_with_numbers<T>(a, 1);
  fill_with_numbers<T>(b, 5);
  const int64_t m = a.shape()[a.shape().size() - 2];
  const int64_t k = a.shape().back();
  const int64_t n = b.shape().back();
  Sizes batches;
  const size_t rank = std::max(a.shape().size(), b.shape().size());
  for (size_t i = 0; i + 2 < rank; ++i) {
    const auto size_of = [&](const Sizes& shape) {
      return i + shape.size() < rank ? int64_t{1} : shape[i + shape.size() - rank];
    };
    batches.push_back(std::max(size_of(a.shape()), size_of(b.shape())));
  }
  Sizes shape = batches;
  shape.push_back(m);
  shape.push_back(n);
  Data out(dtype, shape);
  for (int64_t i = 0; i < out.numel(); ++i) out.at<T>(i) = number<T>(i + 2);
  run(op, {value(a), value(b)}, {&out});

  int64_t wrong = 0;
  for (int64_t i = 0; i < out.numel(); ++i) {
    const int64_t batch = i / (m * n);
    Sum sum{};
    for (int64_t j = 0; j < k; ++j) {
      const T x = a.at<T>(place(a.shape(), batches, batch, i / n % m, j));
      const T y = b.at<T>(place(b.shape(), batches, batch, j, i % n));
      if constexpr (std::is_same_v<T, uint16_t>) {
        sum += from_bf16(x) * from_bf16(y);
      } else if constexpr (std::is_integral_v<T>) {
        sum = static_cast<Sum>(static_cast<uint64_t>(sum) +
                               static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
      } else {
        sum += x * y;
      }
    }
    if constexpr (std::is_same_v<T, uint16_t>) {
      wrong += std::abs(from_bf16(out.at<T>(i)) - sum) > std::abs(sum) / 200;
    } else {
      wrong += out.at<T>(i) != static_cast<T>(sum);
    }
  }
  EXPECT_EQ(wrong, 0) << op << " " << m << "x" << k << "x" << n << " dtype " << dtype;
}

void expect_product_of_every_dtype(const Sizes& a, const Sizes& b) {
  expect_product<float, float>({BP_F32, a}, {BP_F32, b}, BP_F32);
  expect_product<uint16_t, float>({BP_BF16, a}, {BP_BF16, b}, BP_BF16);
  expect_product<double, double>({BP_F64, a}, {BP_F64, b}, BP_F64);
  expect_product<int8_t, int64_t>({BP_I8, a}, {BP_I8, b}, BP_I8);
  expect_product<int32_t, int64_t>({BP_I32, a}, {BP_I32, b}, BP_I32);
  expect_product<int64_t, int64_t>({BP_I64, a}, {BP_I64, b}, BP_I64);
  expect_product<std::complex<float>, std::complex<float>>({BP_COMPLEX64, a}, {BP_COMPLEX64, b},
                                                           BP_COMPLEX64);
  expect_product<std::complex<double>, std::complex<double>>({BP_COMPLEX128, a}, {BP_COMPLEX128, b},
                                                             BP_COMPLEX128);
}

TEST(CpuMatmul, multiplies_every_dtype_at_sizes_around_its_blocks) {
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{{1, 1, 1},
                                                                   {2, 2, 2},
                                                                   {1, 5, 33},
                                                                   {3, 300, 1},
                                                                   {16, 16, 16},
                                                                   {17, 19, 23},
                                                                   {97, 257, 129},
                                                                   {1, 1000, 40},
                                                                   {130, 3, 70}}) {
    expect_product_of_every_dtype({m, k}, {k, n});
  }
}

TEST(CpuMatmul, multiplies_large_matrices_of_16_bits) {
  expect_product<uint16_t, float>({BP_BF16, {512, 530}}, {BP_BF16, {530, 520}}, BP_BF16);
}

TEST(CpuMatmul, broadcasts_batches_of_either_side) {
  expect_product_of_every_dtype({3, 4, 5}, {5, 6});
  expect_product_of_every_dtype({4, 5}, {3, 5, 6});
  expect_product_of_every_dtype({2, 1, 4, 5}, {3, 5, 6});
  expect_product_of_every_dtype({2, 3, 20, 30}, {2, 1, 30, 20});
  expect_product_of_every_dtype({3, 1, 20, 30}, {1, 2, 30, 20});
  expect_product_of_every_dtype({2, 3, 2, 20, 20}, {2, 1, 2, 20, 20});
}

// oneDNN has no product whose batches are all the same.
TEST(CpuMatmul, repeats_one_product_in_batches_that_are_all_the_same) {
  const Sizes a = {2, 33, 129}, a_strides = {0, 129, 1}, b = {2, 129, 65}, b_strides = {0, 65, 1};
  expect_product<float, float>({BP_F32, a, a_strides}, {BP_F32, b, b_strides}, BP_F32);
  expect_product<uint16_t, float>({BP_BF16, a, a_strides}, {BP_BF16, b, b_strides}, BP_BF16);
  expect_product<int32_t, int64_t>({BP_I32, a, a_strides}, {BP_I32, b, b_strides}, BP_I32);
}

TEST(CpuMatmul, takes_transposed_and_strided_matrices) {
  for (int64_t size : {3, 40}) {
    const int64_t m = size;
    const int64_t k = size + 1;
    const int64_t n = size + 2;
    const Data a_transposed = Data(BP_F32, {k, m}).permuted({1, 0});
    const Data b_transposed = Data(BP_F32, {n, k}).permuted({1, 0});
    expect_product<float, float>(a_transposed, b_transposed, BP_F32);
    expect_product<float, float>({BP_F32, {m, k}}, b_transposed, BP_F32);
    // Every second column, rows with a gap: neither stride is 1.
    expect_product<float, float>({BP_F32, {m, k}, {3 * k, 2}}, {BP_F32, {k, n}, {2, 2 * k + 1}},
                                 BP_F32);
    expect_product<double, double>({BP_F64, {m, k}, {3 * k, 2}}, {BP_F64, {k, n}, {2, 2 * k + 1}},
                                   BP_F64);
    // A row that stands for all: its stride is 0.
    expect_product<float, float>({BP_F32, {m, k}}, {BP_F32, {k, n}, {0, 0}}, BP_F32);
    // Rows that overlap, as unfold makes them.
    Data windows(BP_F32, {m, k}, {1, 1});
    Data b(BP_F32, {k, n});
    Data out(BP_F32, {m, n});
    for (int64_t i = 0; i < m + k - 1; ++i) reinterpret_cast<float*>(windows.bytes())[i] = 1;
    fill_with_numbers<float>(b, 0);
    run("matmul", {value(windows), value(b)}, {&out});
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(out.at<float>(i), out.at<float>((m - 1) * n + i));
  }
}

// Three loops would take long: a matrix that picks columns says as much.
TEST(CpuMatmul, multiplies_large_matrices_that_lie_by_rows_or_by_columns) {
  constexpr int64_t m = 513;
  constexpr int64_t k = 514;
  const auto picked = [](int64_t column) { return (column * 3 + 1) % k; };
  for (const bool a_by_rows : {true, false})
    for (const bool b_by_rows : {true, false}) {
      Data a = a_by_rows ? Data(BP_F32, {m, k}) : Data(BP_F32, {k, m}).permuted({1, 0});
      Data b = b_by_rows ? Data(BP_F32, {k, k}) : Data(BP_F32, {k, k}).permuted({1, 0});
      fill_with_numbers<float>(a, 1);
      for (int64_t i = 0; i < k * k; ++i) b.at<float>(i) = i / k == picked(i % k) ? 1.0f : 0.0f;
      Data out(BP_F32, {m, k});
      for (int64_t i = 0; i < m * k; ++i) out.at<float>(i) = NAN;
      run("matmul", {value(a), value(b)}, {&out});
      int64_t wrong = 0;
      for (int64_t i = 0; i < m * k; ++i)
        wrong += out.at<float>(i) != a.at<float>(i / k * k + picked(i % k));
      EXPECT_EQ(wrong, 0) << "a by " << (a_by_rows ? "rows" : "columns") << ", b by "
                          << (b_by_rows ? "rows" : "columns");
    }
}

TEST(CpuMatmul, takes_heads_that_lie_between_rows) {
  // [batch, time, head, width] seen as [batch, head, time, width], as attention has it.
  const Data a = Data(BP_F32, {2, 24, 3, 16}).permuted({0, 2, 1, 3});
  const Data b = Data(BP_F32, {2, 24, 3, 16}).permuted({0, 2, 3, 1});
  expect_product<float, float>(a, b, BP_F32);
  const Data c = Data(BP_F32, {24, 3, 16}).permuted({1, 0, 2});
  const Data d = Data(BP_F32, {24, 3, 16}).permuted({1, 2, 0});
  expect_product<float, float>(c, d, BP_F32, "bmm");
}

TEST(CpuMatmul, a_vector_in_a_batch_keeps_its_rows_apart) {
  expect_product<float, float>({BP_F32, {50, 1, 70}, {140, 9, 2}}, {BP_F32, {70, 60}}, BP_F32);
  expect_product<float, float>({BP_F32, {50, 1, 70}}, {BP_F32, {50, 70, 60}}, BP_F32, "bmm");
}

TEST(CpuMatmul, the_sum_of_nothing_is_zero) {
  Data a(BP_F32, {3, 0});
  Data b(BP_F32, {0, 4});
  Data out(BP_F32, {3, 4});
  for (int64_t i = 0; i < 12; ++i) out.at<float>(i) = 7;
  run("matmul", {value(a), value(b)}, {&out});
  EXPECT_EQ(out.values<float>(), std::vector<float>(12, 0.0f));
}

TEST(CpuMatmul, follows_a_change_of_the_number_of_threads) {
  for (uint32_t threads : {1, 2, 1}) {
    CpuPlugin::get().set_num_threads(threads);
    expect_product<float, float>({BP_F32, {64, 64}}, {BP_F32, {64, 64}}, BP_F32);
  }
  CpuPlugin::get().set_num_threads(2);
}

TEST(CpuMatmul, more_shapes_than_its_cache_holds) {
  for (int64_t k = 20; k < 170; ++k)
    expect_product<float, float>({BP_F32, {20, k}}, {BP_F32, {k, 20}}, BP_F32);
  expect_product<float, float>({BP_F32, {20, 20}}, {BP_F32, {20, 20}}, BP_F32);
}

}  // namespace
