// needs: cpu reference_primitives
// Functions of complex numbers against C's, which say what comes of infinities, NaN and both zeros (C11, annex G), and their
// derivatives against differences.
#include <cmath>
#include <complex>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include <backplane/functional/vmap.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using Complex = std::complex<double>;

double infinity() {
  return std::numeric_limits<double>::infinity();
}

using Function = Complex (*)(const Complex&);

struct Named {
  const char* row;
  Tensor (*ours)(const Tensor&);
  Complex (*theirs)(const Complex&);
};

Complex exp2_of(const Complex& z) {
  return std::exp(z * std::numbers::ln2);
}
Complex expm1_of(const Complex& z) {
  const double half = std::sin(z.imag() / 2);
  if (!std::isfinite(z.real()) || !std::isfinite(z.imag())) return std::exp(z) - 1.0;
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half,
          std::exp(z.real()) * std::sin(z.imag())};
}
Complex log2_of(const Complex& z) {
  return std::log(z) / std::numbers::ln2;
}
Complex log10_of(const Complex& z) {
  return std::log(z) / std::numbers::ln10;
}

const Named functions[] = {
    {"exp", exp, std::exp<double>},
    {"exp2", exp2, exp2_of},
    {"expm1", expm1, expm1_of},
    {"log", log, std::log<double>},
    {"log2", log2, log2_of},
    {"log10", log10, log10_of},
    {"sqrt", sqrt, std::sqrt<double>},
    {"sin", sin, std::sin<double>},
    {"cos", cos, std::cos<double>},
    {"tan", tan, std::tan<double>},
    {"sinh", sinh, std::sinh<double>},
    {"cosh", cosh, std::cosh<double>},
    {"tanh", tanh, std::tanh<double>},
    {"asin", asin, std::asin<double>},
    {"acos", acos, std::acos<double>},
    {"atan", atan, std::atan<double>},
    {"asinh", asinh, std::asinh<double>},
    {"acosh", acosh, std::acosh<double>},
    {"atanh", atanh, std::atanh<double>},
};

std::vector<Complex> grid_of(const std::vector<double>& parts) {
  std::vector<Complex> grid;
  for (const double x : parts)
    for (const double y : parts) grid.emplace_back(x, y);
  return grid;
}

Tensor complex_tensor(const std::vector<Complex>& values, Device device) {
  Values pairs;
  for (const Complex& value : values) pairs.insert(pairs.end(), {value.real(), value.imag()});
  const std::int64_t count = static_cast<std::int64_t>(values.size());
  return to(view_as_complex(reshape(tensor(pairs), {count, 2})), device);
}

std::vector<Complex> complex_values(const Tensor& tensor) {
  const Values parts = values_of(view_as_real(contiguous(cpu(tensor))));
  std::vector<Complex> values;
  for (std::size_t i = 0; i < parts.size(); i += 2) values.emplace_back(parts[i], parts[i + 1]);
  return values;
}

// Where the other part is NaN, C leaves the sign open.
void expect_part(double actual, double expected, double other, double size, bool zeros_count) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << actual;
  } else if (std::isinf(expected)) {
    EXPECT_TRUE(std::isinf(actual)) << actual;
    if (!std::isnan(other)) {
      EXPECT_EQ(actual, expected);
    }
  } else if (expected == 0 && zeros_count) {
    EXPECT_EQ(actual, 0);
    if (!std::isnan(other)) {
      EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << "0 and -0";
    }
  } else {
    EXPECT_NEAR(actual, expected, 4e-15 * (std::isfinite(size) ? size : std::abs(expected)));
  }
}

void expect_alike(const Named& function, const std::vector<Complex>& inputs, Device device,
                  bool zeros_count) {
  const std::vector<Complex> actual = complex_values(function.ours(complex_tensor(inputs, device)));
  ASSERT_EQ(actual.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Complex wanted = function.theirs(inputs[i]);
    std::ostringstream what;
    what << function.row << inputs[i] << " is " << wanted << " and not " << actual[i];
    SCOPED_TRACE(what.str());
    const double size = std::abs(wanted);
    // Of NaN C leaves signs of zeros open.
    const bool has_nan = std::isnan(inputs[i].real()) || std::isnan(inputs[i].imag());
    const double sign_is_open = has_nan ? std::nan("") : 0;
    expect_part(actual[i].real(), wanted.real(), wanted.imag() + sign_is_open, size, zeros_count);
    expect_part(actual[i].imag(), wanted.imag(), wanted.real() + sign_is_open, size, zeros_count);
  }
}

