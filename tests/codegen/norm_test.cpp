// needs: cpu reference_compiler once
// layer_norm, rms_norm and their gradients on devices that compile, against plain loops in float64.
#include <cmath>
#include <fmt/format.h>

#include "codegen/along_dims.hpp"
#include "dispatcher/calls.hpp"

namespace bp::test {
namespace {

using Numbers = std::vector<double>;

Numbers numbers_of(const Tensor& a) {
  return a.defined() ? to_vector<double>(to(cpu(a), f64)) : Numbers();
}

// Rows of `count`, and what loops make of them.
struct Rows {
  Numbers a, weight, bias, grad;
  std::size_t count = 1;
  double eps = 1e-5;
  bool centers = true;

  double weight_at(std::size_t i) const { return weight.empty() ? 1 : weight[i]; }
  double bias_at(std::size_t i) const { return bias.empty() ? 0 : bias[i]; }

  // Mean and 1 / deviation of each row.
  Numbers means() const {
    Numbers means;
    for (std::size_t row = 0; row < a.size(); row += count) {
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += a[row + i];
      means.push_back(centers ? sum / static_cast<double>(count) : 0);
    }
    return means;
  }
  Numbers rstds(const Numbers& means) const {
    Numbers rstds;
    for (std::size_t row = 0; row < means.size(); ++row) {
      double squares = 0;
      for (std::size_t i = 0; i < count; ++i)
        squares += (a[row * count + i] - means[row]) * (a[row * count + i] - means[row]);
      rstds.push_back(1 / std::sqrt(squares / static_cast<double>(count) + eps));
    }
    return rstds;
  }
  Numbers results() const {
    const Numbers mean = means(), rstd = rstds(mean);
    Numbers results;
    for (std::size_t i = 0; i < a.size(); ++i)
      results.push_back((a[i] - mean[i / count]) * rstd[i / count] * weight_at(i % count) +
                        bias_at(i % count));
    return results;
  }
  // With these statistics.
  struct Gradients {
    Numbers a, weight, bias;
  };
  Gradients gradients(const Numbers& mean, const Numbers& rstd) const {
    Gradients by{Numbers(a.size()), Numbers(count), Numbers(count)};
    for (std::size_t row = 0; row < rstd.size(); ++row) {
      double mean_of_g = 0, mean_of_products = 0;
      const auto flat = [&](std::size_t i) {
        return (a[row * count + i] - (centers ? mean[row] : 0)) * rstd[row];
      };
      for (std::size_t i = 0; i < count; ++i) {
        const double g = grad[row * count + i];
        by.weight[i] += g * flat(i);
        by.bias[i] += g;
        mean_of_g += g * weight_at(i) / static_cast<double>(count);
        mean_of_products += g * weight_at(i) * flat(i) / static_cast<double>(count);
      }
      for (std::size_t i = 0; i < count; ++i)
        by.a[row * count + i] = (grad[row * count + i] * weight_at(i) - (centers ? mean_of_g : 0) -
                                 flat(i) * mean_of_products) *
                                rstd[row];
    }
    return by;
  }
};

// Computed in f32, or f64, and rounded to the dtype once.
void expect_near(const Tensor& actual, const Numbers& expected, const std::string& what,
                 double room = 4e-6) {
  const Dtype dtype = actual.dtype();
  const double rounding = dtype == f16 ? 0x1p-11 : dtype == bf16 ? 0x1p-8 : 0;
  if (dtype == f64) room *= 1e-8;
  const Numbers values = numbers_of(actual);
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(values[i])) continue;
    const double size = std::abs(expected[i]);
    ASSERT_NEAR(values[i], expected[i], rounding * size * 1.01 + room * std::max(1.0, size))
        << what << ", element " << i << " of " << expected.size();
  }
}

class Norm : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { BP_SKIP_WITHOUT(GetParam()); }

  // Calls of `op` on the device were served by generated kernels.
  template <class Call> void expect_generated(const char* op, int calls, Call&& call) {
    const std::string_view device = GetParam();
    const Served served(op, std::string(device.substr(0, device.find(':'))).c_str());
    call();
    EXPECT_EQ(served.since(), fmt::format("generated {}", calls)) << op;
  }

  Tensor there(const Tensor& a) const { return a.defined() ? to(a, device(GetParam())) : a; }
  Tensor numbers(IntList shape, Dtype dtype, double scale = 1, double shift = 0) {
    return to(fractions(shape, random_) * scale + shift, dtype);
  }

  struct Parts {
    bool weight, bias, centers;
  };
  void expect_forward(const Tensor& a, const Parts& parts, double eps, double room = 4e-6);
  void expect_backward(const Tensor& a, const Parts& parts, double room = 4e-6);

  std::mt19937 random_{31};
};

INSTANTIATE_TEST_SUITE_P(all, Norm, testing::ValuesIn(compiling_devices), device_test_name);

