// needs: cpu
// How far exp, log, sin ... are from the truth, in units of the last place, and their special values; for
// each instruction set that this machine has.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/direct_call.hpp"
#include "backends/cpu/targets.hpp"

namespace bp_test {
namespace {

using Truth = long double (*)(long double);

struct Function {
  const char* name;
  Truth truth;
  double low, high;  // where it is sampled; beyond 1 also in logarithmic steps
  double ulp;
};

long double sigmoid(long double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"exp", std::exp, -760, 720, 1.5},     {"log", std::log, 0, 1e30, 1.5},
      {"sin", std::sin, -3e5, 3e5, 2.5},     {"cos", std::cos, -3e5, 3e5, 2.5},
      {"tanh", std::tanh, -45, 45, 3},       {"sigmoid", sigmoid, -760, 760, 3},
      {"expm1", std::expm1, -760, 720, 2.5}, {"log1p", std::log1p, -1, 1e30, 2.5},
      {"sqrt", std::sqrt, 0, 1e30, 0.5001},  {"erf", std::erf, -7, 7, 6},
      {"tan", std::tan, -3e5, 3e5, 4},       {"asin", std::asin, -1.5, 1.5, 2},
      {"acos", std::acos, -1.5, 1.5, 2},     {"atan", std::atan, -1e30, 1e30, 2},
      {"sinh", std::sinh, -760, 760, 2.5},   {"cosh", std::cosh, -760, 760, 2.5},
      {"exp2", std::exp2, -1100, 1030, 1.5}, {"log2", std::log2, 0, 1e30, 1.5},
      {"log10", std::log10, 0, 1e30, 2},
  };
  return all;
}

// Values over all magnitudes, more where functions bend, with denormal and neighbouring ones.
template <class T> std::vector<T> samples(const Function& function, int count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<T> all;
  const auto take = [&](double x) {
    if (x >= function.low && x <= function.high) all.push_back(static_cast<T>(x));
  };
  const double lowest = std::is_same_v<T, float> ? -149 : -1070;
  for (int i = 0; i < count; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    take(sign * 30 * unit(random));
    take(function.low + (function.high - function.low) * unit(random));
    take(sign * std::exp2(lowest * unit(random)));
    take(sign * std::exp2(100 * unit(random)));
    take(1 + sign * std::exp2(-52 * unit(random)));
    take(sign * 1.57079632679489661923 * std::floor(5000 * unit(random)));
  }
  return all;
}

template <class T> double ulps(T result, long double truth) {
  const auto rounded = static_cast<T>(truth);
  if (result == rounded || (std::isnan(result) && std::isnan(rounded))) return 0;
  if (!std::isfinite(result) || !std::isfinite(rounded)) return 1e9;
  const T size = std::fabs(rounded);
  const T step = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::fabs(static_cast<long double>(result) - truth) / step);
}

template <class T> void check(uint32_t dtype, int count) {
  for_each_target([&](const std::string& target) {
    for (const Function& function : functions()) {
      const std::vector<T> inputs = samples<T>(function, count);
      Data a = Data::of<T>(dtype, {static_cast<int64_t>(inputs.size())}, inputs);
      Data out(dtype, a.shape());
      run(function.name, {value(a)}, {&out});
      const auto* results = reinterpret_cast<const T*>(out.bytes());
      double worst = 0;
      T worst_at = 0;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const double error = ulps(results[i], function.truth(inputs[i]));
        if (error > worst) worst = error, worst_at = inputs[i];
      }
      EXPECT_LE(worst, function.ulp) << target << " " << function.name << " at " << worst_at;
      if (std::getenv("BP_PRINT_ULP") != nullptr) {
        std::printf("%-8s f%zu %-8s %.3f ULP at %.9g\n", target.c_str(), sizeof(T) * 8,
                    function.name, worst, static_cast<double>(worst_at));
      }
    }
  });
}

TEST(Math, f32_is_near_the_truth) {
  check<float>(BP_F32, 40000);
}
TEST(Math, f64_is_near_the_truth) {
  check<double>(BP_F64, 15000);
}

// All specials in a tensor together with ordinary numbers, at every place of a vector.
template <class T> void check_specials(uint32_t dtype) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T largest = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min();
  const std::vector<T> specials = {inf,
                                   -inf,
                                   nan,
                                   T(0),
                                   T(-0.0),
                                   largest,
                                   -largest,
                                   tiny,
                                   -tiny,
                                   T(1),
                                   T(-1),
                                   T(0.5),
                                   std::numeric_limits<T>::min()};
  std::vector<T> inputs;
  for (int i = 0; i < 5; ++i) inputs.insert(inputs.end(), specials.begin(), specials.end());
  for_each_target([&](const std::string& target) {
    for (const Function& function : functions()) {
      Data a = Data::of<T>(dtype, {static_cast<int64_t>(inputs.size())}, inputs),
           out(dtype, a.shape());
      run(function.name, {value(a)}, {&out});
      for (size_t i = 0; i < inputs.size(); ++i) {
        const T result = out.at<T>(static_cast<int64_t>(i));
        const long double truth = function.truth(inputs[i]);
        EXPECT_LE(ulps(result, truth), function.ulp)
            << target << " " << function.name << "(" << inputs[i] << ") = " << result << ", not "
            << static_cast<T>(truth);
        if (result == 0 && truth == 0) {
          EXPECT_EQ(std::signbit(result), std::signbit(truth))
              << target << " " << function.name << "(" << inputs[i] << ")";
        }
      }
    }
  });
}

