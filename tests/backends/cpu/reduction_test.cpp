// needs: cpu
// Sums, means, maxima and argmax over every set of axes and several layouts, against plain loops in double; for each
// instruction set. Results do not depend on the number of threads.
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

struct Case {
  Sizes shape, strides;
};

Sizes reduced_shape(const Sizes& shape, const Sizes& dims, bool keepdim) {
  Sizes result;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i) {
    const bool goes = std::find(dims.begin(), dims.end(), i) != dims.end();
    if (!goes) result.push_back(shape[static_cast<size_t>(i)]);
    if (goes && keepdim) result.push_back(1);
  }
  return result;
}

// For each output, the elements that it comes from, in logical order.
std::vector<std::vector<double>> groups(Data& a, uint32_t dtype, const Sizes& dims) {
  const Sizes kept = reduced_shape(a.shape(), dims, false);
  int64_t count = 1;
  for (int64_t size : kept) count *= size;
  std::vector<std::vector<double>> result(static_cast<size_t>(count));
  for (int64_t i = 0; i < a.numel(); ++i) {
    int64_t rest = i, out = 0, step = 1;
    for (int64_t dim = static_cast<int64_t>(a.shape().size()) - 1; dim >= 0; --dim) {
      const int64_t size = a.shape()[static_cast<size_t>(dim)], at = rest % size;
      rest /= size;
      if (std::find(dims.begin(), dims.end(), dim) != dims.end()) continue;
      out += at * step;
      step *= size;
    }
    result[static_cast<size_t>(out)].push_back(get_number(a, dtype, i));
  }
  return result;
}

double reference(const std::string& name, const std::vector<double>& group) {
  double result = name == "sum" || name == "mean" ? 0 : group[0];
  for (double x : group) {
    if (name == "sum" || name == "mean") {
      result += x;
    } else if (std::isnan(x) || (name == "max" ? x > result : x < result)) {
      result = x;
    }
  }
  return name == "mean" ? result / static_cast<double>(group.size()) : result;
}

int64_t first_largest(const std::vector<double>& group) {
  size_t best = 0;
  for (size_t i = 1; i < group.size(); ++i) {
    if (!std::isnan(group[best]) && (group[i] > group[best] || std::isnan(group[i]))) best = i;
  }
  return static_cast<int64_t>(best);
}

Data whole_numbers(uint32_t dtype, const Case& how) {
  Data a(dtype, how.shape, how.strides.empty() ? strides_for(how.shape) : how.strides);
  const int64_t lowest = is_signed(dtype) ? -3 : 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const auto number = static_cast<double>(i * 5 % 7 + i % 3 + lowest);
    set_number(a, dtype, i, dtype == BP_BOOL ? static_cast<double>(i % 13 == 5) : number);
  }
  return a;
}

std::vector<Sizes> all_sets_of_dims(size_t rank) {
  std::vector<Sizes> sets;
  for (uint32_t bits = 1; bits < (1u << rank); ++bits) {
    Sizes set;
    for (uint32_t dim = 0; dim < rank; ++dim) {
      if ((bits >> dim) & 1u) set.push_back(dim);
    }
    sets.push_back(set);
  }
  return sets;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{1}, {}},
      {{70}, {}},
      {{513}, {2}},
      {{5, 7}, {}},
      {{5, 7}, {1, 5}},
      {{64, 3}, {}},
      {{3, 600}, {}},
      {{600, 3}, {}},
      {{4, 5, 6}, {}},
      {{4, 5, 6}, {6, 24, 1}},
      {{4, 5, 6}, {1, 4, 20}},
      {{4, 5, 6}, {0, 6, 1}},
      {{3, 1, 65}, {}},
      {{2, 3, 4, 5}, {60, 1, 15, 3}},
      {{33, 513}, {1026, 2}},
      {{4, 5, 6}, {6, 0, 1}},
      {{4, 5, 6}, {0, 1, 0}},
      {{6, 5}, {0, 0}},
      {{130, 20}, {0, 1}},
      {{20, 130}, {1, 0}},
  };
  return all;
}

