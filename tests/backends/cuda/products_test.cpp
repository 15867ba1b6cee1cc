// needs: cpu cuda
// matmul and bmm by cuBLASLt, against cpu in f64.
#include <backplane/capture/capture.hpp>
#include <backplane/runtime/settings.hpp>

#include "backends/cuda/native.hpp"
#include "dispatcher/child.hpp"
#include "tools/run_program.hpp"

namespace bp::test {
namespace {

struct AllowTf32 {
  explicit AllowTf32(bool on) { set_allow_tf32(on); }
  ~AllowTf32() { set_allow_tf32(false); }
};

struct OnlyDeterministic {
  explicit OnlyDeterministic(bool on) { set_deterministic(on); }
  ~OnlyDeterministic() { set_deterministic(false); }
};

class Products : public NativeKernels {
 protected:
  static Tensor random(const std::vector<std::int64_t>& shape, Dtype dtype = f32) {
    return cast(randn(shape, f32, host_device()), dtype);
  }

  // The largest difference to the product in the widest type, over the root of the inner size.
  static double error_of(const Tensor& actual, const Tensor& a, const Tensor& b) {
    const Dtype wide = is_complex(a.dtype()) ? complex128 : f64;
    const Tensor exact = matmul(cast(a, wide), cast(b, wide));
    EXPECT_EQ(to_string(actual.shape()), to_string(exact.shape()));
    // Complex numbers as their parts.
    std::vector<double> got(exact.nbytes() / 8), wanted(got.size());
    copy_to_host_memory(cast(here(actual), wide), got.data());
    copy_to_host_memory(exact, wanted.data());
    double largest = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double distance = std::abs(got[i] - wanted[i]);
      if (!(distance <= largest)) largest = distance;  // NaN too
    }
    return largest / std::sqrt(static_cast<double>(a.size(-1)));
  }

  // What one rounding to the dtype and sums in f32 allow; products are about as large as the root of the inner size.
  static double allowed(Dtype dtype) {
    if (dtype == f16) return 4e-3;
    if (dtype == bf16) return 3e-2;
    return dtype == f64 || dtype == complex128 ? 1e-13 : 2e-5;
  }

