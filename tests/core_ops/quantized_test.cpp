// needs: cpu
// Quantized numbers: ONNX's own examples, and what follows from the definitions.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include <backplane/tensors.hpp>

#include "core_ops/peer_values.hpp"
#include "core_ops/rows.hpp"

namespace bp::quantized_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Steps = std::vector<std::int64_t>;

Steps whole(const Tensor& input) {
  return to_vector<std::int64_t>(to(input, i64));
}
Tensor bytes(const Steps& values, IntList shape, Dtype dtype = u8) {
  return to(tensor(values, shape), dtype);
}
Tensor number(double value, Dtype dtype = f32) {
  return full({}, value, dtype);
}

TEST(Quantized, quantizes_as_onnx_shows_it) {
  const Tensor input = tensor(std::vector<double>{0, 2, 3, 1000, -254, -1000}, {.dtype = f32});
  EXPECT_EQ(whole(quantize_linear(input, number(2), number(128, u8))),
            (Steps{128, 129, 130, 255, 1, 0}));
}

TEST(Quantized, halves_go_to_the_even_neighbour_and_nan_to_the_zero_point) {
  const double nan = std::nan("");
  const Tensor input =
      tensor(std::vector<double>{0.5, 1.5, 2.5, -0.5, -1.5, 300, -300, nan, infinity, -infinity});
  for (const Dtype dtype : {f32, f64, f16})
    EXPECT_EQ(whole(quantize_linear(to(input, dtype), number(1, dtype), number(7, i8))),
              (Steps{7, 9, 9, 7, 5, 127, -128, 7, 127, -128}));
  EXPECT_EQ(quantize_linear(input, number(1)).dtype(), u8);
  EXPECT_EQ(whole(quantize_linear(input, number(1), {}, 1, 0, i16)),
            (Steps{0, 2, 2, 0, -2, 300, -300, 0, 32767, -32768}));
  EXPECT_EQ(whole(quantize_linear(to(tensor({100000, -3}), i32), number(1), number(9, u16))),
            (Steps{65535, 6}));
}

TEST(Quantized, every_step_comes_back_from_the_number_it_stands_for) {
  for (const Dtype dtype : {u8, i8}) {
    const Tensor all = to(arange(dtype == u8 ? 0 : -128, dtype == u8 ? 256 : 128), dtype);
    for (const double scale : {0.25, 0.1, 3e-5})
      for (const double zero : {0.0, 5.0, 127.0}) {
        const Tensor numbers = dequantize_linear(all, number(scale), number(zero, dtype));
        EXPECT_EQ(whole(quantize_linear(numbers, number(scale), number(zero, dtype))), whole(all));
      }
  }
}

TEST(Quantized, scales_go_along_an_axis_or_by_blocks) {
  const Tensor input = to(arange(0, 30), f32);
  const Tensor cube = reshape(input, {2, 5, 3});
  const Tensor along = tensor(std::vector<double>{0.5, 1, 2, 4, 8}, {.dtype = f32});
  const Tensor zeros_along = bytes({1, 2, 3, 4, 5}, {5});
  const Tensor blocks = tensor(std::vector<double>{0.5, 1, 2, 4, 8, 16}, {.dtype = f32});
  const Steps by_axis = whole(quantize_linear(cube, along, zeros_along, 1));
  EXPECT_EQ(by_axis, whole(quantize_linear(cube, along, zeros_along, -2)));
  // Blocks of three and two along the axis of five, one number for the whole last dimension.
  const Tensor by_rows =
      reshape(tensor(std::vector<double>{0.5, 1, 2, 4}, {.dtype = f32}), {2, 2, 1});
  const Steps by_block = whole(quantize_linear(cube, expand(by_rows, {2, 2, 3}), {}, 1, 3));
  for (int i = 0; i < 30; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int row = i / 3 % 5, batch = i / 15;
    EXPECT_EQ(by_axis[at], std::min(255.0, std::nearbyint(i / std::ldexp(0.5, row)) + 1 + row));
    EXPECT_EQ(by_block[at], std::nearbyint(i / std::ldexp(0.5, 2 * batch + row / 3)));
  }
  EXPECT_EQ(test::error_of([&] { quantize_linear(cube, blocks, {}, 1); }),
            "quantize_linear: scale has shape [6]; pass one number, or 5 for axis 1 of shape "
            "[2, 5, 3]");
  EXPECT_EQ(test::error_of([&] { quantize_linear(cube, number(1), number(1, i32)); }),
            "quantize_linear: the result would be int32; choose uint8, int8, uint16 or int16");
}

