// needs: cpu
// Large products of bf16 against sums in double: edges of tiles and blocks, either order of either factor, numbers that are
// none, and threads. On a processor with AMX they are matmul_amx.cpp's, elsewhere oneDNN's.
#include <limits>
#include <thread>

#include "large_product.hpp"

namespace {

using namespace bp_test;

constexpr Tolerance bf16_tolerance{1.0 / 256, 1e-6};  // rounding to bf16, and of sums in f32

Data bf16_factor(int64_t rows, int64_t columns, Order order, uint32_t seed) {
  return normal_numbers(BP_BF16, rows, columns, order, seed);
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
    expect_close_product(bf16_factor(m, k, Order::rows, 1), bf16_factor(k, n, Order::rows, 2),
                         bf16_tolerance, "by rows");
}

TEST(CpuMatmulBf16, takes_factors_in_either_order) {
  const std::pair<Order, const char*> orders[] = {
      {Order::rows, "rows"}, {Order::rows_with_gaps, "gaps"}, {Order::columns, "columns"}};
  for (const auto& [a, a_name] : orders)
    for (const auto& [b, b_name] : orders) {
      const std::string what = std::string(a_name) + " and " + b_name;
      expect_close_product(bf16_factor(512, 480, a, 1), bf16_factor(480, 544, b, 2), bf16_tolerance,
                           what);
      expect_close_product(bf16_factor(493, 501, a, 3), bf16_factor(501, 487, b, 4), bf16_tolerance,
                           what);
      expect_close_product(bf16_factor(490, 2100, a, 5), bf16_factor(2100, 499, b, 6),
                           bf16_tolerance, what);
    }
}

// oneDNN takes pairs of k: the last of an odd number of them has a 0 beside it.
TEST(CpuMatmulBf16, keeps_an_infinity_in_the_last_of_an_odd_number_of_terms) {
  for (const int64_t k : {3, 33, 65, 129})
    for (const Order a_order : {Order::rows, Order::rows_with_gaps, Order::columns})
      for (const Order b_order : {Order::rows, Order::rows_with_gaps, Order::columns})
        for (const bool is_left : {true, false}) {
          Data a = zeros(BP_BF16, 33, k, a_order), b = zeros(BP_BF16, k, 65, b_order);
          for (int64_t i = 0; i < a.numel(); ++i) set(a, i, 1);
          for (int64_t i = 0; i < b.numel(); ++i) set(b, i, 2);
          if (is_left)
            set(a, 7 * k + k - 1, -INFINITY);
          else
            set(b, (k - 1) * 65 + 9, -INFINITY);
          Data out = product(a, b);
          EXPECT_EQ(get(out, 7 * 65 + 9), -INFINITY) << k << " " << is_left;
          EXPECT_EQ(get(out, 8 * 65 + 10), 2.0f * static_cast<float>(k)) << k << " " << is_left;
        }
}

TEST(CpuMatmulBf16, multiplies_batches_one_after_the_other) {
  constexpr int64_t size = 490;
  Data a(BP_BF16, {3, size, size});
  Data b(BP_BF16, {3, size, size});
  for (int64_t i = 0; i < 3; ++i) {
    Data one = bf16_factor(size, size, Order::rows, static_cast<uint32_t>(i));
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

TEST(CpuMatmulBf16, keeps_infinities_and_nans_in_their_row_and_column) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const int64_t size : {512, 485})
    for (const Order order : {Order::rows, Order::columns})
      for (const float special : {infinity, -infinity, std::nanf("")})
        expect_special_number_stays(BP_BF16, size, order, special);
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
  Data a = bf16_factor(700, 2100, Order::rows, 1);
  Data b = bf16_factor(2100, 500, Order::rows, 2);
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
    expect_close_product(bf16_factor(100, 90, Order::rows, 1), bf16_factor(90, 110, Order::rows, 2),
                         bf16_tolerance, "small");
    expect_close_product(bf16_factor(600, 500, Order::rows, 1),
                         bf16_factor(500, 510, Order::rows, 2), bf16_tolerance, "large");
  }
}

}  // namespace