  void expect_product(const Tensor& a, const Tensor& b, const std::string& rung = "native 1") {
    const Tensor left = there(a), right = there(b);
    expect_product_of(left, right, a, b, rung);
  }
  void expect_product_of(const Tensor& left, const Tensor& right, const Tensor& a, const Tensor& b,
                         const std::string& rung = "native 1") {
    SCOPED_TRACE(to_string(a.shape()) + " by " + to_string(b.shape()) + " in " +
                 std::string(bp::name(a.dtype())));
    const Served served("matmul", "cuda");
    const Tensor product = matmul(left, right);
    expect_served(served, rung);
    EXPECT_LE(error_of(product, a, b), allowed(a.dtype()));
  }
};

TEST_F(Products, agree_with_cpu_in_every_dtype) {
  for (Dtype dtype : {f32, f64, f16, bf16, complex64, complex128}) {
    expect_product(random({1, 1}, dtype), random({1, 1}, dtype));
    expect_product(random({33, 65}, dtype), random({65, 17}, dtype));
    expect_product(random({256, 512}, dtype), random({512, 128}, dtype));
    expect_product(random({3, 31, 64}, dtype), random({3, 64, 5}, dtype));
  }
}

TEST_F(Products, rows_and_columns_of_any_length) {
  for (Dtype dtype : {f32, bf16, complex64})
    for (std::int64_t m : {1, 3, 1000})
      for (std::int64_t n : {1, 7, 1024})
        expect_product(random({m, 130}, dtype), random({130, n}, dtype));
}

TEST_F(Products, transposed_factors_are_read_where_they_lie) {
  for (Dtype dtype : {f32, f16, complex128}) {
    const Tensor a = random({64, 48}, dtype), b = random({32, 64}, dtype);
    const Tensor left = there(a), right = there(b);
    expect_product_of(transpose(left, 0, 1), transpose(right, 0, 1), transpose(a, 0, 1),
                      transpose(b, 0, 1));
  }
}

TEST_F(Products, views_that_begin_anywhere_and_skip_elements) {
  for (Dtype dtype : {f32, bf16, f64}) {
    const Tensor a = random({40, 41}, dtype), b = random({41, 43}, dtype);
    const Tensor left = there(a), right = there(b);
    const auto part = [](const Tensor& t) { return narrow(narrow(t, 0, 1, 33), 1, 3, 33); };
    expect_product_of(part(left), part(right), part(a), part(b));
    const auto column = [](const Tensor& t) { return narrow(t, 1, 5, 1); };
    expect_product_of(left, column(right), a, column(b));
    expect_product_of(transpose(column(right), 0, 1), transpose(left, 0, 1),
                      transpose(column(b), 0, 1), transpose(a, 0, 1), "native 1");
  }
}

TEST_F(Products, factors_with_gaps_both_ways_are_copied_first) {
  const Tensor a = random({64, 64}), b = random({32, 8});
  const Tensor left = there(a), right = there(b);
  const auto part = [](const Tensor& t) { return slice(slice(t, 0, 0, 64, 2), 1, 0, 64, 2); };
  expect_product_of(part(left), right, part(a), b, "legalized 1");
  const Tensor row = random({1, 32});
  expect_product_of(expand(there(row), {5, 32}), right, expand(row, {5, 32}), b, "legalized 1");
}

TEST_F(Products, batches_broadcast) {
  for (Dtype dtype : {f32, f16}) {
    expect_product(random({4, 1, 8, 16}, dtype), random({3, 16, 8}, dtype));
    expect_product(random({6, 8, 16}, dtype), random({16, 8}, dtype));
    expect_product(random({8, 16}, dtype), random({6, 16, 8}, dtype));
    expect_product(random({2, 1, 3, 4, 8}, dtype), random({5, 1, 8, 2}, dtype));
    const Tensor a = random({3, 5, 8, 16}, dtype), b = random({3, 5, 16, 8}, dtype);
    const Tensor left = there(a), right = there(b);
    expect_product_of(transpose(left, 0, 1), transpose(right, 0, 1), transpose(a, 0, 1),
                      transpose(b, 0, 1));
  }
}

TEST_F(Products, more_batches_than_a_grid_counts) {
  expect_product(random({70000, 2, 3}), random({70000, 3, 2}));
  expect_product(random({70000, 1, 3}), random({3, 2}));
}

TEST_F(Products, an_inner_size_of_zero_gives_zeros) {
  expect_same(here(matmul(there(zeros({3, 0}, f32)), there(zeros({0, 2}, f32)))),
              zeros({3, 2}, f32));
}

TEST_F(Products, integers_stay_exact_by_generated_kernels) {
  if (!has_card()) GTEST_SKIP() << "cpu has a kernel of its own";
  const Tensor a = randint(-100, 100, {33, 40}, i32, host_device());
  const Served served("matmul", "cuda");
  expect_same(here(matmul(there(a), there(transpose(a, 0, 1)))), matmul(a, transpose(a, 0, 1)));
  EXPECT_EQ(served.since(), "generated 1");
}

TEST_F(Products, more_shapes_than_are_kept) {
  for (int round = 0; round < 2; ++round)
    for (std::int64_t n = 1; n <= 300; ++n) {
      const Tensor a = ones({2, n}, f32, card_), b = ones({n, 1}, f32, card_);
      ASSERT_EQ(values(matmul(a, b)), (std::vector<float>(2, static_cast<float>(n))));
    }
}

TEST_F(Products, f32_is_not_rounded_unless_that_is_allowed) {
  if (!has_card()) GTEST_SKIP() << "only a card has TF32";
  const Tensor a = random({512, 512}), b = random({512, 512});
  const double plain = error_of(matmul(there(a), there(b)), a, b);
  EXPECT_LE(plain, allowed(f32));
  const AllowTf32 scope(true);
  const double rounded = error_of(matmul(there(a), there(b)), a, b);
  EXPECT_GT(rounded, 10 * plain) << "nothing was faster for it";
  EXPECT_LE(rounded, 1e-2);
}

TEST_F(Products, the_same_factors_give_the_same_bits) {
  for (Dtype dtype : {f32, bf16}) {
    const Tensor a = there(random({64, 8192}, dtype)), b = there(random({8192, 64}, dtype));
    const Tensor first = here(matmul(a, b));
    for (int i = 0; i < 5; ++i) expect_same(here(matmul(a, b)), first);
  }
}

TEST_F(Products, are_replayed_with_new_factors) {
  const Tensor a = random({96, 64}), b = random({64, 32});
  const Tensor left = there(a), right = there(b);
  Tensor product;
  Recording graph = capture(card_, [&] { product = matmul(left, right); });
  graph.replay();
  EXPECT_LE(error_of(product, a, b), allowed(f32));
  const Tensor other = random({96, 64});
  copy_into(left, there(other));
  graph.replay();
  EXPECT_LE(error_of(product, other, b), allowed(f32));
}

TEST_F(Products, large_ones_agree_in_every_dtype_and_layout) {
  for (Dtype dtype : {f32, f64, f16, bf16, complex64, complex128}) {
    expect_product(random({512, 700}, dtype), random({700, 512}, dtype));
    expect_product(random({6, 256, 320}, dtype), random({6, 320, 256}, dtype));
    const Tensor a = random({500, 600}, dtype), b = random({520, 500}, dtype);
    expect_product_of(transpose(there(a), 0, 1), transpose(there(b), 0, 1), transpose(a, 0, 1),
                      transpose(b, 0, 1));
    expect_product(random({1, 3000}, dtype), random({3000, 3000}, dtype));
  }
}

// ---- The choice among several algorithms ---------------------------------------------------------------

// Factors whose product is worth measuring, and that a card multiplies in microseconds.
class MeasuredProducts : public Products {
 protected:
  void SetUp() override {
    Products::SetUp();
    if (!has_card()) GTEST_SKIP() << "only a card has several algorithms";
  }