TEST(Math, f32_specials) {
  check_specials<float>(BP_F32);
}
TEST(Math, f64_specials) {
  check_specials<double>(BP_F64);
}

// Pairs of all magnitudes, of neighbours and of specials, each with each; results of f32 and f64 against C's in more digits.
struct FunctionOfTwo {
  const char* name;
  long double (*truth)(long double, long double);
  double ulp;
};

template <class T> void check_two(uint32_t dtype) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T tiny = std::numeric_limits<T>::denorm_min(), large = std::numeric_limits<T>::max();
  const std::vector<T> specials = {0,    T(-0.0), 1,       -1,     2,       -2,      3,
                                   -3,   T(0.5),  T(-0.5), tiny,   -tiny,   T(1e-3), inf,
                                   -inf, nan,     large,   -large, T(7.25), T(1e7)};
  std::vector<T> left, right;
  for (const T a : specials)
    for (const T b : specials) left.push_back(a), right.push_back(b);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 20000; ++i) {
    const double range = i % 3 == 0   ? 4
                         : i % 3 == 1 ? 20
                                      : std::numeric_limits<T>::max_exponent - 1;
    const auto a = static_cast<T>(unit(random) * std::exp2(range * unit(random)));
    const auto b =
        static_cast<T>(unit(random) * std::exp2((i % 2 == 0 ? 4 : range) * unit(random)));
    left.push_back(a), right.push_back(i % 7 == 0 ? a * std::floor(b) : b);
    left.push_back(std::nextafter(a * std::round(b), T(0))), right.push_back(a);
  }
  const FunctionOfTwo all[] = {
      {"atan2", std::atan2, 2.5}, {"fmod", std::fmod, 0}, {"pow", std::pow, 1}};
  for_each_target([&](const std::string& target) {
    for (const FunctionOfTwo& function : all) {
      const auto size = static_cast<int64_t>(left.size());
      Data a = Data::of<T>(dtype, {size}, left), b = Data::of<T>(dtype, {size}, right),
           out(dtype, a.shape());
      run(function.name, {value(a), value(b)}, {&out});
      for (int64_t i = 0; i < size; ++i) {
        const auto at = static_cast<size_t>(i);
        const T result = out.at<T>(i);
        const long double truth = function.truth(left[at], right[at]);
        ASSERT_LE(ulps(result, truth), function.ulp)
            << target << " " << function.name << "(" << left[at] << ", " << right[at]
            << ") = " << result << ", not " << static_cast<T>(truth);
        if (result != 0 || truth != 0) continue;
        ASSERT_EQ(std::signbit(result), std::signbit(truth))
            << target << " " << function.name << "(" << left[at] << ", " << right[at] << ")";
      }
    }
  });
}

TEST(Math, functions_of_two_f32_are_near_the_truth) {
  check_two<float>(BP_F32);
}
TEST(Math, functions_of_two_f64_are_near_the_truth) {
  check_two<double>(BP_F64);
}

// Powers by one number, of which those by quarters have ways of their own: positive numbers alone, and others among them.
TEST(Math, powers_by_one_number_are_near_the_truth) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> others = {0, -0.0F, -1, -2.5F, inf, -inf, -1e-40F, NAN};
  std::vector<float> bases;
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> exponent_of_two(-148, 127);
  for (int i = 0; i < 3000; ++i) {
    bases.push_back(static_cast<float>(std::exp2(exponent_of_two(random))));
    if (i > 2000 && i % 13 == 0) bases.push_back(others[static_cast<size_t>(i) % others.size()]);
  }
  bases.push_back(inf);
  for_each_target([&](const std::string& target) {
    for (const float by : {0.25F, 0.5F, 0.75F, 1.5F, -0.5F, -0.75F, 2.0F, 0.3F})
      for (const int64_t size : {int64_t{1}, int64_t{7}, static_cast<int64_t>(bases.size())}) {
        Data a = Data::of<float>(BP_F32, {size}, {bases.end() - size, bases.end()}),
             out(BP_F32, {size});
        run("pow", {value(a), value(by)}, {&out});
        for (int64_t i = 0; i < size; ++i) {
          const float base = a.at<float>(i), result = out.at<float>(i);
          const long double truth = std::pow(static_cast<long double>(base), by);
          ASSERT_LE(ulps(result, truth), 1) << target << " pow(" << base << ", " << by << ")";
          if (result == 0 && truth == 0) {
            ASSERT_EQ(std::signbit(result), std::signbit(truth)) << target << " " << base;
          }
        }
      }
  });
}

}  // namespace
}  // namespace bp_test
