// needs: cpu
// Large products of bf16 against sums in double: edges of tiles and blocks, either order of either factor, numbers that are
// none, and threads. On a processor with AMX they are matmul_amx.cpp's, elsewhere oneDNN's.
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "direct_call.hpp"

namespace {

using namespace bp_test;

float widened(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t narrowed(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

// How a factor lies in memory.
enum class Order { rows, rows_with_gaps, columns };

Data factor(int64_t rows, int64_t columns, Order order, uint32_t seed) {
  Data data = order == Order::rows             ? Data(BP_BF16, {rows, columns})
              : order == Order::rows_with_gaps ? Data(BP_BF16, {rows, columns}, {columns + 7, 1})
                                               : Data(BP_BF16, {rows, columns}, {1, rows});
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < data.numel(); ++i) data.at<uint16_t>(i) = narrowed(normal(random));
  return data;
}

Data product(Data& a, Data& b) {
  Data out(BP_BF16, {a.shape()[0], b.shape()[1]});
  for (int64_t i = 0; i < out.numel(); ++i) out.at<uint16_t>(i) = narrowed(NAN);
  run("matmul", {value(a), value(b)}, {&out});
  return out;
}

// Every element of the first and last rows and columns, and some of the others: a prime's multiples.
std::vector<int64_t> places(int64_t m, int64_t n) {
  std::vector<int64_t> all;
  for (int64_t row : {int64_t{0}, m / 2, m - 1})
    for (int64_t column = 0; column < n; ++column) all.push_back(row * n + column);
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column : {int64_t{0}, n - 1}) all.push_back(row * n + column);
  for (int64_t place = 0; place < m * n; place += 1009) all.push_back(place);
  return all;
}

std::vector<double> numbers(Data data) {
  std::vector<double> all;
  for (uint16_t bits : data.values<uint16_t>()) all.push_back(widened(bits));
  return all;
}

void expect_close_product(Data a, Data b, const char* what) {
  const int64_t m = a.shape()[0];
  const int64_t k = a.shape()[1];
  const int64_t n = b.shape()[1];
  const std::vector<double> out = numbers(product(a, b));
  const std::vector<double> rows = numbers(a);
  const std::vector<double> columns = numbers(b);
  int64_t wrong = 0;
  for (int64_t place : places(m, n)) {
    double sum = 0;
    double magnitude = 0;
    for (int64_t i = 0; i < k; ++i) {
      const double term = rows[place / n * k + i] * columns[i * n + place % n];
      sum += term;
      magnitude += std::abs(term);
    }
    // Rounding to bf16, and of sums in f32.
    wrong += !(std::abs(out[place] - sum) <= std::abs(sum) / 256 + magnitude * 1e-6);
  }
  EXPECT_EQ(wrong, 0) << what << ": " << m << "x" << k << "x" << n;
}

TEST(CpuMatmulBf16, is_right_at_edges_of_tiles_and_blocks) {
  for (const auto& [m, k, n] :
       std::vector<std::array<int64_t, 3>>{{256, 258, 259},
                                           {480, 480, 480},
                                           {481, 482, 483},
                                           {500, 511, 513},
                                           {496, 544, 624},
                                           {1000, 1000, 1000},
                                           {490, 2080, 500},   // k is cut in two
                                           {500, 4133, 485},   // and in three
                                           {4100, 490, 500}})  // rows in two
    expect_close_product(factor(m, k, Order::rows, 1), factor(k, n, Order::rows, 2), "by rows");
}

TEST(CpuMatmulBf16, takes_factors_in_either_order) {
  const std::pair<Order, const char*> orders[] = {
      {Order::rows, "rows"}, {Order::rows_with_gaps, "gaps"}, {Order::columns, "columns"}};
  for (const auto& [a, a_name] : orders)
    for (const auto& [b, b_name] : orders) {
      const std::string what = std::string(a_name) + " and " + b_name;
      expect_close_product(factor(512, 480, a, 1), factor(480, 544, b, 2), what.c_str());
      expect_close_product(factor(493, 501, a, 3), factor(501, 487, b, 4), what.c_str());
      expect_close_product(factor(490, 2100, a, 5), factor(2100, 499, b, 6), what.c_str());
    }
}

TEST(CpuMatmulBf16, multiplies_batches_one_after_the_other) {
  constexpr int64_t size = 490;
  Data a(BP_BF16, {3, size, size});
  Data b(BP_BF16, {3, size, size});
  for (int64_t i = 0; i < 3; ++i) {
    Data one = factor(size, size, Order::rows, static_cast<uint32_t>(i));
    for (int64_t j = 0; j < one.numel(); ++j) {
      a.at<uint16_t>(i * size * size + j) = one.at<uint16_t>(j);
      b.at<uint16_t>(i * size * size + j) = one.at<uint16_t>(one.numel() - 1 - j);
    }
  }
  Data out(BP_BF16, {3, size, size});
  run("bmm", {value(a), value(b)}, {&out});
  for (int64_t i = 0; i < 3; ++i) {
    Data a_part = a.part(i * size * size, {size, size});
    Data b_part = b.part(i * size * size, {size, size});
    Data expected = product(a_part, b_part);
    EXPECT_EQ(out.part(i * size * size, {size, size}).values<uint16_t>(),
              expected.values<uint16_t>());
  }
}

// One element of a that is no number reaches its row and no other: padding must not multiply it. The same for b's column.
TEST(CpuMatmulBf16, keeps_infinities_and_nans_in_their_row_and_column) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const int64_t size : {512, 485}) {
    for (const Order order : {Order::rows, Order::columns})
      for (const float special : {infinity, -infinity, std::nanf("")}) {
        Data a = factor(size, size, order, 1);
        Data b = factor(size, size, order, 2);
        for (int64_t i = 0; i < size; ++i) {
          b.at<uint16_t>((size - 1) * size + i) = narrowed(1);
          a.at<uint16_t>(i * size) = narrowed(-1);
        }
        a.at<uint16_t>(3 * size + size - 1) = narrowed(special);
        b.at<uint16_t>(size - 1) = narrowed(special);
        Data out = product(a, b);
        int64_t wrong = 0;
        for (int64_t i = 0; i < size * size; ++i) {
          const float got = widened(out.at<uint16_t>(i));
          const float expected =
              (i / size == 3 ? special : 0) + (i % size == size - 1 ? -special : 0);
          if (expected == 0)
            wrong += !std::isfinite(got);
          else
            wrong += std::isnan(expected) ? !std::isnan(got) : got != expected;
        }
        EXPECT_EQ(wrong, 0) << special << " " << size;
      }
  }
}

