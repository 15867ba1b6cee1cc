// needs: cpu reference
// Gradients within bounds: norms of several kinds, over devices and dtypes, and what is not finite.
#include <cmath>
#include <limits>

#include <backplane/optim/clip.hpp>

#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

using testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor with_gradient(const Values& gradient) {
  const Tensor made = leaf(Values(gradient.size()));
  set_grad(made, tensor(gradient));
  return made;
}

TEST(ClipNorm, scales_gradients_that_are_too_long_by_one_factor) {
  const Tensor a = with_gradient({3.0}), b = with_gradient({0.0, 4.0}), none = leaf({1.0});
  const Tensor before = grad(b);
  EXPECT_NEAR(item<double>(optim::clip_grad_norm_({a, b, none}, 1)), 5, 1e-12);
  EXPECT_NEAR(values_of(grad(a))[0], 0.6, 1e-6);
  EXPECT_NEAR(values_of(grad(b))[1], 0.8, 1e-6);
  EXPECT_TRUE(grad(b).is_same(before));
  EXPECT_FALSE(grad(none).defined());
}

TEST(ClipNorm, leaves_gradients_that_are_short_enough) {
  const Tensor a = with_gradient({3.0, 4.0});
  optim::clip_grad_norm_({a}, 6);
  EXPECT_EQ(values_of(grad(a)), (Values{3, 4}));
}

TEST(ClipNorm, is_of_the_order_that_is_asked_for) {
  const Tensor a = with_gradient({3.0, -4.0}), b = with_gradient({-5.0});
  const auto norm_of = [&](double order) {
    return item<double>(optim::get_total_norm({grad(a), grad(b)}, order));
  };
  EXPECT_NEAR(norm_of(1), 12, 1e-12);
  EXPECT_NEAR(norm_of(2), std::sqrt(50.0), 1e-12);
  EXPECT_NEAR(norm_of(3), std::cbrt(27.0 + 64 + 125), 1e-12);
  EXPECT_EQ(norm_of(infinity), 5);
  EXPECT_EQ(item<double>(optim::get_total_norm(std::vector<Tensor>{})), 0);
}

TEST(ClipNorm, reaches_over_devices_and_dtypes) {
  const Tensor a = with_gradient({3.0});
  const Tensor b = set_requires_grad(tensor({0.0f}));
  set_grad(b, tensor({4.0f}));
  const Tensor c = set_requires_grad(to(tensor(Values{0}), device("reference:0")));
  set_grad(c, to(tensor(Values{12}), device("reference:0")));
  EXPECT_NEAR(item<double>(optim::clip_grad_norm_({a, b, c}, 1.3)), 13, 1e-6);
  EXPECT_NEAR(values_of(to(grad(b), f64))[0], 0.4, 1e-6);
  EXPECT_NEAR(values_of(grad(c))[0], 1.2, 1e-6);
}

TEST(ClipNorm, takes_the_absolute_values_of_complex_numbers) {
  const Tensor real = with_gradient({3.0, 4.0, 6.0, 8.0});
  const Tensor a = set_requires_grad(zeros({2}, complex128));
  set_grad(a, clone(view_as_complex(reshape(grad(real), {2, 2}))));
  EXPECT_NEAR(item<double>(optim::get_total_norm({grad(a)}, infinity)), 10, 1e-12);
  EXPECT_NEAR(item<double>(optim::get_total_norm({grad(a)}, 1)), 15, 1e-12);
  EXPECT_NEAR(item<double>(optim::clip_grad_norm_({a}, 1)), std::sqrt(125.0), 1e-12);
}

TEST(ClipNorm, says_if_asked_that_a_norm_is_not_finite) {
  const Tensor a = with_gradient({infinity});
  EXPECT_THAT(sentence_of([&] { optim::clip_grad_norm_({a}, 1, 2, true); }),
              HasSubstr("the norm of order 2 is inf"));
  EXPECT_EQ(values_of(grad(a)), Values{infinity});
  optim::clip_grad_norm_({a}, 1);
  EXPECT_TRUE(std::isnan(values_of(grad(a))[0]));
}

TEST(ClipValue, moves_each_element_into_the_range) {
  const double nan = std::nan("");
  const Tensor a = with_gradient({-3.0, -0.5, 0.25, 7.0, nan});
  const Tensor before = grad(a);
  optim::clip_grad_value_({a}, 0.5);
  const Values found = values_of(grad(a));
  EXPECT_EQ(Values(found.begin(), found.begin() + 4), (Values{-0.5, -0.5, 0.25, 0.5}));
  EXPECT_TRUE(std::isnan(found[4]));
  EXPECT_TRUE(grad(a).is_same(before));
  EXPECT_THAT(sentence_of([&] { optim::clip_grad_value_({a}, -1); }),
              HasSubstr("clip_value is -1"));
}

}  // namespace
}  // namespace bp::test