class ComplexFunctions : public testing::TestWithParam<const char*> {};

TEST_P(ComplexFunctions, have_the_special_values_of_C) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<Complex> grid = grid_of({0.0, -0.0, 0.75, -1.0, 2.5, 30.0, inf, -inf, nan});
  for (const Named& function : functions) {
    const std::string row = function.row;
    // C has none of these two; their infinities are those of the functions that they are made of.
    if (row == "exp2" || row == "expm1") continue;
    expect_alike(function, grid, device(GetParam()), true);
  }
}

TEST_P(ComplexFunctions, are_near_those_of_C) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(0, 2);
  std::vector<Complex> inputs;
  for (int i = 0; i < 500; ++i) inputs.emplace_back(normal(random), normal(random));
  for (int i = 0; i < 200; ++i)
    inputs.emplace_back(normal(random) * std::exp2(normal(random) * 10),
                        normal(random) * std::exp2(normal(random) * 10));
  for (const Named& function : functions) {
    std::vector<Complex> fitting;
    for (const Complex& input : inputs)
      if (const double size = std::abs(function.theirs(input)); size > 1e-200 && size < 1e200)
        fitting.push_back(input);
    EXPECT_GT(fitting.size(), 500u) << function.row;
    expect_alike(function, fitting, device(GetParam()), false);
  }
}

TEST_P(ComplexFunctions, reach_the_ends_of_the_range) {
  const std::vector<Complex> grid = grid_of({1e-300, -1e-300, 1e300, -1e300, 1.0, 5e-324});
  for (const Named& function : functions) {
    const std::string row = function.row;
    if (row == "log" || row == "sqrt" || row == "asinh" || row == "acosh" || row == "acos" ||
        row == "asin")
      expect_alike(function, grid, device(GetParam()), false);
    if (row == "atanh" || row == "atan")
      expect_alike(function, {{std::nan(""), 1e300}, {1e300, std::nan("")}}, device(GetParam()),
                   false);
  }
}

INSTANTIATE_TEST_SUITE_P(devices, ComplexFunctions, testing::Values("cpu", "reference_primitives"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ComplexRows, give_real_parts_and_answers) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor z = complex_tensor({{3, -4}, {0, inf}, {std::nan(""), 1}}, device("cpu"));
  EXPECT_EQ(abs(z).dtype(), f64);
  EXPECT_EQ(values_of(narrow(abs(z), 0, 0, 2)), (Values{5, inf}));
  EXPECT_EQ(values_of(cast(isnan(z), f64)), (Values{0, 0, 1}));
  EXPECT_EQ(values_of(cast(isinf(z), f64)), (Values{0, 1, 0}));
  EXPECT_EQ(values_of(cast(isfinite(z), f64)), (Values{1, 0, 0}));
  EXPECT_EQ(abs(cast(z, complex64)).dtype(), f32);
}

TEST(ComplexRows, take_powers) {
  const std::vector<Complex> bases{{1, 2}, {-0.5, 0.25}, {0, 0}, {0, 0}, {3, -1}};
  const std::vector<Complex> exponents{{0.5, -1}, {2, 3}, {0, 0}, {2, 1}, {-1.5, 0}};
  const std::vector<Complex> actual = complex_values(
      pow(complex_tensor(bases, device("cpu")), complex_tensor(exponents, device("cpu"))));
  for (std::size_t i = 0; i < bases.size(); ++i) {
    const Complex wanted = i == 2   ? Complex(1)
                           : i == 3 ? Complex(0)
                                    : std::pow(bases[i], exponents[i]);
    EXPECT_LT(std::abs(actual[i] - wanted), 1e-14 * (1 + std::abs(wanted))) << i;
  }
  const Tensor z = complex_tensor({{1, 2}}, device("cpu"));
  EXPECT_LT(std::abs(complex_values(pow(z, 2))[0] - Complex(-3, 4)), 1e-14);
  EXPECT_LT(std::abs(complex_values(pow(2, z))[0] - std::pow(Complex(2), Complex(1, 2))), 1e-14);
}

