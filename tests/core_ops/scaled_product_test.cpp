// needs: cpu
// _scaled_mm: against products in float64, and what a wrong call is told.
#include <cmath>
#include <gtest/gtest.h>

#include <backplane/tensors.hpp>

#include "core_ops/rows.hpp"

namespace bp::scaled_product_test {
namespace {

Tensor eight_bits(IntList shape, Dtype dtype = f8_e4m3fn) {
  return cast(randn(shape, f32), dtype);
}
Tensor number(double value) {
  return full({}, value, f32);
}
std::vector<double> numbers(const Tensor& tensor) {
  return to_vector<double>(cast(tensor, f64));
}

TEST(ScaledProduct, checks_factors_also_beside_a_scale_that_requires_grad) {
  const Tensor scale = set_requires_grad(number(1)), a = randn({3, 4}, f32), b = randn({4, 2}, f32);
  EXPECT_THROW(_scaled_mm(a, b, scale, number(1)), Error);
}

TEST(ScaledProduct, multiplies_scales_and_adds) {
  for (Dtype left : {f8_e4m3fn, f8_e5m2})
    for (Dtype right : {f8_e4m3fn, f8_e5m2}) {
      const Tensor a = eight_bits({5, 40}, left), b = eight_bits({40, 7}, right);
      const Tensor rows = add(rand({5, 1}, f32), 0.5), columns = add(rand({1, 7}, f32), 0.5);
      const Tensor bias = cast(randn({7}, f32), bf16);
      const Tensor product = matmul(cast(a, f64), cast(b, f64));
      const auto by_rows = numbers(_scaled_mm(a, b, rows, columns, bias, {}, f32));
      const auto wanted =
          numbers(add(mul(mul(product, cast(rows, f64)), cast(columns, f64)), cast(bias, f64)));
      const auto by_one = numbers(_scaled_mm(a, b, number(0.5), full({1, 1}, 3, f32), {}, {}, f32));
      const auto wanted_by_one = numbers(mul(product, 1.5));
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(by_rows[i], wanted[i], 1e-3) << i;
        EXPECT_NEAR(by_one[i], wanted_by_one[i], 1e-3) << i;
      }
    }
}

TEST(ScaledProduct, the_result_has_the_dtype_of_input_or_another) {
  const Tensor a = eight_bits({2, 3}, f8_e5m2), b = eight_bits({3, 4});
  EXPECT_EQ(_scaled_mm(a, b, number(1), number(1)).dtype(), f8_e5m2);
  for (Dtype dtype : {f8_e4m3fn, f16, bf16, f32, f64})
    EXPECT_EQ(_scaled_mm(a, b, number(1), number(1), {}, {}, dtype).dtype(), dtype);
}

TEST(ScaledProduct, only_a_result_of_8_bits_is_scaled) {
  const Tensor one = cast(full({1, 1}, 3, f32), f8_e4m3fn);
  const auto scaled = [&](Dtype dtype) {
    return numbers(_scaled_mm(one, one, number(1), number(1), {}, number(2), dtype))[0];
  };
  EXPECT_EQ(scaled(f8_e4m3fn), 18);
  EXPECT_EQ(scaled(f8_e5m2), 16);  // 18 lies between 16 and 20, and goes to the even one
  EXPECT_EQ(scaled(f32), 9);
}

TEST(ScaledProduct, what_does_not_fit_is_the_largest_or_infinite) {
  const auto of = [](double scale, Dtype dtype) {
    const Tensor one = cast(full({1, 1}, 1, f32), f8_e4m3fn);
    return numbers(_scaled_mm(one, one, number(scale), number(1), {}, {}, dtype))[0];
  };
  EXPECT_EQ(of(1e6, f8_e4m3fn), 448);
  EXPECT_EQ(of(-INFINITY, f8_e4m3fn), -448);
  EXPECT_TRUE(std::isnan(of(NAN, f8_e4m3fn)));
  EXPECT_EQ(of(1e6, f8_e5m2), INFINITY);
  EXPECT_EQ(of(1e6, f16), INFINITY);
}

TEST(ScaledProduct, of_nothing_is_the_bias) {
  const Tensor made = _scaled_mm(eight_bits({2, 0}), eight_bits({0, 3}), number(2), number(2),
                                 full({3}, 5, bf16), {}, f32);
  EXPECT_EQ(numbers(made), std::vector<double>(6, 5));
  EXPECT_EQ(_scaled_mm(eight_bits({0, 4}), eight_bits({4, 3}), number(2), number(2)).numel(), 0);
}

TEST(ScaledProduct, says_what_does_not_fit) {
  const Tensor a = eight_bits({2, 3}), b = eight_bits({3, 4}), one = number(1);
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto expect = [&](const std::string& part, const auto& call) {
    EXPECT_NE(message_of(call).find(part), std::string::npos) << message_of(call);
  };
  expect("input is float32; cast it to float8", [&] { _scaled_mm(cast(a, f32), b, one, one); });
  expect("mat2 is int64", [&] { _scaled_mm(a, cast(b, i64), one, one); });
  expect("pass a matrix", [&] { _scaled_mm(a, select(b, 0, 0), one, one); });
  expect("3 against 4", [&] { _scaled_mm(a, eight_bits({4, 4}), one, one); });
  expect("scale_a is float64", [&] { _scaled_mm(a, b, cast(one, f64), one); });
  expect("or [2, 1]", [&] { _scaled_mm(a, b, full({2}, 1, f32), one); });
  expect("or [1, 4]", [&] { _scaled_mm(a, b, one, full({4, 1}, 1, f32)); });
  expect("pass [4]", [&] { _scaled_mm(a, b, one, one, full({3}, 1, bf16)); });
  expect("bias is int64", [&] { _scaled_mm(a, b, one, one, full({4}, 1, i64)); });
  expect("out_dtype is int32", [&] { _scaled_mm(a, b, one, one, {}, {}, i32); });
}

}  // namespace
}  // namespace bp::scaled_product_test
