// needs: cpu
// softmax and log_softmax along every dimension, against double, with rows of all lengths; for each instruction set.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/dtypes.hpp"
#include "backends/cpu/targets.hpp"

namespace bp_test {
namespace {

Data samples(uint32_t dtype, Data data) {
  std::mt19937 random(5);
  for (int64_t i = 0; i < data.numel(); ++i) {
    set_number(data, dtype, i, static_cast<double>(random() % 2048) / 128 - 8);
  }
  return data;
}

// Largest distance over all elements, relative for softmax, absolute for log_softmax.
void check(uint32_t dtype, Data a, int64_t dim, double tolerance, bool in_place = false) {
  Data before(dtype, a.shape());
  for (int64_t i = 0; i < a.numel(); ++i) set_number(before, dtype, i, get_number(a, dtype, i));
  const int64_t count = a.shape()[static_cast<size_t>(dim)];
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(dim) + 1; i < a.shape().size(); ++i) inner *= a.shape()[i];
  Data out = in_place ? a : Data(dtype, a.shape());
  for (const bool log : {false, true}) {
    if (in_place && log) break;
    run(log ? "log_softmax" : "softmax", {value(a), value(dim), none()}, {&out});
    for (int64_t row = 0; row < a.numel() / count; ++row) {
      const int64_t first = row / inner * inner * count + row % inner;
      double largest = -INFINITY;
      long double sum = 0;
      for (int64_t i = 0; i < count; ++i)
        largest = std::max(largest, get_number(before, dtype, first + i * inner));
      for (int64_t i = 0; i < count; ++i)
        sum += std::exp(get_number(before, dtype, first + i * inner) - largest);
      for (int64_t i = 0; i < count; ++i) {
        const double x = get_number(before, dtype, first + i * inner) - largest;
        const auto truth = static_cast<double>(log ? x - std::log(sum) : std::exp(x) / sum);
        const double scale = log ? std::max(1.0, std::fabs(truth)) : truth + 1e-7;
        const double smallest = dtype == BP_F16 ? 0x1p-25 : 0;  // half of f16's last step
        ASSERT_NEAR(get_number(out, dtype, first + i * inner), truth, tolerance * scale + smallest)
            << dtype_name(dtype) << ::testing::PrintToString(a.shape()) << " dim " << dim
            << " element " << first + i * inner;
      }
    }
  }
}

// The largest error of log_softmax along `dim`, in steps of f32 at the true result. Nothing cancels in
// (x - largest) - log(sum), both parts being at most 0, so that results near 0 have all their digits as well
// if x - largest is exact.
double worst_ulps_of_log(Data& a, int64_t dim) {
  Data out(BP_F32, a.shape());
  run("log_softmax", {value(a), value(dim), none()}, {&out});
  const int64_t count = a.shape()[static_cast<size_t>(dim)];
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(dim) + 1; i < a.shape().size(); ++i) inner *= a.shape()[i];
  double worst = 0;
  for (int64_t row = 0; row < a.numel() / count; ++row) {
    const int64_t first = row / inner * inner * count + row % inner;
    const auto x = [&](int64_t i) { return get_number(a, BP_F32, first + i * inner); };
    double largest = -INFINITY, sum_less_1 = -1;
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, x(i));
    for (const bool of_largest : {true, false}) {  // -1 + 1 first: then small terms lose nothing
      for (int64_t i = 0; i < count; ++i)
        if ((x(i) == largest) == of_largest) sum_less_1 += std::exp(x(i) - largest);
    }
    for (int64_t i = 0; i < count; ++i) {
      const double truth = x(i) - largest - std::log1p(sum_less_1);
      const auto near = static_cast<float>(std::fabs(truth));
      const double ulp = static_cast<double>(std::nextafter(near, INFINITY)) - near;
      worst = std::max(worst, std::fabs(out.at<float>(first + i * inner) - truth) / ulp);
    }
  }
  return worst;
}

double tolerance_of(uint32_t dtype) {
  switch (dtype) {
    case BP_F64: return 1e-14;
    case BP_F32: return 1e-6;
    case BP_F16: return 1e-3;
    default: return 8e-3;
  }
}

TEST(Softmax, rows_of_every_length) {
  for_each_target([](const std::string&) {
    for (uint32_t dtype : {BP_F32, BP_F64, BP_F16, BP_BF16}) {
      for (int64_t count = 1; count <= 70; ++count) {
        check(dtype, samples(dtype, Data(dtype, {3, count})), 1, tolerance_of(dtype));
      }
      for (int64_t count : {511, 513, 4096, 20001}) {
        check(dtype, samples(dtype, Data(dtype, {2, count})), 1, tolerance_of(dtype));
      }
    }
  });
}