// In place, to an output, of other layouts, on meta, and for a whole batch.
TEST(ComplexRows, come_in_all_forms) {
  const std::vector<Complex> inputs{{1, 2}, {-0.5, 0.25}, {0, -1}, {3, -1}};
  const Tensor z = complex_tensor(inputs, device("cpu"));
  const std::vector<Complex> wanted = complex_values(exp(z));
  const Tensor out = zeros({4}, complex128), written = clone(z);
  exp_out(out, z);
  EXPECT_EQ(complex_values(out), wanted);
  exp_(written);
  EXPECT_EQ(complex_values(written), wanted);
  EXPECT_EQ(complex_values(reshape(exp(transpose(reshape(z, {2, 2}), 0, 1)), {4})),
            (std::vector<Complex>{wanted[0], wanted[2], wanted[1], wanted[3]}));
  EXPECT_EQ(exp(to(z, meta_device)).dtype(), complex128);
  EXPECT_EQ(abs(to(z, meta_device)).dtype(), f64);
  EXPECT_EQ(exp(zeros({0, 3}, complex64)).dtype(), complex64);
  EXPECT_EQ(exp(cast(z, complex64)).dtype(), complex64);
  EXPECT_THROW(exp_out(zeros({4}, f64), z), Error);
  EXPECT_EQ(sentence_of([&] { abs_(z); }),
            "abs_: the result is float64 and cannot be written to an output of complex128; cast it "
            "yourself");
  EXPECT_EQ(complex_values(z), inputs);
}

TEST(ComplexRows, are_measured) {
  const Tensor z = complex_tensor({{3, -4}, {0, 1}, {-1, 0}, {2, 2}}, device("cpu"));
  const Tensor lines = reshape(z, {2, 2});
  EXPECT_EQ(values_of(norm(lines, 1, {{1}})), (Values{6, 1 + std::sqrt(8)}));
  EXPECT_DOUBLE_EQ(values_of(norm(z))[0], std::sqrt(35));
  EXPECT_EQ(values_of(norm(z, infinity())), Values{5});
  EXPECT_EQ(values_of(norm(z, 0)), Values{4});
  // The mean is 1 - i / 4: distances (2, -3.75), (-1, 1.25), (-2, 0.25), (1, 2.25).
  EXPECT_DOUBLE_EQ(values_of(var(z))[0], (10 + 14.0625 + 1.5625 + 0.0625 + 5.0625) / 3);
  EXPECT_DOUBLE_EQ(values_of(std(z))[0] * values_of(std(z))[0], values_of(var(z))[0]);
  EXPECT_EQ(norm(cast(z, complex64)).dtype(), f32);
  EXPECT_EQ(complex_values(vecdot(lines, lines)), (std::vector<Complex>{26, 9}));
  EXPECT_EQ(complex_values(diff(z)), (std::vector<Complex>{{-3, 5}, {-1, -1}, {3, 2}}));
  EXPECT_EQ(values_of(cast(isclose(z, add(z, 1e-9)), f64)), (Values{1, 1, 1, 1}));
}

Tensor for_batch(const std::function<Tensor(const Tensor&)>& function, const Tensor& rows) {
  const std::optional<std::int64_t> first = 0;
  return vmap([&](std::span<const Tensor> row) { return std::vector{function(row[0])}; },
              {&rows, 1}, {&first, 1})[0];
}

// Where a real number goes through the row's own decomposition, complex ones go through theirs, recorded or for a batch.
TEST(ComplexRows, are_the_same_below_layers) {
  const double inf = infinity(), nan = std::nan("");
  const Tensor z = complex_tensor({{inf, nan}, {nan, 1}, {1, -inf}, {0.5, 2}}, device("cpu"));
  const Values are_infinite{1, 0, 1, 0}, are_nan{1, 1, 0, 0}, are_finite{0, 0, 0, 1};
  const auto expect_all = [&](const Tensor& input) {
    EXPECT_EQ(values_of(cast(isinf(input), f64)), are_infinite);
    EXPECT_EQ(values_of(cast(isnan(input), f64)), are_nan);
    EXPECT_EQ(values_of(cast(isfinite(input), f64)), are_finite);
  };
  expect_all(z);
  expect_all(set_requires_grad(clone(z)));
  const Tensor pairs = reshape(z, {2, 2});
  EXPECT_EQ(values_of(cast(for_batch([](const Tensor& row) { return isinf(row); }, pairs), f64)),
            are_infinite);
  const Tensor finite = complex_tensor({{1, 2}, {-0.5, 0.25}, {0, -1}, {3, -1}}, device("cpu"));
  const Tensor rows = reshape(finite, {2, 2});
  const Tensor mapped = for_batch([](const Tensor& row) { return exp(row); }, rows);
  EXPECT_EQ(complex_values(mapped), complex_values(exp(finite)));
  EXPECT_NE(sentence_of([&] {
              for_batch([](const Tensor& row) { return abs_(clone(row)); }, rows);
            }).find("cannot be written to an output of complex128"),
            std::string::npos);
}

