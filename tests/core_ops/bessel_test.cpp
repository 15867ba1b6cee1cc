// needs: cpu
// Bessel functions, Airy's, incomplete gammas, zeta and orthogonal polynomials against values of 40 digits that mpmath gave,
// and where they are exact.
#include <limits>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using Values = std::vector<double>;

constexpr double infinite = std::numeric_limits<double>::infinity();

void expect_digits(const Tensor& actual, const Values& expected) {
  const Values values = to_vector<double>(actual);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 1e-12 * std::abs(expected[i]) + 1e-15) << "element " << i;
}

Tensor at(const Values& values) {
  return tensor(values);
}

TEST(Bessel, functions_of_the_first_and_second_kind_have_their_digits) {
  const Tensor x = at({-20.5, -3.0, 0.0, 0.5, 2.4, 5.5, 7.9, 8.1, 30.0, 1000.0}),
               y = at({1e-05, 0.5, 1.9, 2.1, 3.7, 7.9, 8.1, 30.0, 1000.0});
  expect_digits(bessel_j0(x), {0.11509696025367476, -0.26005195490193344, 1.0, 0.9384698072408129,
                               0.0025076832972438592, -0.0068438694178191968, 0.19436184484127824,
                               0.14751745404437767, -0.086367983581040211, 0.024786686152420175});
  expect_digits(bessel_j1(x), {-0.13625468819339574, -0.33905895852593646, 0.0, 0.24226845767487389,
                               0.52018526818193105, -0.34143821542904335, 0.2191793999217512,
                               0.24760776698159288, -0.11875106261662294, 0.0047283119070895239});
  expect_digits(bessel_y0(y), {-7.4031602837019701, -0.44451873350670656, 0.49681997128382019,
                               0.51829373751376073, 0.10607431532035411, 0.20652094814437577,
                               0.23809132870223481, -0.11729573168666403, 0.0047159179776228134});
  expect_digits(bessel_y1(y), {-63661.97727536548, -1.4714723926702431, -0.16440577233159531,
                               -0.051678612130423534, 0.41667437268380749, -0.18172107728057313,
                               -0.13314879595249593, 0.084425570661747235, -0.024784331292351779});
}

TEST(Bessel, modified_functions_of_the_second_kind_have_their_digits) {
  const Tensor x = at({1e-05, 0.5, 1.9, 2.1, 7.0, 30.0, 600.0});
  expect_digits(modified_bessel_k0(x),
                {11.628856980944362, 0.92441907122766586, 0.12884597927604749, 0.10078374088996693,
                 0.00042479574186923181, 2.1324774964630564e-14, 1.3558285309948524e-262});
  expect_digits(modified_bessel_k1(x),
                {99999.999939355707, 1.6564411200033009, 0.15966015303266763, 0.1227464115335079,
                 0.00045418248688489697, 2.1677320018915494e-14, 1.3569579181128061e-262});
  expect_digits(scaled_modified_bessel_k0(x),
                {11.628973270095616, 1.5241093857739095, 0.86145061675175579, 0.82301715253166206,
                 0.46584509609301589, 0.22788666561625373, 0.051155685720235964});
  expect_digits(scaled_modified_bessel_k1(x),
                {100000.99994435512, 2.7310097082117857, 1.06747092981457, 1.0023680527405791,
                 0.49807157509547654, 0.2316541293777118, 0.051198297725472443});
}

// The smallest number, of which half is nothing.
TEST(Bessel, modified_functions_of_the_second_kind_begin_at_the_smallest_number) {
  expect_digits(modified_bessel_k0(at({5e-324})), {744.5560034370396});
  expect_digits(scaled_modified_bessel_k0(at({5e-324})), {744.5560034370396});
}

TEST(Bessel, spherical_ones_and_airys_have_their_digits) {
  expect_digits(spherical_bessel_j0(at({-7.0, -0.4, 0.0, 0.45, 0.55, 3.0, 100.0})),
                {0.093855228388398441, 0.97354585577162623, 1.0, 0.9665900758027338,
                 0.95034041623756212, 0.047040002686622407, -0.0050636564110975879});
  expect_digits(
      airy_ai(at({-20.0, -4.5, -3.9, -1.0, 0.0, 1.25, 1.95, 2.5, 10.0, 50.0})),
      {-0.17640612707798469, 0.29215278105595947, -0.14741990564074426, 0.53556088329235212,
       0.35502805388781724, 0.099644544756916671, 0.037667453033038005, 0.01572592338047049,
       1.1047532552898686e-10, 4.5849417240748285e-104});
}

