// needs: cpu
// Large products of f32 against sums in double: edges of tiles and blocks, either order of either factor, numbers at both ends
// of the range and numbers that are none, and threads. On a processor with AMX they are matmul_split.cpp's, elsewhere
// oneDNN's: nothing here may show which.
#include <limits>
#include <thread>

#include "large_product.hpp"
#include "targets.hpp"

namespace {

using namespace bp_test;

// What sums of a thousand numbers in f32 may lose. bf16 for f32 would lose 4e-3, and two parts of the three 1e-5.
constexpr Tolerance f32_tolerance{1e-7, 3e-7};
constexpr float f32_infinity = std::numeric_limits<float>::infinity();

Data f32_factor(int64_t rows, int64_t columns, Order order, uint32_t seed) {
  return normal_numbers(BP_F32, rows, columns, order, seed);
}

TEST(CpuMatmulF32, is_right_at_edges_of_tiles_and_blocks) {
  for (const auto& [m, k, n] :
       std::vector<std::array<int64_t, 3>>{{256, 256, 256},
                                           {203, 205, 207},
                                           {64, 2100, 64},
                                           {64, 64, 2100},
                                           {2100, 64, 64},
                                           {257, 1, 40000},  // too thin
                                           {321, 322, 323},
                                           {500, 511, 513},
                                           {512, 512, 512},
                                           {288, 1000, 545},   // k is cut in two
                                           {260, 1100, 300},   // and in three
                                           {4100, 190, 100}})  // rows in parts
    expect_close_product(f32_factor(m, k, Order::rows, 1), f32_factor(k, n, Order::rows, 2),
                         f32_tolerance, "by rows");
}

TEST(CpuMatmulF32, takes_factors_in_either_order) {
  const std::pair<Order, const char*> orders[] = {
      {Order::rows, "rows"}, {Order::rows_with_gaps, "gaps"}, {Order::columns, "columns"}};
  for (const auto& [a, a_name] : orders)
    for (const auto& [b, b_name] : orders) {
      const std::string what = std::string(a_name) + " and " + b_name;
      expect_close_product(f32_factor(256, 288, a, 1), f32_factor(288, 320, b, 2), f32_tolerance,
                           what);
      expect_close_product(f32_factor(293, 301, a, 3), f32_factor(301, 287, b, 4), f32_tolerance,
                           what);
      expect_close_product(f32_factor(211, 1050, a, 5), f32_factor(1050, 263, b, 6), f32_tolerance,
                           what);
    }
}

// Lines a multiple of 512 bytes apart, which are copied apart first where oneDNN would read them in place: of one factor, of the
// other, of both. Some sizes are read in place in threads' parts alone.
TEST(CpuMatmulF32, takes_factors_whose_lines_collide_in_the_cache) {
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{{1024, 512, 129},
                                                                   {130, 509, 1024},
                                                                   {1024, 260, 2048},
                                                                   {1024, 16, 1024},
                                                                   {384, 130, 384},
                                                                   {385, 121, 384},
                                                                   {384, 119, 387},
                                                                   {1152, 70, 384}})
    for (const Order a : {Order::rows, Order::columns})
      for (const Order b : {Order::rows, Order::columns})
        expect_close_product(f32_factor(m, k, a, 1), f32_factor(k, n, b, 2), f32_tolerance,
                             "lines that collide");
}

// Gradients to weights: a left factor by columns, and bands that oneDNN for AVX2 would read in place, so that threads take some of the
// terms each, of which the last has fewer.
TEST(CpuMatmulF32, adds_up_terms_that_threads_share) {
  const auto expect_right = [](int64_t m, int64_t k, int64_t n, Order right) {
    expect_close_product(f32_factor(m, k, Order::columns, 1), f32_factor(k, n, right, 2),
                         f32_tolerance, "a left factor by columns");
  };
  expect_right(384, 1024, 1536, Order::rows);
  expect_right(1536, 513, 384, Order::columns);
  expect_right(1152, 700, 385, Order::rows_with_gaps);
  expect_right(601, 1025, 702, Order::rows);
}

// Which read the right factor once for all rows: every number of them, and edges of vectors, of pieces of columns and of rows that are
// taken in together, up to where oneDNN takes over.
TEST(CpuMatmulF32, is_right_for_a_few_rows) {
  const std::pair<Order, const char*> orders[] = {
      {Order::rows, "rows"}, {Order::rows_with_gaps, "gaps"}, {Order::columns, "columns"}};
  for (int64_t m = 1; m <= 10; ++m)
    for (const auto& [k, n] : std::vector<std::array<int64_t, 2>>{
             {32, 32}, {33, 71}, {40, 2051}, {39, 1024}, {519, 45}, {64, 1033}, {31, 500}})
      for (const auto& [a, a_name] : orders)
        for (const auto& [b, b_name] : orders)
          expect_close_product(f32_factor(m, k, a, 1), f32_factor(k, n, b, 2), f32_tolerance,
                               std::string(a_name) + " and " + b_name);
}