void check(const std::string& name, uint32_t dtype, const Case& how) {
  Data a = whole_numbers(dtype, how);
  for (const Sizes& dims : all_sets_of_dims(how.shape.size())) {
    const auto expected = groups(a, dtype, dims);
    for (bool keepdim : {false, true}) {
      Data out(dtype, reduced_shape(how.shape, dims, keepdim));
      std::vector<bp_value> args = {value(a), value(dims), value(keepdim)};
      if (name == "sum" || name == "mean") args.push_back(none());
      run(name, args, {&out});
      for (int64_t i = 0; i < out.numel(); ++i) {
        const double truth = reference(name, expected[static_cast<size_t>(i)]);
        ASSERT_NEAR(get_number(out, dtype, i), truth,
                    std::fabs(truth) * 8e-3 * (dtype == BP_BF16 || dtype == BP_F16) + 1e-6)
            << name << " of " << dtype_name(dtype) << ", shape "
            << ::testing::PrintToString(how.shape) << " strides "
            << ::testing::PrintToString(how.strides) << " over " << ::testing::PrintToString(dims)
            << ", output " << i;
      }
    }
  }
}

TEST(Reduction, sum_and_mean_over_every_set_of_axes) {
  for_each_target([](const std::string&) {
    for (uint32_t dtype : {BP_F32, BP_F64, BP_BF16, BP_F16, BP_COMPLEX64}) {
      for (const Case& how : cases()) {
        check("sum", dtype, how);
        if (dtype != BP_COMPLEX64) check("mean", dtype, how);  // that one is decomposed
      }
    }
    for (const Case& how : cases()) check("sum", BP_I64, how);
  });
}

TEST(Reduction, max_and_min_over_every_set_of_axes) {
  for_each_target([](const std::string&) {
    for (uint32_t dtype : {BP_BOOL, BP_U8, BP_I8, BP_I16, BP_U16, BP_I32, BP_U32, BP_I64, BP_U64,
                           BP_F16, BP_BF16, BP_F32, BP_F64}) {
      for (const Case& how : cases()) {
        check("max", dtype, how);
        check("min", dtype, how);
      }
    }
  });
}

// Rows are taken in several at a time, and long ones by many lanes: every remainder of both, with what a sum or a product must keep.
TEST(Reduction, totals_of_every_number_of_rows_and_columns) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for_each_target([&](const std::string& target) {
    for (int64_t rows = 1; rows <= 9; ++rows) {
      for (int64_t columns : {1, 3, 4, 7, 8, 9, 31, 33, 65, 127, 129, 300, 517}) {
        for (double special : {1.0, 0.0, -0.5, static_cast<double>(INFINITY), nan}) {
          Data a(BP_F32, {rows, columns}), down(BP_F32, {columns}), along(BP_F32, {rows});
          std::vector<double> sums(static_cast<size_t>(columns), 0),
              products(static_cast<size_t>(rows), 1);
          for (int64_t i = 0; i < rows * columns; ++i) {
            const double x = i == rows * columns / 2 ? special
                             : i % 3 == 0            ? 2
                             : i % 3 == 1            ? 0.5
                                                     : -1;
            a.at<float>(i) = static_cast<float>(x);
            sums[static_cast<size_t>(i % columns)] += x;
            products[static_cast<size_t>(i / columns)] *= x;
          }
          run("sum", {value(a), value(Sizes{0}), value(false), none()}, {&down});
          run("prod", {value(a), value(Sizes{1}), value(false), none()}, {&along});
          const auto expect_all = [&](Data& got, const std::vector<double>& expected) {
            for (int64_t i = 0; i < got.numel(); ++i) {
              const auto truth = static_cast<float>(expected[static_cast<size_t>(i)]);
              if (std::isnan(truth))
                ASSERT_TRUE(std::isnan(got.at<float>(i))) << target << rows << " by " << columns;
              else
                ASSERT_EQ(got.at<float>(i), truth) << target << rows << " by " << columns;
            }
          };
          expect_all(down, sums);
          expect_all(along, products);
        }
      }
    }
  });
}