// A real call keeps what it kept before it had a complex sister.
TEST(ComplexRows, keep_nothing_for_real_numbers) {
  const Tensor x = set_requires_grad(tensor(Values{1, 2, 3}));
  const Tensor y = pow(x, 2);
  add_(y, 1);
  backward(sum(y));
  EXPECT_EQ(values_of(grad(x)), (Values{2, 4, 6}));
}

// As the array API has it.
TEST(ComplexRows, have_signs) {
  const Tensor z = complex_tensor({{3, -4}, {0, 0}, {0, -2}, {1e-300, 0}}, device("cpu"));
  const std::vector<Complex> signs = complex_values(sign(z)), expected{{0.6, -0.8}, 0, {0, -1}, 1};
  for (std::size_t i = 0; i < signs.size(); ++i)
    EXPECT_LE(std::abs(signs[i] - expected[i]), 1e-15) << i;
  // The derivative is along the circle alone; at 0 there is none.
  const Tensor leaf = set_requires_grad(copy(z));
  backward(sum(real(sign(leaf))));
  const std::vector<Complex> found = complex_values(grad(leaf));
  EXPECT_LE(std::abs(found[0] - Complex(0.64, 0.48) / 5.0), 1e-15);
  EXPECT_EQ(found[1], Complex(0));
  EXPECT_LE(std::abs(found[2] - Complex(0.5)), 1e-15);
}

TEST(ComplexRows, lose_what_is_no_number_in_each_part) {
  const double most = std::numeric_limits<double>::max();
  const Tensor z =
      complex_tensor({{NAN, 1}, {2, NAN}, {-infinity(), infinity()}, {3, 4}}, device("cpu"));
  const std::vector<Complex> found = complex_values(nan_to_num(z, 7));
  const std::vector<Complex> expected{{7, 1}, {2, 7}, {-most, most}, {3, 4}};
  EXPECT_EQ(found, expected);
}

// Rows of real numbers would mean something else by what they are made of.
TEST(ComplexRows, refuse_them_where_they_are_of_real_numbers) {
  const Tensor z = complex_tensor({{1, 0}, {0, 1}}, device("cpu")), zero = zeros_like(z);
  EXPECT_EQ(sentence_of([&] { cosine_similarity(z, z, 0); }),
            "cosine_similarity: not defined for complex128; pass real() or imag() of it");
  EXPECT_THROW(smooth_l1_loss(z, zero), Error);
  EXPECT_THROW(huber_loss(z, zero), Error);
  EXPECT_THROW(signbit(z), Error);
}

// d(loss) of each part along a direction, by autograd and by differences.
void expect_gradient(const std::function<Tensor(const Tensor&)>& loss, double tolerance = 1e-8) {
  const std::vector<Complex> at{{0.3, 0.4}, {-0.6, 0.2}, {1.5, -0.7}};
  const Tensor z = set_requires_grad(complex_tensor(at, device("cpu")));
  backward(loss(z));
  const std::vector<Complex> found = complex_values(grad(z));
  const NoGrad constant;
  for (std::size_t i = 0; i < at.size(); ++i)
    for (const Complex by : {Complex(1), Complex(0, 1)}) {
      std::vector<Complex> ahead = at, behind = at;
      ahead[i] += by * 1e-5, behind[i] -= by * 1e-5;
      const double slope = (values_of(loss(complex_tensor(ahead, device("cpu"))))[0] -
                            values_of(loss(complex_tensor(behind, device("cpu"))))[0]) /
                           2e-5;
      EXPECT_NEAR(by == Complex(1) ? found[i].real() : found[i].imag(), slope, tolerance) << i;
    }
}

