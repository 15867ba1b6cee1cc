// needs: cpu
// Results on the cpu against plain loops in float64 that share nothing with any kernel.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/samples/samples.hpp>
#include <backplane/tensor/views.hpp>
#include <backplane/tensors.hpp>

namespace bp {
namespace {

// A tensor's elements, row-major, and how to walk them.
struct Values {
  Dims shape;
  std::vector<double> data;

  std::int64_t numel() const { return static_cast<std::int64_t>(data.size()); }
  // The element that broadcasting to `wide` shows at its row-major position `at`.
  double broadcast_at(std::int64_t at, IntList wide) const {
    std::int64_t place = 0;
    std::int64_t step = 1;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const std::int64_t index = at % wide[wide.size() - 1 - i];
      at /= wide[wide.size() - 1 - i];
      if (i >= shape.size()) continue;
      const std::int64_t size = shape[shape.size() - 1 - i];
      if (size != 1) place += index * step;
      step *= size;
    }
    return data[static_cast<std::size_t>(place)];
  }
};

template <class T> std::vector<double> widened(const Tensor& a) {
  const std::vector<T> narrow = to_vector<T>(a);
  return {narrow.begin(), narrow.end()};
}

Values read(const Tensor& a) {
  Values values{Dims(a.shape()), {}};
  switch (a.dtype()) {
    case f32: values.data = widened<float>(a); break;
    case f64: values.data = widened<double>(a); break;
    case i64: values.data = widened<std::int64_t>(a); break;
    case i32: values.data = widened<std::int32_t>(a); break;
    case u8: values.data = widened<std::uint8_t>(a); break;
    default: {
      std::vector<unsigned char> bytes(static_cast<std::size_t>(a.numel()));
      detail::values_of(a, boolean, bytes.data());
      values.data.assign(bytes.begin(), bytes.end());
    }
  }
  return values;
}

Values argument(const Sample& sample, std::size_t place) {
  const bp_value& value = sample.args[place];
  if (value.tag != BP_TENSOR) return {{}, {Scalar::from_value(value).to_double()}};
  return read(Tensor::share(TensorImpl::of(value.u.tensor)));
}

void expect_close(const Tensor& result, const std::vector<double>& expected, double ulps,
                  const std::string& what) {
  const Values actual = read(result);
  ASSERT_EQ(actual.data.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double wanted = result.dtype() == f32 ? static_cast<float>(expected[i]) : expected[i];
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(actual.data[i])) << what << " element " << i;
      continue;
    }
    if (actual.data[i] == wanted) continue;
    const double unit = result.dtype() == f32 ? 0x1p-23 : 0x1p-52;
    const double room = ulps * std::max(std::abs(wanted) * unit, 0x1p-149);
    ASSERT_NEAR(actual.data[i], wanted, room) << what << " element " << i;
  }
}

using Unary = std::function<double(double)>;
using Binary = std::function<double(double, double)>;

double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : a > b ? a : b;
}

double gelu_of(double a) {
  return a * std::erfc(-a / std::sqrt(2.0)) / 2;
}
double gelu_tanh_of(double a) {
  return a /
         (1 + std::exp(-2 * std::sqrt(2 / 3.14159265358979323846) * (a + 0.044715 * a * a * a)));
}
double hardsigmoid_of(double a) {
  return std::isnan(a) ? a : std::min(std::max(a + 3, 0.0), 6.0) / 6;
}