// Of a product with an infinity at the end of its left factor and a NaN in the last column of its right one.
void expect_numbers_that_are_none_where_they_belong(int64_t m, int64_t k, int64_t n, Order order) {
  Data a = f32_factor(m, k, Order::rows, 1), b = f32_factor(k, n, order, 2), out(BP_F32, {m, n});
  a.at<float>((m - 1) * k + k - 1) = f32_infinity;
  b.at<float>(3 * n + n - 1) = NAN;
  run("matmul", {value(a), value(b)}, {&out});
  for (int64_t i = 0; i < m * n; ++i) {
    const float got = out.at<float>(i);
    const bool is_nan = i % n == n - 1, is_infinite = i / n == m - 1;
    EXPECT_EQ(std::isnan(got), is_nan) << i;
    EXPECT_EQ(std::isinf(got), is_infinite && !is_nan) << i;
  }
}

// Products that read the right factor once, and small ones.
TEST(CpuMatmulF32, keeps_infinities_and_nans_of_few_rows_and_small_sizes_where_they_are) {
  for (const Order order : {Order::rows, Order::columns}) {
    for (int64_t m = 1; m <= 8; ++m)
      expect_numbers_that_are_none_where_they_belong(m, 450, 770, order);
    for (const int64_t m : {2, 6, 16, 27})
      expect_numbers_that_are_none_where_they_belong(m, 21, 45, order);
  }
}

// Which one thread does where they lie: every number of rows of a block, edges of vectors, sums of one term and of many, with each
// instruction set.
TEST(CpuMatmulF32, is_right_for_small_sizes_with_each_instruction_set) {
  const std::pair<Order, const char*> orders[] = {
      {Order::rows, "rows"}, {Order::rows_with_gaps, "gaps"}, {Order::columns, "columns"}};
  for_each_target([&](const std::string& target) {
    for (const int64_t m : {2, 3, 5, 8, 11, 15, 16, 17, 31, 60})
      for (const auto& [k, n] : std::vector<std::array<int64_t, 2>>{{1, 8},
                                                                    {2, 33},
                                                                    {7, 15},
                                                                    {16, 16},
                                                                    {64, 64},
                                                                    {63, 65},
                                                                    {100, 9},
                                                                    {1024, 8},
                                                                    {1025, 8}})
        for (const auto& [a, a_name] : orders)
          for (const auto& [b, b_name] : orders)
            expect_close_product(f32_factor(m, k, a, 1), f32_factor(k, n, b, 2), f32_tolerance,
                                 target + ", " + a_name + " and " + b_name);
  });
}

// A one is lost beside 2^24, and eight are not: sums of many terms are made of sums of few, by columns of those of each lane.
TEST(CpuMatmulF32, loses_little_in_long_sums_of_a_few_rows) {
  constexpr float large = 1 << 24;
  for (const Order order : {Order::rows, Order::columns})
    for (const int64_t m : {1, 3, 6}) {
      constexpr int64_t k = 4000, n = 77;  // too many terms for what is done at once
      const float lost = order == Order::rows ? 40 : k / 4;
      Data a(BP_F32, {m, k}), b = f32_factor(k, n, order, 1), out(BP_F32, {m, n});
      for (int64_t i = 0; i < m * k; ++i) a.at<float>(i) = i % k == 0 ? large : 1;
      for (int64_t i = 0; i < k * n; ++i) b.at<float>(i) = 1;
      run("matmul", {value(a), value(b)}, {&out});
      for (int64_t i = 0; i < m * n; ++i) EXPECT_NEAR(out.at<float>(i), large + k, lost) << i;
    }
}

TEST(CpuMatmulF32, multiplies_batches_as_it_does_each) {
  for (const int64_t size : {250, 40, 17}) {
    Data a(BP_F32, {3, size, size});
    Data b(BP_F32, {3, size, size});
    for (int64_t i = 0; i < 3; ++i) {
      Data one = f32_factor(size, size, Order::rows, static_cast<uint32_t>(i));
      for (int64_t j = 0; j < one.numel(); ++j) {
        a.at<float>(i * size * size + j) = one.at<float>(j);
        b.at<float>(i * size * size + j) = one.at<float>(one.numel() - 1 - j);
      }
    }
    Data out(BP_F32, {3, size, size});
    run("bmm", {value(a), value(b)}, {&out});
    for (int64_t i = 0; i < 3; ++i) {
      Data a_part = a.part(i * size * size, {size, size});
      Data b_part = b.part(i * size * size, {size, size});
      Data expected = product(a_part, b_part);
      EXPECT_EQ(out.part(i * size * size, {size, size}).values<float>(), expected.values<float>());
    }
  }
}