TEST(ComplexRows, are_derived_where_they_are_reduced) {
  for (const double p : {1.0, 2.0, 3.0, infinity()}) {
    SCOPED_TRACE(p);
    expect_gradient([&](const Tensor& z) { return norm(z, p); });
  }
  expect_gradient([](const Tensor& z) { return var(z); });
  expect_gradient([](const Tensor& z) { return std(z); });
  expect_gradient([](const Tensor& z) { return sum(abs(z)); });
  expect_gradient([](const Tensor& z) { return sum(imag(vecdot(z, exp(z)))); });
  expect_gradient([](const Tensor& z) { return sum(real(pow(2.5, z))); });
  expect_gradient([](const Tensor& z) { return sum(imag(pow(z, 2))); });
  expect_gradient([](const Tensor& z) { return sum(imag(sigmoid(z))); });
  expect_gradient([](const Tensor& z) { return sum(imag(rsqrt(z))); });
  expect_gradient([](const Tensor& z) { return sum(imag(log1p(z))); });
  expect_gradient([](const Tensor& z) { return sum(imag(sign(z)) * real(z)); });
  // Of the derivatives themselves.
  for (Tensor (*function)(const Tensor&) : {exp, log, sqrt, asin, acosh, asinh, tanh, sign}) {
    expect_gradient(
        [&](const Tensor& z) {
          const Tensor w = requires_grad(z) ? z : set_requires_grad(clone(z));
          const EnableGrad recorded;
          const Tensor first =
              autograd::grad({sum(imag(function(w)))}, {w}, {}, {.create_graph = true})[0];
          return sum(add(real(first), imag(first), 2));
        },
        3e-7);
  }
}

// On a cut the side decides, which the sign of a zero says.
TEST(ComplexRows, are_derived_beside_their_cuts) {
  const std::pair<Tensor (*)(const Tensor&), std::vector<Complex>> cuts[] = {
      {asin, {{2, 0.0}, {2, -0.0}, {-2, 0.0}, {-2, -0.0}}},
      {acos, {{2, 0.0}, {2, -0.0}, {-2, 0.0}, {-2, -0.0}}},
      {acosh, {{0.5, 0.0}, {0.5, -0.0}, {-2, 0.0}, {-2, -0.0}}},
      {asinh, {{0.0, 2}, {-0.0, 2}, {0.0, -2}, {-0.0, -2}}},
      {atanh, {{2, 0.0}, {2, -0.0}, {-2, 0.0}, {-2, -0.0}}},
      {log, {{-2, 0.0}, {-2, -0.0}}},
      {sqrt, {{-2, 0.0}, {-2, -0.0}}}};
  for (const auto& [function, points] : cuts)
    for (const Complex& point : points) {
      SCOPED_TRACE(::testing::Message() << point.real() << " " << point.imag());
      // Along the cut nothing jumps.
      const bool is_upright = point.real() == 0;
      const Complex step = is_upright ? Complex(0, 1e-6) : Complex(1e-6, 0);
      const auto at = [&](double by) {
        Complex near = point;
        if (is_upright)
          near.imag(near.imag() + by * 1e-6);
        else
          near.real(near.real() + by * 1e-6);
        return complex_values(function(complex_tensor({near}, device("cpu"))))[0];
      };
      const Complex slope = (at(1) - at(-1)) / (2.0 * step);
      const Tensor z = set_requires_grad(complex_tensor({point}, device("cpu")));
      backward(sum(real(function(z))));
      const Complex found = std::conj(complex_values(grad(z))[0]);
      EXPECT_NEAR(found.real(), slope.real(), 1e-7);
      EXPECT_NEAR(found.imag(), slope.imag(), 1e-7);
    }
}

TEST(ComplexRows, have_second_derivatives_at_the_edges_of_powers) {
  const Tensor z = set_requires_grad(complex_tensor({{0, 0}, {1, 2}}, device("cpu")));
  const Tensor first = autograd::grad({sum(real(pow(z, 0)))}, {z}, {}, {.create_graph = true})[0];
  backward(sum(real(first)));
  EXPECT_EQ(complex_values(grad(z)), (std::vector<Complex>{0, 0}));
}