TEST(Bessel, ends_are_what_they_tend_to) {
  const Tensor ends = at({0, infinite, -1});
  EXPECT_EQ(to_vector<double>(bessel_j0(at({0, infinite, -infinite}))), (Values{1, 0, 0}));
  EXPECT_EQ(to_vector<double>(bessel_j1(at({0, infinite, -infinite}))), (Values{0, 0, 0}));
  for (const auto& function : {bessel_y0, bessel_y1}) {
    const Values found = to_vector<double>(static_cast<Tensor (*)(const Tensor&)>(function)(ends));
    EXPECT_EQ(found[0], -infinite);
    EXPECT_EQ(found[1], 0);
    EXPECT_TRUE(std::isnan(found[2]));
  }
  for (const auto& function : {modified_bessel_k0, modified_bessel_k1, scaled_modified_bessel_k0,
                               scaled_modified_bessel_k1}) {
    const Values found = to_vector<double>(static_cast<Tensor (*)(const Tensor&)>(function)(ends));
    EXPECT_EQ(found[0], infinite);
    EXPECT_EQ(found[1], 0);
    EXPECT_TRUE(std::isnan(found[2]));
  }
  EXPECT_EQ(to_vector<double>(airy_ai(at({infinite, -infinite}))), (Values{0, 0}));
  EXPECT_EQ(to_vector<double>(spherical_bessel_j0(at({0, infinite, -infinite}))),
            (Values{1, 0, 0}));
}

TEST(Gamma, incomplete_ones_have_their_digits) {
  const Tensor a = at({1e-09, 0.1, 0.5, 0.5, 1.0, 3.0, 3.0, 11.5, 13.0, 13.0, 50.0, 200.0, 100000.0,
                       900.0}),
               x = at({0.001, 2.5, 0.25, 5.0, 1.0, 2.0, 12.0, 12.0, 5.0, 12.5, 100.0, 195.0,
                       100000.0, 200.0});
  expect_digits(gammainc(a, x),
                {0.99999999366846066, 0.99705620239607225, 0.52049987781304654, 0.99843459774199745,
                 0.63212055882855768, 0.32332358381693654, 0.9994777419499671, 0.59619155554019143,
                 0.0020188516274370348, 0.48102478112094911, 0.99999998821549928,
                 0.36959700500569484, 0.50042052211036518, 2.2263383735916719e-286});
  expect_digits(gammaincc(a, x), {6.331539344913422e-9, 0.0029437976039277461, 0.47950012218695346,
                                  0.0015654022580025497, 0.36787944117144232, 0.67667641618306346,
                                  0.00052225805003289783, 0.40380844445980857, 0.99798114837256297,
                                  0.51897521887905089, 1.1784500720979422e-8, 0.63040299499430516,
                                  0.49957947788963482, 1.0});
}

TEST(Gamma, incomplete_ones_end_as_pytorchs) {
  const Tensor a = at({0, 1, 1, infinite, 2.5, 0}), x = at({1, 0, infinite, 3, infinite, infinite});
  EXPECT_EQ(to_vector<double>(gammainc(a, x)), (Values{1, 0, 1, 0, 1, 1}));
  EXPECT_EQ(to_vector<double>(gammaincc(a, x)), (Values{0, 1, 0, 1, 0, 0}));
  for (const double value : to_vector<double>(
           gammainc(at({0, -1, 1, infinite, 1}), at({0, 1, -1, infinite, std::nan("")}))))
    EXPECT_TRUE(std::isnan(value));
}

TEST(Gamma, zeta_has_its_digits_on_both_sides) {
  expect_digits(zeta(at({1.5, 2.0, 3.25, 30.0, 2.0, 3.0, 3.0, 5.0}),
                     at({0.25, 1.0, 7.5, 0.5, -0.5, -0.5, -7.25, 100.0})),
                {10.213055360466601, 1.6449340668482264, 0.0055420853699168859, 1073741824.0000052,
                 8.9348022005446793, 0.41439832211716, -62.004263018282867, 2.5504166375049986e-9});
  EXPECT_EQ(to_vector<double>(zeta(at({1, 2, 3, 1}), at({5, 0, -4, -0.5}))), (Values(4, infinite)));
  for (const double value : to_vector<double>(zeta(at({0.5, 2.5, -3}), at({1, -0.5, 0}))))
    EXPECT_TRUE(std::isnan(value));
}