// Blocks of neighbouring columns, and what is left of them. Many terms of one size: their sum is where digits get lost.
TEST(Softmax, columns_of_every_length_and_width) {
  for_each_target([](const std::string&) {
    for (uint32_t dtype : {BP_F32, BP_F64, BP_F16, BP_BF16})
      for (int64_t count : {1, 2, 7, 8, 9, 63, 64, 65, 129})
        for (int64_t width : {1, 3, 8, 16, 17, 64, 65, 135})
          check(dtype, samples(dtype, Data(dtype, {2, count, width})), 1, tolerance_of(dtype));
    Data a(BP_F64, {4096, 17});
    std::mt19937 random(7);
    for (int64_t i = 0; i < a.numel(); ++i)
      set_number(a, BP_F64, i, static_cast<double>(random() % 65536) / 65536);
    check(BP_F64, a, 0, 12 * 0x1p-53);  // 40 if 4096 terms are added up one after the other
  });
}

TEST(Softmax, any_dimension_and_strides) {
  for (uint32_t dtype : {BP_F32, BP_F64, BP_BF16}) {
    for (int64_t dim : {0, 1, 2}) {
      for (const Sizes& strides :
           {Sizes{35, 5, 1}, Sizes{1, 4, 28}, Sizes{70, 10, 2}, Sizes{0, 5, 1}}) {
        check(dtype, samples(dtype, Data(dtype, {4, 7, 5}, strides)), dim, tolerance_of(dtype));
      }
    }
  }
  check(BP_F32, samples(BP_F32, Data(BP_F32, {20000, 3})), 0, 1e-6);
}

// The table's tolerance. In some rows one element outweighs all others: the sum of exponentials is near 1
// then, and its logarithm near 0.
TEST(Softmax, logarithms_are_within_8_ulp_along_first_middle_and_last_dims) {
  for_each_target([](const std::string& target) {
    for (const Sizes& shape : {Sizes{3, 40, 50}, Sizes{40, 3, 50}, Sizes{40, 50, 3}}) {
      Data a = samples(BP_F32, Data(BP_F32, shape));
      for (int64_t dim : {0, 1, 2})
        EXPECT_LE(worst_ulps_of_log(a, dim), 8)
            << target << " " << ::testing::PrintToString(shape) << " dim " << dim;
    }
  });
}

TEST(Softmax, a_largest_element_hides_no_digits_of_many_small_ones) {
  for_each_target([](const std::string& target) {
    for (int64_t count : {2, 17, 129, 2049, 20001}) {
      for (double gap : {1.0, 9.3125, 14.578125}) {
        Data a(BP_F32, {3, count});
        for (int64_t i = 0; i < a.numel(); ++i) set_number(a, BP_F32, i, -gap);
        for (int64_t row = 0; row < 3; ++row)
          set_number(a, BP_F32, row * count + row * (count - 1) / 2, 0);
        EXPECT_LE(worst_ulps_of_log(a, 1), 8) << target << " count " << count << " gap " << gap;
      }
    }
  });
}

TEST(Softmax, in_place) {
  check(BP_F32, samples(BP_F32, Data(BP_F32, {5, 100})), 1, 1e-6, true);
  check(BP_F32, samples(BP_F32, Data(BP_F32, {2, 30000})), 1, 1e-6, true);
}

// Written past the caches.
TEST(Softmax, large_results) {
  check(BP_F32, samples(BP_F32, Data(BP_F32, {1500, 1501})), 1, 1e-6);
}

TEST(Softmax, extremes) {
  const float inf = std::numeric_limits<float>::infinity();
  for_each_target([&](const std::string& target) {
    Data a = Data::of<float>(BP_F32, {4, 3},
                             {1000, 1000, -1000, -inf, 0, -inf, -inf, -inf, -inf, inf, 0, 1});
    Data out(BP_F32, {4, 3});
    run("softmax", {value(a), value(1), none()}, {&out});
    EXPECT_EQ(out.at<float>(0), 0.5f) << target;
    EXPECT_EQ(out.at<float>(2), 0.0f) << target;
    EXPECT_EQ(out.at<float>(3), 0.0f) << target;
    EXPECT_EQ(out.at<float>(4), 1.0f) << target;
    for (int64_t i = 6; i < 10; ++i) EXPECT_TRUE(std::isnan(out.at<float>(i))) << target << i;
    run("log_softmax", {value(a), value(1), none()}, {&out});
    EXPECT_EQ(out.at<float>(3), -inf) << target;
    EXPECT_EQ(out.at<float>(4), 0.0f) << target;
    EXPECT_TRUE(std::isnan(out.at<float>(6))) << target;
  });
}

TEST(Softmax, one_number) {
  Data a = Data::of<float>(BP_F32, {}, {3}), out(BP_F32, {});
  run("softmax", {value(a), value(0), none()}, {&out});
  EXPECT_EQ(out.at<float>(0), 1);
}

}  // namespace
}  // namespace bp_test