TEST(Reduction, argmax_is_the_first_of_equals) {
  for_each_target([](const std::string&) {
    for (uint32_t dtype : {BP_BOOL, BP_U8, BP_I16, BP_I64, BP_F16, BP_BF16, BP_F32, BP_F64}) {
      for (const Case& how : cases()) {
        Data a = whole_numbers(dtype, how);
        for (int64_t dim = -1; dim < static_cast<int64_t>(how.shape.size()); ++dim) {
          Sizes dims = {dim};
          if (dim < 0) dims = all_sets_of_dims(how.shape.size()).back();
          const auto expected = groups(a, dtype, dims);
          Data out(BP_I64, reduced_shape(how.shape, dims, false));
          run("argmax", {value(a), dim < 0 ? none() : value(dim), value(false)}, {&out});
          for (int64_t i = 0; i < out.numel(); ++i) {
            ASSERT_EQ(out.at<int64_t>(i), first_largest(expected[static_cast<size_t>(i)]))
                << dtype_name(dtype) << ::testing::PrintToString(how.shape) << " dim " << dim
                << " output " << i;
          }
        }
      }
    }
  });
}

void expect_nan_to_win(const std::string& target, uint32_t dtype, int64_t size, int64_t place) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Data a(dtype, {size}), out(dtype, {}), index(BP_I64, {});
  for (int64_t i = 0; i < size; ++i) set_number(a, dtype, i, static_cast<double>(i));
  set_number(a, dtype, place, nan);
  for (const char* op : {"max", "min"}) {
    run(op, {value(a), value(Sizes{0}), value(false)}, {&out});
    ASSERT_TRUE(std::isnan(get_number(out, dtype, 0))) << target << " " << op << " at " << place;
  }
  run("argmax", {value(a), value(0), value(false)}, {&index});
  ASSERT_EQ(index.at<int64_t>(0), place) << target;
  // As a column of nine.
  Data columns(dtype, {size, 9}), most(dtype, {9}), where(BP_I64, {9});
  set_number(columns, dtype, place * 9 + 4, nan);
  run("max", {value(columns), value(Sizes{0}), value(false)}, {&most});
  run("argmax", {value(columns), value(0), value(false)}, {&where});
  ASSERT_TRUE(std::isnan(get_number(most, dtype, 4)));
  ASSERT_EQ(get_number(most, dtype, 3), 0);
  ASSERT_EQ(where.at<int64_t>(4), place);
}

TEST(Reduction, a_nan_wins_at_every_place) {
  for_each_target([](const std::string& target) {
    for (const uint32_t dtype : {BP_F32, BP_F64})
      for (int64_t size : {1, 5, 64, 67, 131, 300, 700})
        for (int64_t place = 0; place < size; place += size < 700 ? 1 : 36)
          expect_nan_to_win(target, dtype, size, place);
  });
}

TEST(Reduction, extremes_of_infinities) {
  const float inf = std::numeric_limits<float>::infinity();
  Data a = Data::of<float>(BP_F32, {3}, {-inf, -inf, -inf}), out(BP_F32, {}), index(BP_I64, {});
  run("max", {value(a), value(Sizes{0}), value(false)}, {&out});
  EXPECT_EQ(out.at<float>(0), -inf);
  run("argmax", {value(a), value(0), value(false)}, {&index});
  EXPECT_EQ(index.at<int64_t>(0), 0);
}

TEST(Reduction, long_sums_are_exact_to_the_last_place) {
  for (int64_t size : {100003, 5000011}) {
    Data a(BP_F32, {size}), out(BP_F32, {});
    std::mt19937 random(3);
    long double truth = 0;
    for (int64_t i = 0; i < size; ++i) {
      a.at<float>(i) = static_cast<float>(random() >> 8) * 0x1p-24f;
      truth += a.at<float>(i);
    }
    run("sum", {value(a), value(Sizes{0}), value(false), none()}, {&out});
    EXPECT_EQ(out.at<float>(0), static_cast<float>(truth));
  }
}

// Near enough to the sum of all numbers that the nearest bf16 is found, however long it is.
TEST(Reduction, long_sums_of_bf16_are_exact_to_the_last_place) {
  for_each_target([](const std::string& target) {
    for (int64_t size : {1, 63, 64, 65, 1023, 1025, 100003, 3000011}) {
      Data a(BP_BF16, {size}), out(BP_BF16, {});
      std::mt19937 random(5);
      double truth = 0;
      for (int64_t i = 0; i < size; ++i) {
        a.at<uint16_t>(i) = static_cast<uint16_t>(0x3e00u + random() % 0x180u);
        truth += get_number(a, BP_BF16, i);
      }
      run("sum", {value(a), value(Sizes{0}), value(false), none()}, {&out});
      const double ulp = std::ldexp(1, std::ilogb(truth) - 7);
      EXPECT_LE(std::abs(get_number(out, BP_BF16, 0) - truth), 0.5001 * ulp) << target << size;
    }
  });
}

