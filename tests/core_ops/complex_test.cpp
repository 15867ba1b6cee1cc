// needs: cpu
// Complex numbers as views of their parts, and what is made of these.
#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>

#include <backplane/tensors.hpp>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::error_of;
using Number = std::complex<double>;

std::vector<double> doubles_in(const Tensor& input) {
  return to_vector<double>(to(contiguous(input), f64));
}

std::vector<double> parts_in(const Tensor& input) {
  return doubles_in(view_as_real(input));
}

Tensor four_numbers() {
  return view_as_complex(tensor(std::vector<double>{1, 2, -3, 4, 0, -5, -6, 0}, {2, 2, 2}));
}

TEST(ComplexParts, are_seen_in_the_same_memory) {
  const Tensor numbers = four_numbers();
  EXPECT_EQ(numbers.dtype(), complex128);
  EXPECT_EQ(numbers.shape(), (Dims{2, 2}));
  const Tensor turned = transpose(narrow(numbers, 1, 1, 1), 0, 1);
  EXPECT_EQ(parts_in(turned), (std::vector<double>{-3, 4, -6, 0}));
  EXPECT_EQ(doubles_in(imag(turned)), (std::vector<double>{4, 0}));
  fill_(imag(turned), 7);
  EXPECT_EQ(parts_in(numbers), (std::vector<double>{1, 2, -3, 7, 0, -5, -6, 7}));
  EXPECT_TRUE(real(numbers).shares_storage(numbers));
  EXPECT_FALSE(conj(numbers).shares_storage(numbers));
}

TEST(ComplexParts, are_refused_where_no_strides_show_pairs) {
  const Tensor pairs = ones({3, 4});
  EXPECT_EQ(error_of([&] { view_as_complex(pairs); }),
            "view_as_complex: the shape is [3, 4]; the last dimension holds the two parts, so make "
            "it 2");
  EXPECT_EQ(error_of([&] { view_as_complex(narrow(pairs, 1, 1, 2)); }),
            "view_as_complex: the parts of shape [3, 2], strides [4, 1] and offset 1 are not pairs "
            "in memory; pass a contiguous copy");
  EXPECT_EQ(error_of([&] { view_as_complex(ones({2}, f16)); }),
            "view_as_complex: the input is float16; cast it to float32 or float64");
  EXPECT_EQ(error_of([&] { view_as_real(pairs); }),
            "view_as_real: the input is float32; pass complex numbers");
  EXPECT_EQ(error_of([&] { imag(pairs); }),
            "imag: the input is float32; only complex numbers have an imaginary part");
  EXPECT_EQ(error_of([&] { polar(pairs, ones({4}, f64)); }),
            "polar: abs is float32 and angle is float64; cast both to float32 or both to float64");
}

TEST(ComplexParts, give_angles_directions_and_conjugates) {
  const Tensor numbers = four_numbers();
  const std::vector<Number> all{{1, 2}, {-3, 4}, {0, -5}, {-6, 0}};
  const std::vector<double> angles = doubles_in(angle(numbers));
  const std::vector<double> directions = parts_in(sgn(numbers));
  const std::vector<double> conjugates = parts_in(conj(numbers));
  const std::vector<double> again =
      parts_in(polar(hypot(real(numbers), imag(numbers)), angle(numbers)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Number direction = all[i] / std::abs(all[i]);
    EXPECT_NEAR(angles[i], std::arg(all[i]), 1e-15);
    EXPECT_NEAR(std::abs(Number(directions[2 * i], directions[2 * i + 1]) - direction), 0, 1e-15);
    EXPECT_EQ(Number(conjugates[2 * i], conjugates[2 * i + 1]), std::conj(all[i]));
    EXPECT_NEAR(std::abs(Number(again[2 * i], again[2 * i + 1]) - all[i]), 0, 1e-14);
  }
  EXPECT_EQ(parts_in(sgn(zeros({1}, complex64))), (std::vector<double>{0, 0}));
}

TEST(ComplexParts, of_real_numbers_are_themselves) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor numbers = tensor(std::vector<double>{-2, 0, 3, nan});
  EXPECT_TRUE(conj(numbers).shares_storage(numbers));
  EXPECT_EQ(doubles_in(angle(narrow(numbers, 0, 0, 3))),
            (std::vector<double>{std::numbers::pi, 0, 0}));
  EXPECT_TRUE(std::isnan(doubles_in(angle(numbers))[3]));
  EXPECT_EQ(doubles_in(sgn(narrow(numbers, 0, 0, 3))), (std::vector<double>{-1, 0, 1}));
}

TEST(ComplexParts, that_are_infinite_stay_apart) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor numbers = view_as_complex(tensor(std::vector<double>{infinity, 3}, {1, 2}));
  EXPECT_EQ(parts_in(conj(numbers)), (std::vector<double>{infinity, -3}));
}

// By the gradient of Re(sum(w * y)) where y is what was written, through either dtype's view.
TEST(ComplexParts, pass_gradients_on_when_they_are_written_in_place) {
  const Tensor x = set_requires_grad(four_numbers());
  const Tensor y = mul(x, Number(0, 1));
  const Tensor pairs = view_as_real(y);
  mul_(select(pairs, -1, 0), 3);  // the real parts
  const Tensor total = sum(mul(pairs, tensor(std::vector<double>{1, 10})));
  // Re y = -3 Im x, Im y = Re x.
  const Tensor gradient = autograd::grad({total}, {x})[0];
  EXPECT_EQ(parts_in(gradient), (std::vector<double>{10, -3, 10, -3, 10, -3, 10, -3}));
}

TEST(ComplexParts, pass_gradients_on_when_their_numbers_are_written_in_place) {
  const Tensor x = set_requires_grad(ones({5, 2}, f64));
  const Tensor y = mul(x, 2);
  const Tensor numbers = view_as_complex(narrow(y, 0, 1, 3));
  mul_(numbers, Number(0, 1));  // (a, b) to (-b, a)
  const Tensor total = sum(mul(y, tensor(std::vector<double>{1, 10})));
  const Tensor gradient = autograd::grad({total}, {x})[0];
  EXPECT_EQ(doubles_in(gradient), (std::vector<double>{2, 20, 20, -2, 20, -2, 20, -2, 2, 20}));
}

TEST(ComplexParts, see_what_was_written_into_their_base) {
  const Tensor x = set_requires_grad(four_numbers());
  const Tensor y = mul(x, 1);
  const Tensor parts = view_as_real(y);
  mul_(y, Number(0, 2));  // (a, b) to (-2 b, 2 a)
  const Tensor gradient =
      autograd::grad({sum(mul(parts, tensor(std::vector<double>{1, 10})))}, {x})[0];
  EXPECT_EQ(parts_in(gradient), (std::vector<double>{20, -2, 20, -2, 20, -2, 20, -2}));
}

}  // namespace
}  // namespace bp
