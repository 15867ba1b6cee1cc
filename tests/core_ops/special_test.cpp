// needs: cpu
// Special functions against values of 40 digits that mpmath gave, and where they are exact.
#include <limits>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::expect_values;
using Numbers = std::vector<double>;

constexpr double boundless = std::numeric_limits<double>::infinity();

const Numbers gamma_places = {-6.3, -0.25, 1e-3, 0.75, 1.0625, 1.9375, 3.7, 7.5, 8.25, 1000};

// In float32 within so many of its steps.
void expect_close(const Tensor& actual, const Numbers& expected, double steps) {
  const Numbers values = to_vector<double>(cast(actual, f64));
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], steps * 0x1p-23 * std::abs(expected[i])) << i;
}

TEST(Special, gammas_logarithm_and_its_derivatives_have_their_digits) {
  const Tensor x = tensor(gamma_places);
  expect_values(lgamma(x),
                {-5.7912272816725063, 1.589575312551186, 6.9071788853838537, 0.20328095143129537,
                 -0.032957100293577819, -0.025147619402988871, 1.4280723266653881,
                 7.534364236758733, 9.0331869196051229, 5905.2204232091812});
  expect_values(digamma(x),
                {4.2003210041401871, 2.9141391202135278, -1000.5755719318103, -1.0858608797864722,
                 -0.47885349006010437, 0.3816659921709689, 1.1671535393615114, 1.9467574842460868,
                 2.0483845613664946, 6.9072551956488121});
  expect_values(polygamma(1, x),
                {14.932617934670926, 18.541879647671606, 1000001.6425331958, 2.5418796476716065,
                 1.5064200429154143, 0.67119334010790023, 0.3100378576700383, 0.1426158966967038,
                 0.12885426288544822, 0.0010005001666666333});
  expect_values(polygamma(2, x),
                {68.816032900093624, 122.69736678366236, -2000000002.3976322, -5.3026332163376396,
                 -2.0423055503627202, -0.43680468269592876, -0.095395308728554033,
                 -0.020305252536644664, -0.016580684633546995, -1.0010004999998333e-6});
  expect_values(polygamma(5, x),
                {165660.17284579493, 492198.75334287458, 1.1999999999999999e+20, 678.75334287457971,
                 85.150489364728843, 2.5005609870869684, 0.063939753902039787,
                 0.0013927076560043099, 0.00084102811577838689, 2.4060059999944e-14});
}

TEST(Special, roots_of_gammas_logarithm_and_of_its_derivative_keep_their_digits) {
  expect_close(lgamma(tensor({1 + 0x1p-20f, 2 - 0x1p-20f})),
               {-5.5047500661488668e-07, -4.0319826848018476e-07}, 4);
  const Numbers at_root = to_vector<double>(digamma(tensor(Numbers{1.4616321449683622})));
  EXPECT_NEAR(at_root[0], -9.2412655217294275e-17, 1e-23);
  expect_values(lgamma(tensor(Numbers{1, 2})), {0, 0});
}

TEST(Special, poles_and_infinities_are_pytorchs) {
  const Tensor x = tensor(Numbers{0, -1, -7, boundless, -boundless});
  EXPECT_EQ(to_vector<double>(lgamma(x)), Numbers(5, boundless));
  const Numbers first = to_vector<double>(digamma(tensor(Numbers{0, -0.0, boundless})));
  EXPECT_EQ(first, (Numbers{-boundless, boundless, boundless}));
  for (double value : to_vector<double>(digamma(tensor(Numbers{-1, -7, -boundless}))))
    EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(to_vector<double>(polygamma(1, tensor(Numbers{0, -3, boundless}))),
            (Numbers{boundless, boundless, 0}));
  EXPECT_EQ(item<double>(polygamma(2, tensor(Numbers{-0.0}))), -boundless);
}

TEST(Special, the_gamma_function_of_matrices_has_its_digits) {
  expect_values(multigammaln(tensor(Numbers{1.5, 4, 20}), 3),
                {2.1686775340635551, 5.4029750809091748, 115.31351073296774});
}