// What f32 could not hold on the way is added up in f64.
TEST(Reduction, sums_of_bf16_may_exceed_f32_on_the_way) {
  for_each_target([](const std::string& target) {
    constexpr int64_t large = 512, ones = 64;
    Data a(BP_BF16, {2 * large + ones}), out(BP_BF16, {});
    for (int64_t i = 0; i < a.numel(); ++i)
      a.at<uint16_t>(i) = i < large ? 0x7f00 : i < 2 * large ? 0xff00 : 0x3f80;
    run("sum", {value(a), value(Sizes{0}), value(false), none()}, {&out});
    EXPECT_EQ(get_number(out, BP_BF16, 0), ones) << target;
  });
}

TEST(Reduction, sums_of_bf16_columns_may_exceed_f32_on_the_way) {
  for_each_target([](const std::string& target) {
    constexpr int64_t rows = 9, columns = 37;
    Data a(BP_BF16, {rows, columns}), out(BP_BF16, {columns});
    for (int64_t i = 0; i < a.numel(); ++i) {
      const int64_t row = i / columns;
      a.at<uint16_t>(i) = row < 4 ? 0x7f00 : row < 8 ? 0xff00 : 0x3f80;
    }
    run("sum", {value(a), value(Sizes{0}), value(false), none()}, {&out});
    for (int64_t i = 0; i < columns; ++i) EXPECT_EQ(get_number(out, BP_BF16, i), 1) << target << i;
  });
}

// A NaN is near a NaN alone, and an infinity the same one.
bool is_near(double got, double truth, double tolerance) {
  if (std::isnan(truth) || std::isinf(truth))
    return std::isnan(truth) ? std::isnan(got) : got == truth;
  return std::fabs(got - truth) <= std::fabs(truth) * tolerance;
}

// Products of bf16 are f64's on the way, of rows and of columns: they leave the range of f32 and come back.
TEST(Reduction, products_of_bf16_may_leave_the_range_of_f32_on_the_way) {
  for_each_target([](const std::string& target) {
    constexpr int64_t width = 37;
    for (int64_t size : {1, 5, 31, 32, 33, 129, 515}) {
      Data a(BP_BF16, {size, width}), down(BP_BF16, {width}), turned(BP_BF16, {width, size}),
          along(BP_BF16, {width});
      std::vector<double> truth(width, 1);
      for (int64_t i = 0; i < width * size; ++i) {
        // Two of 2^90, two of 2^-90, and then factors close to 1 and to -1.
        const int64_t row = i / width, column = i % width;
        const bool leaves = row < 4 && size > 4;
        const double near_one = (i % 5 == 1 ? -1.0 : 1.0) + 0.0078125 * (i % 2);
        set_number(a, BP_BF16, i, leaves ? std::ldexp(1, row < 2 ? 90 : -90) : near_one);
        truth[static_cast<size_t>(column)] *= get_number(a, BP_BF16, i);
        turned.at<uint16_t>(column * size + row) = a.at<uint16_t>(i);
      }
      run("prod", {value(a), value(Sizes{0}), value(false)}, {&down});
      run("prod", {value(turned), value(Sizes{1}), value(false)}, {&along});
      for (int64_t i = 0; i < width; ++i) {
        for (Data* product : {&down, &along}) {
          const double got = get_number(*product, BP_BF16, i);
          EXPECT_TRUE(is_near(got, truth[static_cast<size_t>(i)], 0x1.01p-8))
              << target << ' ' << size << ' ' << (product == &down ? "down " : "along ") << got
              << ' ' << truth[static_cast<size_t>(i)];
        }
      }
    }
  });
}