std::string text_of(const Tensor& a, bool weight, bool bias, bool centers) {
  return fmt::format("{} of {} {}{}{}", centers ? "layer_norm" : "rms_norm", name(a.dtype()),
                     to_string(a.shape()), weight ? ", weighted" : "", bias ? ", shifted" : "");
}

void Norm::expect_forward(const Tensor& a, const Parts& parts, double eps, double room) {
  const std::int64_t count = a.size(-1);
  const Tensor weight = parts.weight ? numbers({count}, a.dtype()) : Tensor();
  const Tensor bias = parts.bias ? numbers({count}, a.dtype()) : Tensor();
  const Rows rows{
      numbers_of(a), numbers_of(weight), numbers_of(bias), {}, static_cast<std::size_t>(count),
      eps,           parts.centers};
  const Numbers means = rows.means(), rstds = rows.rstds(means);
  const std::string what = text_of(a, parts.weight, parts.bias, parts.centers);
  if (parts.centers) {
    const auto actual = native_layer_norm(there(a), {count}, there(weight), there(bias), eps);
    expect_near(actual.result, rows.results(), what, room);
    expect_near(actual.mean, means, what + ": mean");
    expect_near(actual.rstd, rstds, what + ": rstd");
  } else {
    const auto actual = native_rms_norm(there(a), {count}, there(weight), eps);
    expect_near(actual.result, rows.results(), what, room);
    expect_near(actual.rstd, rstds, what + ": rstd");
  }
}

// About the ends of vectors, packs and teams, of what registers hold, and of parts.
constexpr std::int64_t lengths_of_rows[] = {1,    2,    31,   32,    33,       1000,
                                            1024, 4097, 8192, 40000, 65536 + 3};

// Where groups share rows, each length may have a kernel of its own, for which OpenCL's compiler takes a second.
std::vector<std::int64_t> lengths_on(std::string_view device) {
  const char* shape = std::getenv("BACKPLANE_OPENCL_SHAPE");
  if (device.starts_with("opencl") && shape && std::string_view(shape) == "gpu")
    return {1, 33, 1000, 4097, 65536 + 3};
  return {std::begin(lengths_of_rows), std::end(lengths_of_rows)};
}
std::vector<Dtype> dtypes_on(std::string_view device) {
  if (device.starts_with("opencl")) return {f64, bf16};
  return {f32, f64, f16, bf16};
}
std::vector<std::int64_t> lengths_of_dtypes_on(std::string_view device) {
  if (device.starts_with("opencl")) return {1000};
  return {33, 1000, 40000};
}

TEST_P(Norm, of_rows_of_every_length_is_what_loops_say) {
  for (const std::int64_t count : lengths_on(GetParam())) {
    const Dims shape{count > 10000 ? 2 : 5, count};
    expect_generated("native_layer_norm", 1, [&] {
      expect_forward(numbers(shape, f32), {true, true, true}, 1e-5);
    });
    expect_generated("native_rms_norm", 1, [&] {
      expect_forward(numbers(shape, f32), {true, false, false}, 1e-5);
    });
  }
}

TEST_P(Norm, is_rounded_once_in_every_dtype) {
  for (const Dtype dtype : dtypes_on(GetParam()))
    for (const std::int64_t count : lengths_of_dtypes_on(GetParam())) {
      const Dims shape{3, count};
      expect_generated("native_layer_norm", 1, [&] {
        expect_forward(numbers(shape, dtype), {true, true, true}, 1e-3);
      });
      expect_generated("native_rms_norm", 1, [&] {
        expect_forward(numbers(shape, dtype), {false, false, false}, 1e-3);
      });
    }
}

TEST_P(Norm, goes_without_weight_or_bias) {
  for (const std::int64_t count : {20, 40000})
    for (const auto& [weight, bias] : {std::pair{false, false}, {true, false}, {false, true}})
      expect_generated("native_layer_norm", 1, [&, weight = weight, bias = bias] {
        expect_forward(numbers({4, count}, f32), {weight, bias, true}, 0.5);
      });
}

TEST_P(Norm, serves_many_short_rows) {
  for (const std::int64_t count : {1, 3, 7, 64, 130}) {
    expect_forward(numbers({3001, count}, f32), {true, true, true}, 1e-5);
    expect_forward(numbers({3001, count}, f32), {true, false, false}, 1e-5);
  }
}

// What a sum of squares, or a mean rounded to f32, would lose.
TEST_P(Norm, keeps_the_variance_of_values_far_from_zero) {
  for (const std::int64_t count : {100, 4096, 100003})
    expect_forward(numbers({3, count}, f32, 1.7, 1e4), {false, false, true}, 1e-5, 2e-5);
}