const std::map<std::string, std::pair<Unary, double>>& unary_references() {
  static const std::map<std::string, std::pair<Unary, double>> references = {
      {"neg", {[](double a) { return -a; }, 0}},
      {"abs", {[](double a) { return std::abs(a); }, 0}},
      {"exp", {[](double a) { return std::exp(a); }, 3}},
      {"log", {[](double a) { return std::log(a); }, 3}},
      {"sqrt", {[](double a) { return std::sqrt(a); }, 1}},
      {"sin", {[](double a) { return std::sin(a); }, 4}},
      {"cos", {[](double a) { return std::cos(a); }, 4}},
      {"tanh", {[](double a) { return std::tanh(a); }, 5}},
      {"sigmoid", {[](double a) { return 1 / (1 + std::exp(-a)); }, 5}},
      {"relu", {[](double a) { return std::isnan(a) ? a
                                      : a > 0       ? a
                                                    : 0; }, 0}},
      {"floor", {[](double a) { return std::floor(a); }, 0}},
      {"ceil", {[](double a) { return std::ceil(a); }, 0}},
      {"trunc", {[](double a) { return std::trunc(a); }, 0}},
      {"round", {[](double a) { return std::nearbyint(a); }, 0}},
      {"reciprocal", {[](double a) { return 1 / a; }, 1}},
      {"rsqrt", {[](double a) { return 1 / std::sqrt(a); }, 2}},
      {"square", {[](double a) { return a * a; }, 1}},
      {"erf", {[](double a) { return std::erf(a); }, 4}},
      {"expm1", {[](double a) { return std::expm1(a); }, 3}},
      {"log1p", {[](double a) { return std::log1p(a); }, 3}},
      {"gelu", {gelu_of, 32}},  // 1 + erf loses what is near -1
      {"gelu_tanh", {gelu_tanh_of, 32}},
      {"silu", {[](double a) { return a / (1 + std::exp(-a)); }, 64}},  // of 1e-44
      {"hardswish", {[](double a) { return a * hardsigmoid_of(a); }, 3}},
      {"hardsigmoid", {hardsigmoid_of, 2}},
      {"logical_not", {[](double a) { return a == 0; }, 0}},
  };
  return references;
}

const std::map<std::string, std::pair<Binary, double>>& binary_references() {
  static const std::map<std::string, std::pair<Binary, double>> references = {
      {"add", {[](double a, double b) { return a + b; }, 1}},
      {"sub", {[](double a, double b) { return a - b; }, 1}},
      {"mul", {[](double a, double b) { return a * b; }, 1}},
      {"div", {[](double a, double b) { return a / b; }, 1}},
      {"maximum", {larger, 0}},
      {"minimum", {[](double a, double b) { return -larger(-a, -b); }, 0}},
      {"eq", {[](double a, double b) { return a == b; }, 0}},
      {"ne", {[](double a, double b) { return a != b; }, 0}},
      {"lt", {[](double a, double b) { return a < b; }, 0}},
      {"le", {[](double a, double b) { return a <= b; }, 0}},
      {"gt", {[](double a, double b) { return a > b; }, 0}},
      {"ge", {[](double a, double b) { return a >= b; }, 0}},
      {"logical_and", {[](double a, double b) { return a != 0 && b != 0; }, 0}},
      {"logical_or", {[](double a, double b) { return a != 0 || b != 0; }, 0}},
      {"logical_xor", {[](double a, double b) { return (a != 0) != (b != 0); }, 0}},
      {"pow", {[](double a, double b) { return std::pow(a, b); }, 2}},
  };
  return references;
}

Operator& row(const std::string& name) {
  ensure_operators();
  return *find_operator(name);
}

TEST(Numeric, functions_of_one_tensor_match_the_c_library) {
  for (const auto& [name, reference] : unary_references()) {
    Operator& op = row(name);
    for (Dtype dtype : {f32, f64}) {
      for (const Sample& sample : samples_of(op, dtype, host_device())) {
        const Values a = argument(sample, 0);
        std::vector<double> expected;
        for (double value : a.data) expected.push_back(reference.first(value));
        expect_close(call_boxed(op, sample.args)[0], expected, reference.second,
                     name + " " + sample.recipe);
      }
    }
  }
}