TEST(Special, erfs_relatives_have_their_digits) {
  expect_values(erfinv(tensor(Numbers{1e-20, 0.25, -0.5, 0.9, -0.99999})),
                {8.8622692545275797e-21, 0.2253120550121781, -0.47693627620446987,
                 1.1630871536766742, -3.1234132743415709});
  expect_values(ndtri(tensor(Numbers{1e-300, 1e-10, 0.001, 0.25, 0.5, 0.75, 0.999})),
                {-37.047096299361199, -6.3613409024040562, -3.0902323061678135,
                 -0.67448975019608174, 0, 0.67448975019608174, 3.0902323061678133});
  expect_values(erfcx(tensor(Numbers{-5.3, -0.3, 0.3, 2, 30, 1e10})),
                {3164914574749.3398, 1.4537492328427656, 0.73459933456765515, 0.25539567631050574,
                 0.018795888861416751, 5.6418958354775629e-11});
  expect_values(log_ndtr(tensor(Numbers{-1000, -38, -1.5, -0.5, 0.5, 6})),
                {-500007.82669481218, -726.55721601882013, -2.7059444008238898, -1.1759117615936186,
                 -0.36894641528865639, -9.8658764552437573e-10});
}

TEST(Special, bessel_functions_have_their_digits) {
  const Tensor x = tensor(Numbers{-0.5, 3, -7.9, 8.1, 30, 700});
  expect_values(i0(x), {1.0634833707413235, 4.8807925858650241, 389.406283282158,
                        469.50060671012147, 781672297823.97749, 1.5295933476718737e+302});
  expect_values(i0e(x), {0.64503527044915007, 0.2430003541618254, 0.14436986414104192,
                         0.14251180948829528, 0.073145946482237294, 0.015081295651531358});
  expect_values(i1(x), {-0.25789430539089632, 3.9533702174026094, -363.85394408450839,
                        439.48430891035846, 768532038938.957, 1.5285003902339007e+302});
  expect_values(i1e(x), {-0.1564208031848717, 0.19682671329730085, -0.13489649943989377,
                         0.13340068832583663, 0.071916330598647555, 0.015070519444716847});
}

TEST(Special, derivatives_are_those_of_differences) {
  const std::function<Tensor(const Tensor&)> functions[] = {
      lgamma,
      digamma,
      erfinv,
      ndtri,
      erfcx,
      log_ndtr,
      i0,
      i0e,
      i1,
      i1e,
      [](const Tensor& x) { return polygamma(3, x); },
      [](const Tensor& x) { return multigammaln(add(x, 2), 3); }};
  constexpr double step = 1e-6;
  for (std::size_t i = 0; i < std::size(functions); ++i) {
    const Tensor x = tensor(Numbers{0.15, 0.37, 0.62, 0.81});
    set_requires_grad(x);
    const Tensor gradient = autograd::grad({sum(functions[i](x))}, {x})[0];
    const Tensor fixed = detach(x);
    const Numbers slopes = to_vector<double>(
        div(sub(functions[i](add(fixed, step)), functions[i](sub(fixed, step))), 2 * step));
    const Numbers found = to_vector<double>(gradient);
    for (std::size_t k = 0; k < slopes.size(); ++k)
      EXPECT_NEAR(found[k], slopes[k], 1e-6 * std::max(1.0, std::abs(slopes[k]))) << i;
  }
}

TEST(Special, neighbours_of_numbers_are_those_of_the_c_library) {
  const Numbers from = {0,         -0.0,     1,        -1,       0x1p-149,       0x1p-126,
                        -0x1p-126, 0x1p-125, 0x1p-103, 0x1p-102, 0x1.FFFFFEp127, 0.1,
                        -12345,    boundless};
  const Tensor x = cast(tensor(from), f32);
  for (float to : {-boundless, -1.0, 0.0, 1.0, boundless}) {
    const std::vector<float> next = to_vector<float>(nextafter(x, full({1}, to)));
    for (std::size_t i = 0; i < from.size(); ++i) {
      const float expected = std::nextafter(static_cast<float>(from[i]), to);
      EXPECT_EQ(next[i], expected) << from[i] << " to " << to;
      EXPECT_EQ(std::signbit(next[i]), std::signbit(expected)) << from[i] << " to " << to;
    }
  }
  EXPECT_EQ(item<double>(nextafter(tensor(Numbers{1}), tensor(Numbers{2}))), 1 + 0x1p-52);
  EXPECT_EQ(item<float>(cast(nextafter(ones({}, f16), zeros({}, f16)), f32)), 1 - 0x1p-11f);
}

}  // namespace
TEST(Special, limits_of_logit_may_cross_as_in_pytorch) {
  const double far = std::log(0.7 / 0.3);
  const Tensor input = tensor(std::vector<double>{0.1, 0.5, 0.9, std::nan("")});
  const Tensor odds = logit(input, 0.7);
  expect_values(narrow(odds, 0, 0, 3), {far, far, -far});
  EXPECT_TRUE(std::isnan(item<double>(odds[3])));
}

}  // namespace bp