TEST(OrthogonalPolynomials, have_their_digits) {
  const Tensor x = at({-1.5, -1.0, -0.3, 0.0, 0.7, 1.0, 2.0});
  expect_digits(chebyshev_polynomial_t(x, 7),
                {-421.5, -1.0, 0.84616320000000004, 0.0, 0.75483520000000029, 1.0, 5042.0});
  expect_digits(chebyshev_polynomial_u(x, 7),
                {-987.0, -8.0, 0.67856640000000007, 0.0, 0.11191040000000069, 8.0, 10864.0});
  expect_digits(chebyshev_polynomial_v(x, 7),
                {-1364.0, -15.0, 0.11991040000000015, 1.0, 1.0303744000000002, 1.0, 7953.0});
  expect_digits(chebyshev_polynomial_w(x, 7),
                {-610.0, -1.0, 1.2372224, -1.0, -0.8065535999999988, 15.0, 13775.0});
  expect_digits(shifted_chebyshev_polynomial_t(mul(add(x, 1), 0.5), 7),
                {-421.5, -1.0, 0.84616320000000004, 0.0, 0.75483520000000029, 1.0, 5042.0});
  expect_digits(hermite_polynomial_h(x, 6),
                {-201.0, 184.0, -59.041344000000004, -120.0, 125.08153599999998, 184.0, -824.0});
  expect_digits(hermite_polynomial_he(x, 6),
                {21.703125, 16.0, -11.070771, -15.0, 3.5661489999999981, 16.0, -11.0});
  expect_digits(laguerre_polynomial_l(x, 8),
                {94.780099923270089, 35.757167658730159, 4.9367876987700891, 1.0,
                 -0.31502838579340284, 0.15399305555555556, 0.35873015873015873});
  expect_digits(legendre_polynomial_p(x, 9), {-1165.5561676025391, -1.0, -0.063700381757812528, 0.0,
                                              0.27205993035156241, 1.0, 27100.671875});
}

TEST(OrthogonalPolynomials, of_degree_0_are_1_and_of_less_0) {
  EXPECT_EQ(to_vector<double>(legendre_polynomial_p(at({0.5, 3}), 0)), (Values{1, 1}));
  EXPECT_EQ(to_vector<double>(laguerre_polynomial_l(at({0.5, 3}), 1)), (Values{0.5, -2}));
  EXPECT_EQ(to_vector<double>(hermite_polynomial_h(at({0.5, 3}), -2)), (Values{0, 0}));
  EXPECT_EQ(test::error_of([] { chebyshev_polynomial_t(at({1}), 5000); }),
            "chebyshev_polynomial_t: n is 5000; pass at most 1024");
}

TEST(Exponents, parts_of_numbers_make_them_again) {
  const Values numbers = {0.0,
                          -0.0,
                          1,
                          -1,
                          0.75,
                          3e-310,
                          0x1p-1074,
                          1e308,
                          -6.5,
                          infinite,
                          std::numeric_limits<double>::max()};
  const auto [mantissa, exponent] = frexp(at(numbers));
  const std::vector<std::int32_t> exponents = to_vector<std::int32_t>(exponent);
  const Values mantissas = to_vector<double>(mantissa);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    int expected = 0;
    EXPECT_EQ(mantissas[i], std::frexp(numbers[i], &expected)) << numbers[i];
    EXPECT_EQ(exponents[i], std::isinf(numbers[i]) ? 0 : expected) << numbers[i];
  }
  EXPECT_EQ(to_vector<double>(ldexp(mantissa, exponent))[8], -6.5);
  const Tensor numbers_of_4_bytes = cast(at({0x1p-140, 0x1p120, 0}), f32);
  EXPECT_EQ(to_vector<float>(ldexp(numbers_of_4_bytes, cast(at({200, -250, 9000}), f32))),
            (std::vector<float>{0x1p60f, 0x1p-130f, 0}));
  EXPECT_EQ(test::error_of([] {
              frexp(tensor({1, 2}));
            }),
            "frexp: input is int64; cast it to a floating dtype");
}

TEST(RunningProducts, have_derivatives_at_zeros) {
  const Tensor x = at({2, 0, 3, 0, 5});
  set_requires_grad(x);
  const Tensor weights = at({1, 10, 100, 1000, 10000});
  EXPECT_EQ(to_vector<double>(autograd::grad({sum(cumprod(x, 0) * weights)}, {x})[0]),
            (Values{1, 620, 0, 0, 0}));
}

}  // namespace
}  // namespace bp