TEST(Numeric, functions_of_two_tensors_match_scalar_arithmetic) {
  for (const auto& [name, reference] : binary_references()) {
    Operator& op = row(name);
    for (Dtype dtype : {f32, f64}) {
      for (const Sample& sample : samples_of(op, dtype, host_device())) {
        const Values a = argument(sample, 0);
        const Values b = argument(sample, 1);
        const Tensor result = call_boxed(op, sample.args)[0];
        std::vector<double> expected;
        for (std::int64_t i = 0; i < result.numel(); ++i)
          expected.push_back(reference.first(a.broadcast_at(i, result.shape()),
                                             b.broadcast_at(i, result.shape())));
        expect_close(result, expected, reference.second, name + " " + sample.recipe);
      }
    }
  }
}

// Where each input element goes when `dims` are reduced.
std::int64_t reduced_place(std::int64_t at, IntList shape, std::uint32_t dims) {
  std::int64_t place = 0;
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (!(dims >> d & 1u)) {
      place += at % shape[d] * step;
      step *= shape[d];
    }
    at /= shape[d];
  }
  return place;
}

std::uint32_t dims_of(const Sample& sample, std::size_t rank) {
  const bp_value& value = sample.args[1];
  if (value.tag == BP_NONE) return (1u << rank) - 1;
  std::uint32_t bits = 0;
  const auto* list =
      value.tag == BP_INT ? &value.u.i : static_cast<const std::int64_t*>(value.u.ptr);
  const std::uint32_t count = value.tag == BP_INT ? 1 : value.aux;
  for (std::uint32_t i = 0; i < count; ++i)
    bits |=
        rank == 0 ? 0 : 1u << (list[i] < 0 ? list[i] + static_cast<std::int64_t>(rank) : list[i]);
  return bits;
}

TEST(Numeric, reductions_match_loops) {
  const std::map<std::string, std::pair<double, Binary>> references = {
      {"sum", {0, [](double a, double b) { return a + b; }}},
      {"mean", {0, [](double a, double b) { return a + b; }}},
      {"max", {-INFINITY, larger}},
      {"min", {INFINITY, [](double a, double b) { return -larger(-a, -b); }}},
  };
  for (const auto& [name, reference] : references) {
    Operator& op = row(name);
    for (const Sample& sample : samples_of(op, f32, host_device())) {
      const Values a = argument(sample, 0);
      const Tensor result = call_boxed(op, sample.args)[0];
      std::vector<double> expected(static_cast<std::size_t>(result.numel()), reference.first);
      double magnitude = 1;
      for (std::int64_t i = 0; i < a.numel(); ++i) {
        double& place = expected[static_cast<std::size_t>(
            reduced_place(i, a.shape, dims_of(sample, a.shape.size())))];
        place = reference.second(place, a.data[static_cast<std::size_t>(i)]);
        if (std::isfinite(a.data[static_cast<std::size_t>(i)]))
          magnitude += std::abs(a.data[static_cast<std::size_t>(i)]);
      }
      if (name == "mean")
        for (double& value : expected)
          value /= static_cast<double>(a.numel()) / static_cast<double>(expected.size());
      const Values actual = read(result);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (std::isnan(expected[i])) {
          EXPECT_TRUE(std::isnan(actual.data[i])) << name;
        } else if (actual.data[i] != expected[i]) {
          EXPECT_NEAR(actual.data[i], expected[i], magnitude * 0x1p-20)
              << name << " " << sample.recipe;
        }
      }
    }
  }
}