TEST(CpuMatmulF32, keeps_infinities_and_nans_in_their_row_and_column) {
  for (const int64_t size : {256, 261})
    for (const Order order : {Order::rows, Order::columns})
      for (const float special : {f32_infinity, -f32_infinity, std::nanf("")})
        expect_special_number_stays(BP_F32, size, order, special);
}

// Of several bits in each factor, so that parts matter: a diagonal has one term in each sum.
TEST(CpuMatmulF32, rounds_one_product_at_both_ends_of_the_range) {
  constexpr int64_t size = 256;
  const float largest = std::numeric_limits<float>::max();
  const float smallest_normal = std::numeric_limits<float>::min();
  const float smallest = std::numeric_limits<float>::denorm_min();
  for (const auto& [first, second] :
       std::vector<std::pair<float, float>>{{largest, 1.0f},
                                            {largest, -1.0f},
                                            {largest, 2.0f},
                                            {largest, 0.1234567f},
                                            {1e30f, 1e-30f},
                                            {1.234567e30f, 1e30f},
                                            {1.234567e19f, 1.3e-5f},
                                            {smallest_normal, 1.0f},
                                            {smallest_normal, 0.5f},
                                            {smallest_normal * 1.3f, 0.7f},
                                            {smallest_normal * 1.234567f, 12345.67f},
                                            {smallest, 1.0f},
                                            {smallest * 12345, 1.234567e10f},
                                            {1.234567e-30f, 1e-30f},
                                            {1.234567e-20f, 1.7654321e-10f},
                                            {1.2345678f, 8.7654321f}}) {
    Data a = zeros(BP_F32, size, size);
    Data b = zeros(BP_F32, size, size);
    for (int64_t i = 0; i < size; ++i) {
      set(a, i * size + i, first);
      set(b, i * size + i, second);
    }
    Data out = product(a, b);
    const double exact = static_cast<double>(first) * second;
    const auto expected = static_cast<float>(exact);
    // Two units in the last place, and of the smallest numbers.
    const double allowed = std::abs(exact) * 0x1p-22 + 0x1p-148;
    int64_t wrong = 0;
    for (int64_t i = 0; i < size * size; ++i) {
      const float got = get(out, i);
      if (i / size != i % size)
        wrong += got != 0;
      else
        wrong += std::isinf(expected) ? got != expected : !(std::abs(got - exact) <= allowed);
    }
    EXPECT_EQ(wrong, 0) << first << " times " << second;
  }
}

// Sums that f32 holds exactly stay exact: those of integers, in which no bit may be lost.
TEST(CpuMatmulF32, is_exact_for_integers) {
  constexpr int64_t size = 300;
  for (const auto& [most_a, most_b] :
       std::vector<std::pair<int64_t, int64_t>>{{200, 200}, {40000, 1}, {1, 50000}, {7000, 7}}) {
    Data a = zeros(BP_F32, size, size);
    Data b = zeros(BP_F32, size, size, Order::columns);
    std::mt19937 random(7);
    for (int64_t i = 0; i < size * size; ++i) {
      const auto up_to = [&](int64_t most) {
        return static_cast<float>(static_cast<int64_t>(random() % (2 * most + 1)) - most);
      };
      set(a, i, up_to(most_a));
      set(b, i, up_to(most_b));
    }
    expect_close_product(a, b, {0, 0}, "integers");
  }
}

TEST(CpuMatmulF32, gives_the_same_bits_on_any_number_of_threads_and_to_callers_at_once) {
  Data a = f32_factor(400, 1300, Order::rows, 1);
  Data b = f32_factor(1300, 300, Order::rows, 2);
  const std::vector<float> expected = product(a, b).values<float>();
  for (const uint32_t threads : {1, 3, 2}) {
    CpuPlugin::get().set_num_threads(threads);
    EXPECT_EQ(product(a, b).values<float>(), expected) << threads;
  }
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> callers;
  for (auto& result : results)
    callers.emplace_back([&result, a, b]() mutable {
      for (int i = 0; i < 3; ++i) result = product(a, b).values<float>();
    });
  for (std::thread& caller : callers) caller.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