TEST(Quantized, finds_a_scale_as_onnx_shows_it) {
  const Tensor input = tensor(std::vector<double>{0, 2, -3, -2.5, 1.34, 0.5}, {.dtype = f32});
  const auto found = dynamic_quantize_linear(input);
  EXPECT_EQ(whole(found.output), (Steps{153, 255, 0, 26, 221, 179}));
  EXPECT_NEAR(item<float>(found.scale), 0.0196078438, 1e-9);
  EXPECT_EQ(whole(found.zero_point), Steps{153});
  const auto positive = dynamic_quantize_linear(tensor({1.0f, 2.1f, 1.3f, 2.5f, 3.34f, 4.0f}));
  EXPECT_EQ(whole(positive.output), (Steps{64, 134, 83, 159, 213, 255}));
  const auto none = dynamic_quantize_linear(zeros({0, 3}, f32));
  EXPECT_EQ(none.output.shape(), (Dims{0, 3}));
  EXPECT_EQ(item<float>(none.scale), 1);
  EXPECT_EQ(item<float>(dynamic_quantize_linear(zeros({4}, f32)).scale), 1);
}

TEST(Quantized, multiplies_as_onnx_shows_it) {
  const Tensor a = bytes({11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0}, {4, 3});
  const Tensor b = bytes({1, 4, 2, 5, 3, 6}, {3, 2});
  const Tensor product = matmul_integer(a, b, number(12, u8), number(0, u8));
  EXPECT_EQ(product.dtype(), i32);
  EXPECT_EQ(whole(product), (Steps{-38, -83, -44, -98, -50, -113, -56, -128}));
  // A zero point for each row, and for each column.
  const Steps moved = whole(matmul_integer(a, b, bytes({1, 2, 3, 4}, {4}), bytes({5, 6}, {2})));
  const Steps first = whole(a), second = whole(b);
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < 2; ++column) {
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < 3; ++k)
        sum += (first[row * 3 + k] - static_cast<std::int64_t>(row + 1)) *
               (second[k * 2 + column] - static_cast<std::int64_t>(column + 5));
      EXPECT_EQ(moved[row * 2 + column], sum);
    }
}

TEST(Quantized, long_sums_are_exact) {
  const Tensor most = full({1, 4099}, 255, u8), least = full({4099, 1}, -128, i8);
  EXPECT_EQ(whole(matmul_integer(most, transpose(most, 0, 1))), Steps{4099 * 255 * 255});
  EXPECT_EQ(whole(matmul_integer(most, least)), Steps{-4099 * 255 * 128});
  const Tensor image = full({1, 300, 4, 4}, 255, u8), kernel = full({1, 300, 4, 4}, 255, u8);
  EXPECT_EQ(whole(conv_integer(image, kernel)), Steps{300 * 16 * 255 * 255});
}

TEST(Quantized, convolves_as_onnx_shows_it) {
  const Tensor image = bytes({2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 1, 3, 3});
  const Tensor ones = bytes({1, 1, 1, 1}, {1, 1, 2, 2});
  EXPECT_EQ(whole(conv_integer(image, ones, number(1, u8))), (Steps{12, 16, 24, 28}));
  EXPECT_EQ(whole(conv_integer(image, ones, number(1, u8), {}, {1}, {1})),
            (Steps{1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9}));
  const Tensor row = bytes({255, 174, 162, 25, 203, 168, 58}, {1, 1, 1, 7});
  const Tensor turned =
      qlinear_conv(row, number(0.00369204697), number(132, u8), bytes({0}, {1, 1, 1, 1}),
                   number(0.00172794575), number(255, u8), number(0.00162681262), number(123, u8));
  EXPECT_EQ(whole(turned), (Steps{0, 81, 93, 230, 52, 87, 197}));
  EXPECT_EQ(test::error_of([&] {
              conv_integer(image, bytes({1, 1}, {1, 2, 1, 1}));
            }),
            "conv_integer: 1 channels, weight of shape [1, 2, 1, 1], and 1 groups; make weight [a "
            "multiple of the groups, channels / groups, size...]");
}

TEST(Quantized, agrees_with_the_convolution_of_floats) {
  const Tensor image = to(reshape(arange(0, 2 * 4 * 7 * 6), {2, 4, 7, 6}), u8);
  const Tensor kernel = to(sub(reshape(arange(0, 6 * 2 * 3 * 2), {6, 2, 3, 2}), 30), i8);
  const Tensor zero = bytes({1, 2, 3, 4, 5, 6}, {6}, i8);
  const Tensor made = conv_integer(image, kernel, number(9, u8), zero, {2, 1}, {1, 0}, {1, 2}, 2);
  const Tensor expected =
      conv2d(sub(to(image, f64), 9), sub(to(kernel, f64), reshape(to(zero, f64), {6, 1, 1, 1})), {},
             {2, 1}, {1, 0}, {1, 2}, 2);
  EXPECT_EQ(made.shape(), expected.shape());
  EXPECT_EQ(whole(made), whole(expected));
}

TEST(Quantized, products_in_steps_are_as_onnx_shows_them) {
  const Tensor a = bytes({208, 236, 0, 238, 3, 214, 255, 29}, {2, 4});
  const Tensor b = bytes({152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247}, {4, 3});
  const Tensor made = qlinear_matmul(a, number(0.0066), number(113, u8), b, number(0.00705),
                                     number(114, u8), number(0.0107), number(118, u8));
  EXPECT_EQ(made.dtype(), u8);
  EXPECT_EQ(whole(made), (Steps{168, 115, 255, 1, 66, 151}));
}

}  // namespace
}  // namespace bp::quantized_test