// The largest number of bf16 rounds up to infinity, and what is too small for it may become 0.
TEST(CpuMatmulBf16, rounds_at_both_ends_of_the_range) {
  constexpr int64_t size = 480;
  const float largest = widened(0x7f7f);
  const float smallest_normal = std::numeric_limits<float>::min();
  for (const auto& [first, second, expected] :
       std::vector<std::array<float, 3>>{{largest, 1, largest},
                                         {largest, 2, std::numeric_limits<float>::infinity()},
                                         {largest, -2, -std::numeric_limits<float>::infinity()},
                                         {smallest_normal, 1, smallest_normal},
                                         {widened(1), 1, widened(1)},
                                         {smallest_normal, 0.5f, smallest_normal / 2}}) {
    Data a(BP_BF16, {size, size});
    Data b(BP_BF16, {size, size});
    for (int64_t i = 0; i < size; ++i) {
      a.at<uint16_t>(i * size + i) = narrowed(first);
      b.at<uint16_t>(i * size + i) = narrowed(second);
    }
    Data out = product(a, b);
    int64_t wrong = 0;
    for (int64_t i = 0; i < size * size; ++i) {
      const float got = widened(out.at<uint16_t>(i));
      const bool may_vanish = std::abs(expected) < smallest_normal;
      if (i / size != i % size)
        wrong += got != 0;
      else
        wrong += got != expected && !(may_vanish && got == 0);
    }
    EXPECT_EQ(wrong, 0) << first << " times " << second;
  }
}

TEST(CpuMatmulBf16, gives_the_same_bits_on_any_number_of_threads_and_to_callers_at_once) {
  Data a = factor(700, 2100, Order::rows, 1);
  Data b = factor(2100, 500, Order::rows, 2);
  const std::vector<uint16_t> expected = product(a, b).values<uint16_t>();
  for (const uint32_t threads : {1, 3, 2}) {
    CpuPlugin::get().set_num_threads(threads);
    EXPECT_EQ(product(a, b).values<uint16_t>(), expected) << threads;
  }
  std::vector<std::vector<uint16_t>> results(4);
  std::vector<std::thread> callers;
  for (auto& result : results)
    callers.emplace_back([&result, a, b]() mutable {
      for (int i = 0; i < 3; ++i) result = product(a, b).values<uint16_t>();
    });
  for (std::thread& caller : callers) caller.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

// oneDNN has tiles of its own, in other sizes.
TEST(CpuMatmulBf16, leaves_small_products_right_before_and_after) {
  for (int i = 0; i < 3; ++i) {
    expect_close_product(factor(100, 90, Order::rows, 1), factor(90, 110, Order::rows, 2), "small");
    expect_close_product(factor(600, 500, Order::rows, 1), factor(500, 510, Order::rows, 2),
                         "large");
  }
}

}  // namespace
