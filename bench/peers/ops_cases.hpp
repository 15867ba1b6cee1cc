// The width of the library as one list of cases, which both sides instantiate: operators over sizes, layouts and dtypes.
// An operator is found by its tensor's namespace; what the two call by other names is in `Side`.
#pragma once

#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "measure.hpp"

namespace bench {

using Call = std::function<void()>;

struct Case {
  std::string name;            // "exp/1000/transposed/f32"
  std::function<Call()> make;  // its inputs, and the call of them
};

template <class Side> class Cases {
 public:
  std::vector<Case> list() {
    for (const std::int64_t size : {1, 1000, 1000000, 16000000}) {
      for (const char* dtype : {"f32", "bf16", "i64"})
        for (const char* layout : {"contiguous", "transposed", "broadcast"}) {
          size_ = size, layout_ = layout, dtype_ = dtype;
          is_floating_ = dtype_ != "i64";
          pointwise_of_one();
          pointwise_of_several();
          reductions();
        }
      layout_ = "contiguous";
      for (const char* dtype : {"f32", "bf16", "i64"}) {
        dtype_ = dtype;
        movement();
        if (dtype_ != "i64") norms();
        ordering();
        casts();
        random_numbers();
      }
    }
    products();
    return std::move(cases_);
  }

 private:
  using Tensor = typename Side::Tensor;
  using Scalar = typename Side::Scalar;

  // The matrix of `size_` elements: 1 by 1, 25 by 40, 1000 by 1000, 4000 by 4000.
  static std::int64_t rows_of(std::int64_t size) {
    return size == 1 ? 1 : size == 1000 ? 25 : size == 1000000 ? 1000 : 4000;
  }

  struct Inputs {
    Tensor x, y, z;
  };
  // `x` has the layout; the others are contiguous.
  static Inputs inputs_of(std::int64_t size, const std::string& layout, const std::string& dtype) {
    const std::int64_t rows = rows_of(size), columns = size / rows;
    Inputs in{Side::random(rows, columns, dtype), Side::random(rows, columns, dtype),
              Side::random(rows, columns, dtype)};
    if (layout == "transposed") in.x = Side::transpose(Side::random(columns, rows, dtype));
    if (layout == "broadcast") in.x = Side::expand(Side::random(1, columns, dtype), rows, columns);
    return in;
  }

  template <class F> void add_case(const char* name, F call) {
    cases_.push_back(
        {std::string(name) + "/" + std::to_string(size_) + "/" + layout_ + "/" + dtype_,
         [call, size = size_, layout = layout_, dtype = dtype_]() -> Call {
           const Inputs in = inputs_of(size, layout, dtype);
           return [call, in] { auto result = call(in); };
         }});
  }

#define BENCH_CASE(name, expression) add_case(name, [](const Inputs& in) { return expression; })

  void pointwise_of_one() {
    BENCH_CASE("neg", neg(in.x));
    BENCH_CASE("abs", abs(in.x));
    BENCH_CASE("square", square(in.x));
    BENCH_CASE("sign", sign(in.x));
    BENCH_CASE("relu", relu(in.x));
    BENCH_CASE("clamp", clamp(in.x, Scalar(-1), Scalar(1)));
    BENCH_CASE("logical_not", logical_not(in.x));
    BENCH_CASE("isnan", isnan(in.x));
    BENCH_CASE("add_number", add(in.x, Scalar(3)));
    BENCH_CASE("mul_number", mul(in.x, Scalar(3)));
    BENCH_CASE("eq_number", eq(in.x, Scalar(1)));
    BENCH_CASE("pow_2", pow(in.x, Scalar(2)));
    if (!is_floating_) {
      BENCH_CASE("bitwise_not", bitwise_not(in.x));
      return;
    }
    BENCH_CASE("exp", exp(in.x));
    BENCH_CASE("exp2", exp2(in.x));
    BENCH_CASE("expm1", expm1(in.x));
    BENCH_CASE("log", log(in.y));
    BENCH_CASE("log1p", log1p(in.x));
    BENCH_CASE("log2", log2(in.x));
    BENCH_CASE("sqrt", sqrt(in.x));
    BENCH_CASE("rsqrt", rsqrt(in.x));
    BENCH_CASE("reciprocal", reciprocal(in.x));
    BENCH_CASE("sin", sin(in.x));
    BENCH_CASE("cos", cos(in.x));
    BENCH_CASE("tan", tan(in.x));
    BENCH_CASE("atan", atan(in.x));
    BENCH_CASE("asin", asin(in.x));
    BENCH_CASE("sinh", sinh(in.x));
    BENCH_CASE("tanh", tanh(in.x));
    BENCH_CASE("erf", erf(in.x));
    BENCH_CASE("sigmoid", sigmoid(in.x));
    BENCH_CASE("silu", silu(in.x));
    BENCH_CASE("gelu", gelu(in.x));
    BENCH_CASE("elu", elu(in.x));
    BENCH_CASE("leaky_relu", leaky_relu(in.x));
    BENCH_CASE("softplus", softplus(in.x));
    BENCH_CASE("hardswish", hardswish(in.x));
    BENCH_CASE("mish", mish(in.x));
    BENCH_CASE("floor", floor(in.x));
    BENCH_CASE("round", round(in.x));
    BENCH_CASE("trunc", trunc(in.x));
  }

  void pointwise_of_several() {
    BENCH_CASE("add", add(in.x, in.y));
    BENCH_CASE("sub", sub(in.x, in.y));
    BENCH_CASE("mul", mul(in.x, in.y));
    BENCH_CASE("div", div(in.x, in.y));
    BENCH_CASE("maximum", maximum(in.x, in.y));
    BENCH_CASE("minimum", minimum(in.x, in.y));
    BENCH_CASE("eq", eq(in.x, in.y));
    BENCH_CASE("lt", lt(in.x, in.y));
    BENCH_CASE("logical_and", logical_and(in.x, in.y));
    BENCH_CASE("where", where(Side::first_half(in.y), in.x, in.z));
    BENCH_CASE("addcmul", addcmul(in.x, in.y, in.z));
    BENCH_CASE("remainder", remainder(in.x, in.y));
    BENCH_CASE("floor_divide", floor_divide(in.x, in.y));
    if (!is_floating_) {
      BENCH_CASE("bitwise_and", bitwise_and(in.x, in.y));
      BENCH_CASE("bitwise_xor", bitwise_xor(in.x, in.y));
      BENCH_CASE("bitwise_left_shift", bitwise_left_shift(in.x, in.y));
      return;
    }
    BENCH_CASE("pow", pow(in.x, in.y));
    BENCH_CASE("atan2", atan2(in.x, in.y));
    BENCH_CASE("hypot", hypot(in.x, in.y));
    BENCH_CASE("lerp", lerp(in.x, in.y, Scalar(0.3)));
    BENCH_CASE("addcdiv", addcdiv(in.x, in.y, in.z));
  }

  void reductions() {
    BENCH_CASE("sum", Side::sum(in.x));
    BENCH_CASE("sum_rows", Side::sum(in.x, 1));
    BENCH_CASE("sum_columns", Side::sum(in.x, 0));
    BENCH_CASE("max", Side::max(in.x));
    BENCH_CASE("max_rows", Side::max(in.x, 1));
    BENCH_CASE("argmax", argmax(in.x, 1));
    BENCH_CASE("prod", prod(in.x));
    BENCH_CASE("any", any(in.x));
    BENCH_CASE("all", all(in.x));
    if (!is_floating_) return;
    BENCH_CASE("mean", mean(in.x));
    BENCH_CASE("mean_rows", Side::mean(in.x, 1));
    BENCH_CASE("var_rows", Side::var(in.x, 1));
    BENCH_CASE("norm", Side::norm(in.x));
    BENCH_CASE("logsumexp", Side::logsumexp(in.x, 1));
  }

  void movement() {
    BENCH_CASE("transpose_copy", Side::contiguous(Side::transpose(in.x)));
    BENCH_CASE("clone", clone(in.x));
    BENCH_CASE("cat_rows", Side::cat(in.x, in.y, 0));
    BENCH_CASE("cat_columns", Side::cat(in.x, in.y, 1));
    BENCH_CASE("flip", flip(in.x, {0, 1}));
    BENCH_CASE("tril", tril(in.x));
    cases_with_index(
        "gather", [](const Inputs& in, const Tensor& index) { return gather(in.x, 1, index); },
        true);
    cases_with_index(
        "index_select",
        [](const Inputs& in, const Tensor& index) { return index_select(in.x, 0, index); }, false);
    cases_with_index(
        "index_put",
        [](const Inputs& in, const Tensor& index) { return Side::index_put(in.x, index, in.y); },
        false);
    cases_with_index(
        "scatter_add",
        [](const Inputs& in, const Tensor& index) { return scatter_add(in.x, 1, index, in.y); },
        true);
  }

  // `is_full`: an index for each element, into its row; else one for each row.
  template <class F> void cases_with_index(const char* name, F call, bool is_full) {
    const std::int64_t size = size_, rows = rows_of(size), columns = size / rows;
    cases_.push_back({std::string(name) + "/" + std::to_string(size) + "/contiguous/" + dtype_,
                      [=, dtype = dtype_]() -> Call {
                        const Inputs in = inputs_of(size, "contiguous", dtype);
                        const Tensor index = is_full ? Side::indices(columns, rows, columns)
                                                     : Side::indices(rows, rows);
                        return [=] { auto result = call(in, index); };
                      }});
  }

  void norms() {
    BENCH_CASE("softmax", softmax(in.x, 1));
    BENCH_CASE("log_softmax", log_softmax(in.x, 1));
    BENCH_CASE("softmax_columns", softmax(in.x, 0));
    BENCH_CASE("layer_norm", Side::layer_norm(in.x));
    BENCH_CASE("rms_norm", Side::rms_norm(in.x));
  }

  void ordering() {
    BENCH_CASE("cumsum_rows", cumsum(in.x, 1));
    BENCH_CASE("cumsum_columns", cumsum(in.x, 0));
    BENCH_CASE("sort_rows", sort(in.x, 1));
    if (size_ > 1) BENCH_CASE("topk_rows", topk(in.x, 10, 1));
  }

  void casts() {
    for (const char* to : {"f32", "bf16", "i64"})
      if (dtype_ != to) {
        const std::string name = std::string("cast_to_") + to;
        add_case(name.c_str(),
                 [to = std::string(to)](const Inputs& in) { return Side::cast(in.x, to); });
      }
  }

  void random_numbers() {
    if (dtype_ == "i64") {
      add_case("randint", [rows = rows_of(size_), size = size_](const Inputs&) {
        return Side::randint(rows, size / rows);
      });
      add_case("randperm", [size = size_](const Inputs&) { return Side::randperm(size); });
      return;
    }
    add_case("rand", [rows = rows_of(size_), size = size_, dtype = dtype_](const Inputs&) {
      return Side::rand(rows, size / rows, dtype);
    });
    add_case("randn", [rows = rows_of(size_), size = size_, dtype = dtype_](const Inputs&) {
      return Side::randn(rows, size / rows, dtype);
    });
    BENCH_CASE("dropout", dropout(in.x, 0.1, true));
  }

  void products() {
    for (const char* dtype : {"f32", "bf16"}) {
      for (const std::int64_t n : {16, 32, 64, 128, 256, 512, 1024, 2048}) product(n, n, n, dtype);
      product(1, 2048, 2048, dtype);
      product(2048, 2048, 1, dtype);
      product(16, 2048, 2048, dtype);
      product(2048, 16, 2048, dtype);
      product(2048, 2048, 16, dtype);
    }
  }

  void product(std::int64_t n, std::int64_t k, std::int64_t m, const std::string& dtype) {
    cases_.push_back({"matmul_" + std::to_string(n) + "x" + std::to_string(k) + "x" +
                          std::to_string(m) + "/product/contiguous/" + dtype,
                      [=]() -> Call {
                        const Tensor a = Side::random(n, k, dtype), b = Side::random(k, m, dtype);
                        return [=] { auto result = matmul(a, b); };
                      }});
  }

#undef BENCH_CASE

  std::int64_t size_ = 1;
  std::string layout_, dtype_;
  bool is_floating_ = true;
  std::vector<Case> cases_;
};

// Nanoseconds of one call, the best of three samples of 3 ms at least: other work on the machine only adds to a sample.
inline double quick_ns(const Call& call) {
  constexpr double least_ns = 3e6;
  std::int64_t count = 1;
  while (sample_ns(count, call) * static_cast<double>(count) < least_ns) count *= 2;
  double best = sample_ns(count, call);
  for (int i = 0; i < 2; ++i) best = std::min(best, sample_ns(count, call));
  return best;
}

// Prints the names of all cases and an empty line, then answers each number read with that case's time.
template <class Side> void serve_cases() {
  std::vector<Case> cases = Cases<Side>().list();
  for (const Case& one : cases) std::cout << one.name << "\n";
  std::cout << std::endl;
  std::size_t index = 0;
  while (std::cin >> index) std::cout << quick_ns(cases.at(index).make()) << std::endl;
}

}  // namespace bench