// Squares leave the range of f32 on both sides; a NaN and an infinity stay what they are.
TEST(Reduction, norms_of_bf16_have_squares_in_the_range_of_f64) {
  for_each_target([](const std::string& target) {
    for (int64_t size : {1, 7, 8, 63, 64, 65, 1023, 1025, 3000}) {
      for (double number : {0.0, 1.5, 0x1p100, 0x1p-100, 0x1p-120, double{INFINITY}, double{NAN}}) {
        for (const bool everywhere : {true, false}) {
          Data a(BP_BF16, {size, 2}), out(BP_BF16, {}), down(BP_BF16, {2});
          double squares = 0, first = 0;
          for (int64_t i = 0; i < 2 * size; ++i) {
            const double x = everywhere || i == size ? number : i % 3 == 0 ? -1 : 0.5;
            set_number(a, BP_BF16, i, x);
            squares += x * x;
            if (i % 2 == 0) first += x * x;
          }
          run("norm", {value(a), value(2.0), none(), value(false)}, {&out});
          run("norm", {value(a), value(2.0), value(Sizes{0}), value(false)}, {&down});
          EXPECT_TRUE(is_near(get_number(out, BP_BF16, 0), std::sqrt(squares), 4e-3))
              << target << size;
          EXPECT_TRUE(is_near(get_number(down, BP_BF16, 0), std::sqrt(first), 4e-3))
              << target << size;
        }
      }
    }
  });
}

// Dimensions along which an element is repeated are not walked: what follows must count it as often.
TEST(Reduction, repeated_elements_count_as_often_as_they_are_repeated) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for_each_target([&](const std::string& target) {
    for (int64_t times : {2, 3, 7, 1000, 100003}) {
      for (double number : {1.0, -1.0, 0.0, 1.00001, -2.0, 0.5, double{INFINITY}, nan}) {
        Data a(BP_F32, {times, 3}, {0, 1}), product(BP_F32, {3}), all(BP_F32, {}),
            largest(BP_F32, {}), root(BP_F32, {});
        const double others[] = {2, number, -1};
        double squares = 0;
        for (int64_t i = 0; i < 3; ++i) {
          a.at<float>(i) = static_cast<float>(others[i]);
          squares += static_cast<double>(times) * a.at<float>(i) * a.at<float>(i);
        }
        run("prod", {value(a), value(Sizes{0}), value(false)}, {&product});
        run("sum", {value(a), none(), value(false), none()}, {&all});
        run("max", {value(a), none(), value(false)}, {&largest});
        run("norm", {value(a), value(2.0), none(), value(false)}, {&root});
        for (int64_t i = 0; i < 3; ++i) {
          const double power = std::pow(a.at<float>(i), static_cast<double>(times));
          const double truth = std::fabs(power) > 1e38    ? power * INFINITY
                               : std::fabs(power) < 1e-44 ? 0
                                                          : power;
          EXPECT_TRUE(is_near(product.at<float>(i), truth, 1e-6))
              << target << times << " " << power;
        }
        const double x = a.at<float>(1), most = std::isnan(x) ? x : std::max(2.0, x);
        EXPECT_TRUE(is_near(all.at<float>(0), static_cast<double>(times) * (2 + x - 1), 1e-6))
            << target << x;
        EXPECT_TRUE(is_near(largest.at<float>(0), most, 0)) << target << times << " " << x;
        EXPECT_TRUE(is_near(root.at<float>(0), std::sqrt(squares), 1e-6)) << target << x;
      }
    }
  });
}

// The same bits from one thread, two and three, in each of the ways to cut the work.
TEST(Reduction, does_not_depend_on_the_number_of_threads) {
  const std::vector<std::pair<Sizes, Sizes>> shapes_and_dims = {
      {{3000001}, {0}},   {{1500, 2000}, {0}}, {{1500, 2000}, {1}},
      {{2, 700000}, {1}}, {{400000, 5}, {0}},  {{30, 300, 300}, {0, 2}}};
  std::mt19937 random(4);
  for (const auto& [shape, dims] : shapes_and_dims) {
    Data a(BP_F64, shape);
    for (int64_t i = 0; i < a.numel(); ++i)
      reinterpret_cast<double*>(a.bytes())[i] =
          std::ldexp(static_cast<double>(random()), -20 - static_cast<int>(random() % 20));
    std::vector<double> first;
    for (uint32_t threads : {1u, 2u, 3u}) {
      CpuPlugin::get().set_num_threads(threads);
      Data out(BP_F64, reduced_shape(shape, dims, false));
      run("sum", {value(a), value(dims), value(false), none()}, {&out});
      if (threads == 1) {
        first = out.values<double>();
        continue;
      }
      EXPECT_EQ(out.values<double>(), first) << ::testing::PrintToString(shape) << threads;
    }
  }
  CpuPlugin::get().set_num_threads(2);
}

}  // namespace
}  // namespace bp_test