  Tensor large(Dtype dtype = bf16) const { return there(random({768, 768}, dtype)); }

  // How often the test, run by a process of its own, measured a product.
  static std::size_t count_measured(const std::string& test, const char* environment = "A=a") {
    const bp::test::TemporaryFolder nothing_kept;
    const Child child = run_child(
        "MeasuredProducts.DISABLED_" + test,
        {environment, "BACKPLANE_CACHE_DIR=" + (nothing_kept.path() / "kernels").string()});
    EXPECT_EQ(child.exit_code, 0) << child.output;
    EXPECT_NE(child.output.find("[  PASSED  ] 1 test"), std::string::npos) << child.output;
    std::size_t count = 0;
    const std::string line = "matmul: measured 1 x ";
    for (auto at = child.output.find(line); at != std::string::npos;
         at = child.output.find(line, at + 1))
      ++count;
    return count;
  }
};

TEST_F(MeasuredProducts, DISABLED_stay_the_same_when_others_come) {
  const Tensor a = large(), b = large();
  const Tensor first = here(matmul(a, b));
  EXPECT_LE(error_of(first, here(a), here(b)), allowed(bf16));
  // More shapes than plans are kept for.
  for (std::int64_t n = 1; n <= 300; ++n)
    matmul(ones({2, n}, f32, card_), ones({n, 1}, f32, card_));
  for (int i = 0; i < 3; ++i) expect_same(here(matmul(a, b)), first);
}

TEST_F(MeasuredProducts, are_measured_once) {
  EXPECT_EQ(count_measured("stay_the_same_when_others_come"), 1u);
}

TEST_F(MeasuredProducts, are_not_measured_where_that_is_turned_off) {
  EXPECT_EQ(count_measured("stay_the_same_when_others_come", "BACKPLANE_TUNE=0"), 0u);
}

TEST_F(MeasuredProducts, DISABLED_take_the_first_algorithm_in_deterministic_mode) {
  const OnlyDeterministic scope(true);
  const Tensor a = large(), b = large();
  const Tensor first = here(matmul(a, b));
  EXPECT_LE(error_of(first, here(a), here(b)), allowed(bf16));
  for (int i = 0; i < 3; ++i) expect_same(here(matmul(a, b)), first);
}

TEST_F(MeasuredProducts, are_not_measured_in_deterministic_mode) {
  EXPECT_EQ(count_measured("take_the_first_algorithm_in_deterministic_mode"), 0u);
}

TEST_F(MeasuredProducts, deterministic_mode_does_not_take_what_was_measured_before) {
  const Tensor a = there(random({256, 8192})), b = there(random({8192, 256}));
  Tensor plain;
  {
    const OnlyDeterministic scope(true);
    plain = here(matmul(a, b));
  }
  const Tensor measured = here(matmul(a, b));
  const OnlyDeterministic scope(true);
  expect_same(here(matmul(a, b)), plain);
  EXPECT_LE(error_of(measured, here(a), here(b)), allowed(f32));
}

TEST_F(MeasuredProducts, DISABLED_are_recorded_unmeasured) {
  const Tensor a = large(), b = large();
  Tensor product;
  Recording graph = capture(card_, [&] { product = matmul(a, b); });
  graph.replay();
  EXPECT_LE(error_of(product, here(a), here(b)), allowed(bf16));
  std::fputs("the recording was replayed\n", stderr);
  const Tensor outside = here(matmul(a, b));
  EXPECT_LE(error_of(outside, here(a), here(b)), allowed(bf16));
  Tensor again;
  Recording second = capture(card_, [&] { again = matmul(a, b); });
  second.replay();
  expect_same(here(again), outside);
}

TEST_F(MeasuredProducts, are_measured_after_a_recording_and_not_in_it) {
  const Child child = run_child("MeasuredProducts.DISABLED_are_recorded_unmeasured");
  EXPECT_EQ(child.exit_code, 0) << child.output;
  const auto mark = child.output.find("the recording was replayed");
  const auto measured = child.output.find("matmul: measured 1 x");
  ASSERT_NE(mark, std::string::npos) << child.output;
  ASSERT_NE(measured, std::string::npos) << child.output;
  EXPECT_LT(mark, measured) << child.output;
}

TEST_F(MeasuredProducts, DISABLED_are_the_same_for_threads_that_come_at_once) {
  const Tensor a = large(f32), b = large(f32);
  synchronize(card_);
  std::vector<Tensor> products(4);
  std::vector<std::thread> threads;
  for (Tensor& product : products)
    threads.emplace_back([&] {
      const StreamGuard guard{Stream(card_)};
      product = here(matmul(a, b));
    });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& product : products) expect_same(product, products[0]);
  EXPECT_LE(error_of(products[0], here(a), here(b)), allowed(f32));
}

TEST_F(MeasuredProducts, are_measured_once_by_threads_that_come_at_once) {
  EXPECT_EQ(count_measured("are_the_same_for_threads_that_come_at_once"), 1u);
}

}  // namespace
}  // namespace bp::test
