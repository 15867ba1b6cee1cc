// needs: cpu cuda
// Factorizations by cuSOLVER: signs, order and NaN as cpu's, and small matrices in large batches left to the host's operators.
#include <limits>

#include <backplane/core_ops/factors.hpp>

#include "backends/cuda/native.hpp"

namespace bp::test {
namespace {

class Factors : public NativeKernels {
 protected:
  static Tensor random(const std::vector<std::int64_t>& shape, Dtype dtype) {
    return randn(shape, dtype, host_device());
  }
  static Tensor positive(std::int64_t n, Dtype dtype) {
    const Tensor a = random({2, n, n}, dtype);
    return matmul(a, transpose(a, -1, -2)) / static_cast<double>(n) +
           eye(n, n, dtype, host_device());
  }
  // NaN where the expected one has it.
  void expect_near(const Tensor& on_card, const Tensor& expected, double bound) const {
    const Tensor actual = here(on_card);
    ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape()));
    EXPECT_TRUE(allclose(actual, expected, bound, bound, true));
  }
  static double bound_for(Dtype dtype) { return dtype == f64 ? 1e-9 : 2e-3; }
};

TEST_F(Factors, are_those_of_cpu) {
  for (const Dtype dtype : {f32, f64})
    for (const std::int64_t n : {40, 130, 300}) {
      SCOPED_TRACE(n);
      const double bound = bound_for(dtype);
      const Tensor symmetric = positive(n, dtype), tall = random({n + 20, n}, dtype);
      for (const bool upper : {false, true})
        expect_near(linalg_cholesky(there(symmetric), upper), linalg_cholesky(symmetric, upper),
                    bound);
      for (const Tensor& a : {tall, transpose(tall, 0, 1), random({2, n, n}, dtype)}) {
        const LinalgLuFactorResult lu = linalg_lu_factor(a), on_card = linalg_lu_factor(there(a));
        expect_near(on_card.LU, lu.LU, bound);
        EXPECT_TRUE(equal(here(on_card.pivots), lu.pivots));
        for (const char* mode : {"reduced", "complete", "r"}) {
          const LinalgQrResult qr = linalg_qr(a, mode), there_qr = linalg_qr(there(a), mode);
          expect_near(there_qr.R, qr.R, bound);
          expect_near(there_qr.Q, qr.Q, bound);
        }
        const LinalgSvdResult svd = linalg_svd(there(a), false);
        expect_near(svd.S, linalg_svd(a, false).S, bound);
        expect_near(matmul(svd.U * unsqueeze(svd.S, -2), svd.Vh), a, bound);
        const Tensor U = here(svd.U);
        EXPECT_GE(item<double>(min(gather(U, -2, argmax(abs(U), -2, true)))), 0);
      }
      const LinalgEighResult of = linalg_eigh(there(symmetric));
      expect_near(of.eigenvalues, linalg_eigh(symmetric).eigenvalues, bound);
      expect_near(matmul(there(symmetric), of.eigenvectors),
                  here(of.eigenvectors * unsqueeze(of.eigenvalues, -2)), bound);
      const Tensor V = here(of.eigenvectors);
      EXPECT_GE(item<double>(min(gather(V, -2, argmax(abs(V), -2, true)))), 0);
    }
}

TEST_F(Factors, are_served_by_the_library_where_matrices_are_large) {
  const Served served("linalg_cholesky", "cuda");
  linalg_cholesky(there(positive(200, f64)));
  expect_served(served, "native 1");
}

TEST_F(Factors, end_at_the_first_pivot_that_is_not_positive) {
  const Tensor a = positive(100, f64);
  fill_(select(select(select(a, 0, 1), 0, 60), 0, 60), -1);
  EXPECT_THROW(linalg_cholesky(a), Error);  // cuda's queue goes on
  const UncheckedFactors as_far_as_they_go;
  for (const bool upper : {false, true})
    expect_near(linalg_cholesky(there(a), upper), linalg_cholesky(a, upper), 1e-9);
}

TEST_F(Factors, of_what_is_not_finite_are_nan_for_that_matrix_alone) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Tensor a = positive(64, f64);
    fill_(select(select(select(a, 0, 1), 0, 5), 0, 2), bad);
    expect_near(linalg_eigh(there(a)).eigenvalues, linalg_eigh(a).eigenvalues, 1e-9);
    expect_near(linalg_svd(there(a)).S, linalg_svd(a).S, 1e-9);
  }
}

TEST_F(Factors, of_transposed_and_sliced_matrices) {
  const Tensor all = random({90, 120}, f64), on_card = there(all);
  const auto check = [&](const Tensor& actual, const Tensor& a) {
    expect_near(linalg_qr(actual).R, linalg_qr(a).R, 1e-9);
    expect_near(linalg_lu_factor(actual).LU, linalg_lu_factor(a).LU, 1e-9);
  };
  check(transpose(on_card, 0, 1), transpose(all, 0, 1));
  check(narrow(on_card, 1, 7, 60), narrow(all, 1, 7, 60));
}

}  // namespace
}  // namespace bp::test