TEST(ComplexRows, have_room_up_to_the_end_of_the_range) {
  const auto one = [](Tensor (*function)(const Tensor&), Complex z) {
    return complex_values(function(complex_tensor({z}, device("cpu"))))[0];
  };
  const auto expect_near = [](Complex actual, Complex wanted) {
    EXPECT_LT(std::abs(actual / wanted - 1.0), 1e-13) << actual << " and not " << wanted;
  };
  const Complex size = std::exp(Complex(700.0, 0.8));
  expect_near(one(exp, {709.9, 0.8}) / std::exp(9.9), size);
  expect_near(one(sinh, {710.4, 0.8}) / std::exp(10.4) * 2.0, size);
  expect_near(one(cosh, {-710.4, -0.8}) / std::exp(10.4) * 2.0, size);
  expect_near(one(atanh, {1, 1e-200}),
              {0.5 * (std::numbers::ln2 + 200 * std::numbers::ln10), std::numbers::pi / 4});
  expect_near(one(atan, {1e-200, 1}),
              {std::numbers::pi / 4, 0.5 * (std::numbers::ln2 + 200 * std::numbers::ln10)});
  const Tensor single = complex_tensor({{88.8, 0.8}, {-3, 0}, {1e18, 0}}, device("cpu"));
  const std::vector<Complex> of_f32 =
      complex_values(cast(exp(cast(single, complex64)), complex128));
  EXPECT_LT(std::abs(of_f32[0] / std::exp(Complex(88.8f, 0.8f)) - 1.0), 1e-6);
  const std::vector<Complex> squares =
      complex_values(cast(pow(cast(single, complex64), 2), complex128));
  EXPECT_EQ(squares[1], Complex(9, 0));
  EXPECT_LT(std::abs(squares[2].real() / 1e36 - 1), 2e-7);
}

// Every function in complex64 against itself in complex128.
TEST(ComplexRows, have_the_digits_of_single_numbers) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 2);
  std::vector<Complex> inputs;
  for (int i = 0; i < 300; ++i)
    inputs.emplace_back(static_cast<float>(normal(random)), static_cast<float>(normal(random)));
  for (int i = 0; i < 100; ++i)
    inputs.emplace_back(static_cast<float>(normal(random) * std::exp2(normal(random) * 8)),
                        static_cast<float>(normal(random) * std::exp2(normal(random) * 8)));
  const Tensor wide = complex_tensor(inputs, device("cpu")), narrow_one = cast(wide, complex64);
  for (const Named& function : functions) {
    const std::vector<Complex> wanted = complex_values(function.ours(wide));
    const std::vector<Complex> actual = complex_values(cast(function.ours(narrow_one), complex128));
    int compared = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double size = std::abs(wanted[i]);
      // 2 to the power of z turns by a multiple of log(2), of which large ones have no more digits than z.
      const bool has_angle = function.row != std::string("exp2") || std::abs(inputs[i].imag()) < 16;
      if (!(size > 1e-30 && size < 1e30) || !has_angle) continue;
      ++compared;
      EXPECT_LT(std::abs(actual[i] - wanted[i]), 3e-6 * size)
          << function.row << inputs[i] << " is " << wanted[i] << " and not " << actual[i];
    }
    EXPECT_GT(compared, 200) << function.row;
  }
  expect_gradient([](const Tensor& z) { return sum(imag(pow(z, z))); });
}

// d(sum of the weighted parts) along a direction.
TEST(ComplexRows, have_derivatives) {
  const Complex points[] = {{0.3, 0.4}, {-0.6, 0.2}, {1.5, -0.7}};
  const auto loss_of = [](const Named& function, const Tensor& z) {
    const Tensor parts = view_as_real(function.ours(z));
    return sum(mul(parts, tensor(Values{0.7, -1.3})));
  };
  for (const Named& function : functions) {
    for (const Complex& point : points) {
      SCOPED_TRACE(std::string(function.row) + " " + std::to_string(point.real()));
      const Tensor z = set_requires_grad(complex_tensor({point}, device("cpu")));
      backward(loss_of(function, z));
      const Complex found = complex_values(grad(z))[0];
      const double step = 1e-5;
      const auto along = [&](Complex by) {
        const NoGrad constant;
        const auto at = [&](Complex p) {
          return values_of(loss_of(function, complex_tensor({p}, device("cpu"))))[0];
        };
        return (at(point + by * step) - at(point - by * step)) / (2 * step);
      };
      EXPECT_NEAR(found.real(), along(1), 1e-8);
      EXPECT_NEAR(found.imag(), along({0, 1}), 1e-8);
    }
  }
}

}  // namespace
}  // namespace bp::test