TEST(Numeric, argmax_takes_the_first_of_equal_ones_and_nan_before_all) {
  EXPECT_EQ(item<int>(argmax(tensor({1.0, 3.0, 3.0, 2.0}))), 1);
  EXPECT_EQ(item<int>(argmax(tensor({1.0, std::nan(""), 3.0}))), 1);
  EXPECT_EQ(to_vector<std::int64_t>(argmax(tensor({{1, 5}, {7, 2}}), 1)),
            (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(to_vector<std::int64_t>(argmax(tensor({{1, 5}, {7, 2}}), 0)),
            (std::vector<std::int64_t>{1, 0}));
}

TEST(Numeric, empty_reductions_have_pytorchs_values) {
  EXPECT_EQ(item<float>(sum(zeros({0}))), 0.0f);
  EXPECT_TRUE(std::isnan(item<float>(mean(zeros({0})))));
  EXPECT_EQ(to_vector<float>(sum(zeros({0, 2}), 0)), (std::vector<float>{0, 0}));
  EXPECT_EQ(to_vector<float>(matmul(zeros({2, 0}), zeros({0, 1}))), (std::vector<float>{0, 0}));
}

TEST(Numeric, matrix_products_match_three_loops) {
  for (const char* name : {"matmul", "bmm"}) {
    Operator& op = row(name);
    for (Dtype dtype : {f32, f64, i64}) {
      for (const Sample& sample : samples_of(op, dtype, host_device())) {
        const Values a = argument(sample, 0);
        const Values b = argument(sample, 1);
        const Tensor result = call_boxed(op, sample.args)[0];
        const std::int64_t n = result.size(-2), m = result.size(-1), k = a.shape.back();
        Dims a_wide(result.shape()), b_wide(result.shape());
        a_wide.back() = k;
        b_wide[b_wide.size() - 2] = k;
        const Values actual = read(result);
        for (std::int64_t at = 0; at < result.numel(); ++at) {
          const std::int64_t batch = at / (n * m), i = at / m % n, j = at % m;
          double expected = 0;
          for (std::int64_t l = 0; l < k; ++l)
            expected += a.broadcast_at((batch * n + i) * k + l, a_wide) *
                        b.broadcast_at((batch * k + l) * m + j, b_wide);
          ASSERT_NEAR(actual.data[static_cast<std::size_t>(at)], expected, 1e-4)
              << name << " " << sample.recipe;
        }
      }
    }
  }
}

TEST(Numeric, softmax_sums_to_one_and_matches_its_logarithm) {
  const Tensor a = tensor({{1.0, 2.0, 3.0}, {1000.0, 1000.0, -1000.0}}, {.dtype = f64});
  const std::vector<double> p = to_vector<double>(softmax(a, 1));
  const double total = std::exp(-2.0) + std::exp(-1.0) + 1;
  EXPECT_NEAR(p[0], std::exp(-2.0) / total, 1e-15);
  EXPECT_NEAR(p[2], 1 / total, 1e-15);
  EXPECT_NEAR(p[3], 0.5, 1e-15);
  EXPECT_EQ(p[5], 0.0);
  const std::vector<double> logs = to_vector<double>(log_softmax(a, -1));
  EXPECT_NEAR(logs[1], std::log(std::exp(-1.0) / total), 1e-14);
  EXPECT_EQ(logs[5], -2000 - std::log(2.0));
}

TEST(Numeric, indexing_reads_and_adds_where_it_should) {
  const Tensor a = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  EXPECT_EQ(to_vector<float>(gather(a, 1, tensor({{2, 0}, {1, 1}}))),
            (std::vector<float>{3, 1, 5, 5}));
  EXPECT_EQ(to_vector<float>(index_select(a, 1, tensor({2, 2, 0}))),
            (std::vector<float>{3, 3, 1, 6, 6, 4}));
  EXPECT_EQ(to_vector<float>(
                scatter_add(a, 1, tensor({{0, 0}, {2, 2}}), tensor({{1.0, 1.0}, {1.0, 2.0}}))),
            (std::vector<float>{3, 2, 3, 4, 5, 9}));
  EXPECT_EQ(to_vector<std::int64_t>(one_hot(tensor({1, 0}))),
            (std::vector<std::int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(to_vector<std::int64_t>(nonzero(tensor({{0, 7}, {8, 0}}))),
            (std::vector<std::int64_t>{0, 1, 1, 0}));
  EXPECT_THROW(gather(a, 1, tensor({{3}})), Error);
  EXPECT_THROW(one_hot(tensor({3}), 3), Error);
}

TEST(Numeric, sort_is_stable_and_nan_is_the_largest) {
  const SortResult up = sort(tensor({2.0, std::nan(""), 1.0, 2.0}));
  EXPECT_EQ(to_vector<std::int64_t>(up.indices), (std::vector<std::int64_t>{2, 0, 3, 1}));
  const SortResult down = sort(tensor({2.0, std::nan(""), 1.0, 2.0}), -1, true);
  EXPECT_EQ(to_vector<std::int64_t>(down.indices), (std::vector<std::int64_t>{1, 0, 3, 2}));
}

TEST(Numeric, running_sums_are_in_order) {
  EXPECT_EQ(to_vector<std::int64_t>(cumsum(tensor({{1, 2}, {3, 4}}), 0)),
            (std::vector<std::int64_t>{1, 2, 4, 6}));
  EXPECT_EQ(to_vector<std::int64_t>(cumsum(tensor({true, true, false}), 0)),
            (std::vector<std::int64_t>{1, 2, 2}));
}

TEST(Numeric, casts_follow_pytorch) {
  const Tensor a = tensor({-1.9, 0.0, 0.4, 2.6});
  EXPECT_EQ(to_vector<std::int64_t>(to(a, i64)), (std::vector<std::int64_t>{-1, 0, 0, 2}));
  EXPECT_EQ(to_vector<std::int64_t>(to(to(a, boolean), i64)),
            (std::vector<std::int64_t>{1, 0, 1, 1}));
  EXPECT_EQ(to_vector<float>(to(to(tensor({65519.0, 65520.0}), f16), f32)),
            (std::vector<float>{65504, INFINITY}));
}

TEST(Numeric, joined_tensors_are_promoted_and_empty_ones_left_out) {
  const Tensor joined = cat({tensor({1, 2}), tensor({0.5}), empty({0})});
  EXPECT_EQ(to_vector<float>(joined), (std::vector<float>{1, 2, 0.5f}));
}

TEST(Numeric, powers_of_integers_wrap_and_fractions_are_0) {
  const Tensor a = tensor(std::vector<std::int64_t>{3, -2, 0, -5, 10, 2, -1, -1, 1, 3, 0});
  const Tensor b = tensor(std::vector<std::int64_t>{4, 3, 0, 40, 30, 62, -2, -3, -4, -1, 5});
  EXPECT_EQ(to_vector<std::int64_t>(pow(a, b)),
            (std::vector<std::int64_t>{81, -8, 1, -4369436395329424031, 5076944270305263616,
                                       4611686018427387904, 1, -1, 1, 0, 0}));
  EXPECT_EQ(name(pow(a, 0.5).dtype()), name(f32));
}

// As PyTorch's, also in the dtype of the shortest path.
TEST(Numeric, a_negative_whole_power_of_integers_is_refused) {
  const auto refusal = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  for (const Dtype dtype : {i64, i32, i8, u8, boolean}) {
    const Tensor base = ones({2}, dtype);
    const std::string said = fmt::format(
        "pow: integers to negative integer powers are not allowed: 'input' is {} and 'exponent' is "
        "-1; cast the input, or pass a real exponent (-1.0)",
        name(dtype));
    EXPECT_EQ(refusal([&] { pow(base, -1); }), said);
    EXPECT_EQ(refusal([&] {
                call_boxed("pow", {value_of(base), value_of(std::int64_t{-1})});
              }),
              said);
    if (dtype == i64) {
      EXPECT_EQ(refusal([&] { pow_(base, -1); }).substr(4), said.substr(3));
    }
    EXPECT_EQ(pow(base, -1.0).dtype(), f32);
    EXPECT_EQ(to_vector<std::int64_t>(pow(base, tensor({-1, -2}))),
              (std::vector<std::int64_t>{1, 1}));
  }
  EXPECT_EQ(to_vector<std::int64_t>(pow(-2, tensor({3, -1}))), (std::vector<std::int64_t>{-8, 0}));
  EXPECT_EQ(to_vector<std::int64_t>(pow(tensor({3, 4}), 2)), (std::vector<std::int64_t>{9, 16}));
}

TEST(Numeric, integers_are_whole) {
  for (const Dtype dtype : {u8, i8, i16, i32, i64, u16, u32, u64}) {
    const Tensor x = cast(tensor({0, 1, 127}), dtype);
    for (const Tensor& whole : {floor(x), ceil(x), trunc(x), round(x)}) {
      EXPECT_EQ(whole.dtype(), dtype);
      EXPECT_TRUE(equal(whole, x)) << name(dtype);
    }
  }
  const Tensor least = tensor(std::vector<std::int64_t>{INT64_MIN, INT64_MAX, -3});
  for (const Tensor& whole : {floor(least), ceil(least), trunc(least), round(least)})
    EXPECT_TRUE(equal(whole, least));
}

TEST(Numeric, a_bool_is_its_own_sign) {
  const Tensor x = tensor({true, false});
  for (const Tensor& made : {sign(x), sgn(x)}) {
    EXPECT_EQ(made.dtype(), boolean);
    EXPECT_TRUE(equal(made, x));
  }
  for (const auto& call : {floor, ceil, trunc, round}) EXPECT_THROW(call(x), Error);
}

TEST(Numeric, bounds_beside_integers_lose_their_fractions) {
  const Tensor x = tensor({-4, 0, 1, 9});
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(to_vector<std::int64_t>(hardtanh(x)), (Numbers{-1, 0, 1, 1}));
  EXPECT_EQ(to_vector<std::int64_t>(hardtanh(x, -2.9, 7.9)), (Numbers{-2, 0, 1, 7}));
  EXPECT_EQ(to_vector<std::int64_t>(threshold(x, 0.5, 3.5)), (Numbers{3, 3, 1, 9}));
  EXPECT_EQ(to_vector<std::uint8_t>(threshold(cast(tensor({0, 5}), u8), 1, -1)),
            (std::vector<std::uint8_t>{255, 5}));
  EXPECT_EQ(to_vector<std::uint8_t>(hardtanh(cast(tensor({0, 1, 7}), u8))),
            (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT_THROW(threshold(cast(x, u8), 1, 300), Error);
}

TEST(Numeric, bounds_are_kept_and_promoted_as_numbers) {
  const Tensor a = tensor({-2.0, 0.25, 3.0, std::nan("")});
  EXPECT_EQ(to_vector<float>(views::narrow(clamp(a, -1, 2), 0, 0, 3)),
            (std::vector<float>{-1, 0.25f, 2}));
  EXPECT_TRUE(std::isnan(to_vector<float>(clamp(a, -1, 2))[3]));
  EXPECT_EQ(to_vector<float>(clamp(tensor({0, 5}), 1.5, 0.5)), (std::vector<float>{0.5f, 0.5f}));
  EXPECT_EQ(to_vector<std::int64_t>(clamp_max(clamp_min(tensor({-7, 1, 9}), 0), 4)),
            (std::vector<std::int64_t>{0, 1, 4}));
}

TEST(Numeric, activations_take_their_numbers) {
  const Tensor a = tensor({-3.0, -0.5, 0.0, 0.5, 3.0}, {.dtype = f64});
  const std::vector<double> values = to_vector<double>(a);
  const std::vector<double> curved = to_vector<double>(elu(a, 0.7));
  const std::vector<double> leaky = to_vector<double>(leaky_relu(a, 0.2));
  const std::vector<double> soft = to_vector<double>(softplus(a, 2, 3));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i];
    EXPECT_DOUBLE_EQ(curved[i], x > 0 ? x : 0.7 * std::expm1(x));
    EXPECT_EQ(leaky[i], x > 0 ? x : 0.2 * x);
    EXPECT_DOUBLE_EQ(soft[i], 2 * x > 3 ? x : std::log1p(std::exp(2 * x)) / 2);
  }
}

TEST(Numeric, int64_keeps_what_a_double_would_lose) {
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const Tensor a = tensor(std::vector<std::int64_t>{large, 1});
  EXPECT_EQ(item<std::int64_t>(sum(a)), large + 1);
  EXPECT_EQ(to_vector<std::int64_t>(a + 2)[0], large + 2);
  EXPECT_EQ(to_vector<std::int64_t>(full({1}, large))[0], large);
}

}  // namespace
}  // namespace bp
