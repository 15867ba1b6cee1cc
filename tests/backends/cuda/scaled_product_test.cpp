// needs: cpu cuda
// _scaled_mm by cuBLASLt, on cards that multiply 8-bit floats, against the same on cpu.
#include "backends/cuda/native.hpp"

namespace bp::test {
namespace {

class ScaledProducts : public NativeKernels {
 protected:
  // Whole numbers: every sum is exact.
  static Tensor eight_bits(IntList shape, Dtype dtype) {
    return cast(round(mul(rand(shape, f32, host_device()), 4)), dtype);
  }
  static Tensor number(double value) { return full({}, value, f32, host_device()); }

  struct Factors {
    std::int64_t m = 32, n = 48, k = 64;
    Dtype a = f8_e4m3fn, b = f8_e4m3fn;
  };

  void expect_product(const Factors& f, Dtype out, const Tensor& bias, const std::string& rung) {
    SCOPED_TRACE(std::string(bp::name(f.a)) + " by " + std::string(bp::name(f.b)) + " to " +
                 std::string(bp::name(out)));
    const Tensor a = eight_bits({f.m, f.k}, f.a), b = eight_bits({f.n, f.k}, f.b);
    const Tensor scale_a = number(0.5), scale_b = number(0.25);
    const Tensor wanted = _scaled_mm(a, transpose(b, 0, 1), scale_a, scale_b, bias, {}, out, false);
    const bool is_known = multiplies_eight_bits();
    const Served served("_scaled_mm", "cuda");
    const Tensor made = _scaled_mm(there(a), transpose(there(b), 0, 1), there(scale_a),
                                   there(scale_b), bias.defined() ? there(bias) : bias, {}, out);
    if (is_known) expect_served(served, rung);
    EXPECT_EQ(to_vector<double>(cast(here(made), f64)), to_vector<double>(cast(wanted, f64)));
  }

  // What the library says of a product that it should know tells of the card.
  bool multiplies_eight_bits() {
    const Tensor a = there(eight_bits({16, 16}, f8_e4m3fn)), scale = there(number(1));
    const Served served("_scaled_mm", "cuda");
    _scaled_mm(a, transpose(a, 0, 1), scale, scale, {}, {}, f32);
    return served.since() == "native 1";
  }
};

TEST_F(ScaledProducts, agree_with_cpu_in_every_dtype) {
  for (Dtype out : {f32, f16, bf16}) {
    expect_product({}, out, {}, "native 1");
    expect_product({.b = f8_e5m2}, out, {}, "native 1");
    expect_product({.a = f8_e5m2}, out, {}, "native 1");
    expect_product({.m = 1, .n = 16, .k = 16}, out, {}, "native 1");
  }
}

TEST_F(ScaledProducts, add_a_bias) {
  const Tensor bias = cast(arange(0, 48, 1, f32, host_device()), bf16);
  expect_product({}, f32, bias, "native 1");
  expect_product({}, bf16, bias, "native 1");
}

// At addresses that are multiples of 16 bytes, and of no more.
TEST_F(ScaledProducts, factors_that_begin_anywhere) {
  const bool is_known = multiplies_eight_bits();
  const Tensor scale = number(0.5);
  for (Dtype dtype : {f8_e4m3fn, f8_e5m2})
    for (Dtype out : {f32, f16, bf16}) {
      const Tensor a = eight_bits({33, 48}, f8_e4m3fn), w = eight_bits({65, 48}, dtype);
      const Tensor left = there(a), right = there(w), factor = there(scale);
      const auto rest = [](const Tensor& t) { return narrow(t, 0, 1, t.size(0) - 1); };
      const auto product = [&](const Tensor& x, const Tensor& y, const Tensor& by) {
        return _scaled_mm(x, transpose(y, 0, 1), by, by, {}, {}, out);
      };
      const auto expect = [&](const Tensor& made, const Tensor& wanted) {
        EXPECT_EQ(to_vector<double>(cast(here(made), f64)), to_vector<double>(cast(wanted, f64)));
      };
      const Served served("_scaled_mm", "cuda");
      const Tensor of_rest = product(left, rest(right), factor);
      if (is_known) expect_served(served, "native 1");
      expect(of_rest, product(a, rest(w), scale));
      expect(product(rest(left), rest(right), factor), product(rest(a), rest(w), scale));
    }
}

TEST_F(ScaledProducts, leave_the_rest_to_the_parts) {
  expect_product({.m = 5, .n = 7, .k = 3}, f32, {}, "not at all");
  expect_product({.a = f8_e5m2, .b = f8_e5m2}, f32, {}, "not at all");
  expect_product({}, f8_e4m3fn, {}, "not at all");
}

}  // namespace
}  // namespace bp::test