TEST_P(Norm, spreads_nan_over_its_row_alone) {
  for (const std::int64_t count : {10, 5000, 40000}) {
    Numbers values = numbers_of(numbers({4, count}, f32));
    const auto row = static_cast<std::size_t>(count);
    values[row + 3] = std::nan("");
    std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(2 * row), row, 0.0);
    const Tensor a = reshape(to(tensor(values), f32), {4, count});
    expect_forward(a, {true, true, true}, 1e-5);
    expect_forward(a, {true, false, false}, 1e-5);
  }
}

TEST_P(Norm, gives_zeros_for_equal_elements) {
  const Tensor a = full({3, 1000}, 0.1, f32, device(GetParam()));
  const auto parts = native_layer_norm(a, {1000}, {}, {}, 1e-5);
  for (const double each : numbers_of(parts.result)) ASSERT_EQ(each, 0);
}

TEST_P(Norm, of_several_dimensions_and_of_any_strides) {
  const Tensor a = transpose(numbers({4, 6, 5, 3}, f32), 0, 3);
  const Tensor weight = transpose(numbers({4, 5}, f32), 0, 1);
  const Rows rows{numbers_of(a), numbers_of(weight), {}, {}, 20};
  expect_stays_on(GetParam(), "layer_norm of any strides", [&] {
    const Tensor on_device = transpose(there(transpose(a, 0, 3)), 0, 3);
    const Tensor weight_there = transpose(there(transpose(weight, 0, 1)), 0, 1);
    expect_near(layer_norm(on_device, {5, 4}, weight_there), rows.results(), "any strides");
  });
}

void Norm::expect_backward(const Tensor& a, const Parts& parts, double room) {
  const std::int64_t count = a.size(-1);
  const Tensor weight = parts.weight ? numbers({count}, a.dtype()) : Tensor();
  const Tensor grad = numbers(a.shape(), a.dtype());
  const Rows rows{
      numbers_of(a), numbers_of(weight), {}, numbers_of(grad), static_cast<std::size_t>(count),
      1e-5,          parts.centers};
  const Numbers means = rows.means(), rstds = rows.rstds(means);
  const Dtype wide = a.dtype() == f64 ? f64 : f32;
  const Dims statistics{a.size(0), 1};
  const Tensor rstd = there(reshape(to(tensor(rstds), wide), statistics));
  const Tensor mean =
      parts.centers ? there(reshape(to(tensor(means), wide), statistics)) : Tensor();
  const auto by = rows.gradients(numbers_of(mean), numbers_of(rstd));
  const std::string what = text_of(a, parts.weight, false, parts.centers);
  double largest = 1;
  for (const double each : rstds) largest = std::max(largest, each);
  expect_near(norm_backward(there(grad), there(a), {count}, mean, rstd, there(weight)), by.a, what,
              room * largest);
  const auto all = norm_gradients(there(grad), there(a), {count}, mean, rstd, there(weight));
  expect_near(all.grad_input, by.a, what + ": all", room * largest);
  // Errors grow with the sum.
  const double of_sums = room * std::sqrt(static_cast<double>(a.size(0)));
  expect_near(norm_weight_backward(there(grad), there(a), {count}, mean, rstd), by.weight, what,
              of_sums * largest);
  expect_near(all.grad_weight, by.weight, what + ": all, by weight", of_sums * largest);
  expect_near(all.grad_bias, parts.centers ? by.bias : Numbers(), what + ": all, by bias", of_sums);
}

TEST_P(Norm, has_the_gradients_that_loops_say) {
  for (const std::int64_t count : lengths_on(GetParam())) {
    const Dims shape{count > 10000 ? 2 : 5, count};
    for (const bool centers : {true, false}) {
      expect_generated("norm_backward", 1, [&] {
        expect_generated("norm_weight_backward", 1, [&] {
          expect_generated("norm_gradients", 1, [&] {
            expect_backward(numbers(shape, f32), {true, false, centers});
          });
        });
      });
    }
  }
}

TEST_P(Norm, has_gradients_of_every_dtype) {
  for (const Dtype dtype : dtypes_on(GetParam()))
    for (const std::int64_t count : lengths_of_dtypes_on(GetParam())) {
      expect_backward(numbers({3, count}, dtype), {true, false, true});
      expect_backward(numbers({3, count}, dtype), {false, false, false});
    }
}

TEST_P(Norm, sums_gradients_over_many_rows) {
  for (const std::int64_t count : {1, 3, 64, 130}) {
    expect_backward(numbers({20011, count}, f32), {true, false, true});
    expect_backward(numbers({3001, count}, bf16), {true, false, false});
  }
}

TEST_P(Norm, gives_the_same_bits_again) {
  const Tensor a = there(numbers({3000, 70}, f32)), grad = there(numbers({3000, 70}, f32));
  const auto forward = native_layer_norm(a, {70});
  const auto sums = [&] {
    return numbers_of(norm_gradients(grad, a, {70}, forward.mean, forward.rstd).grad_weight);
  };
  const Numbers first = sums();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sums(), first);
}

}  // namespace
}  // namespace bp::test
