// needs: cpu reference_primitives
// Factorizations of complex matrices by what they promise, by kernels and by their decompositions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <backplane/core_ops/factors.hpp>
#include <backplane/samples/samples.hpp>

#include "core_ops/peer_values.hpp"
#include "core_ops/rows.hpp"

namespace bp {
namespace {

using test::error_of;

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

Tensor complex_numbers(IntList shape, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> fraction(-1, 1);
  Dims pairs(shape);
  pairs.push_back(2);
  return view_as_complex(test::computed(pairs, [&](int) { return fraction(random); }));
}

Tensor turned_over(const Tensor& input) {
  return conj(transpose(input, -1, -2));
}

Tensor unit(const Tensor& like, std::int64_t size) {
  return eye(size, {}, like.dtype(), like.device());
}

double farthest(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(to_string(a.shape()), to_string(b.shape()));
  if (a.numel() == 0) return 0;
  const double largest = item<double>(cpu(cast(max(abs(b)), f64)));
  return item<double>(cpu(cast(max(abs(a - b)), f64))) / std::max(1.0, largest);
}

class ComplexMatrices : public testing::TestWithParam<const char*> {
 protected:
  Tensor there(const Tensor& input) const { return to(input, device(GetParam())); }
  Tensor numbers(IntList shape, unsigned seed) const { return there(complex_numbers(shape, seed)); }
  // The decompositions take each call of their loops one by one.
  bool has_kernels() const { return std::string_view(GetParam()) == "cpu"; }
  std::vector<std::int64_t> sizes() const {
    return has_kernels() ? std::vector<std::int64_t>{1, 2, 5, 33, 70}
                         : std::vector<std::int64_t>{1, 2, 5, 34};
  }
  std::vector<Dims> shapes() const {
    if (has_kernels()) return {{1, 1}, {2, 3, 5}, {5, 3}, {33, 33}, {70, 40}, {40, 70}};
    return {{1, 1}, {2, 3, 5}, {5, 3}, {9, 8}};
  }
};

void expect_unitary(const Tensor& columns) {
  const Tensor inner = matmul(turned_over(columns), columns);
  EXPECT_LE(farthest(inner, expand(unit(inner, inner.size(-1)), inner.shape())), 1e-12);
}

// Of each column the first of the largest, within a thousandth, is real and positive.
void expect_phases_chosen(const Tensor& vectors) {
  const Tensor sizes = abs(vectors);
  const Tensor large = cast(ge(sizes, max(sizes, -2, true) * 0.999), i32);
  const Tensor chosen = gather(vectors, -2, argmax(large, -2, true));
  EXPECT_GT(item<double>(min(real(chosen))), 0);
  EXPECT_EQ(item<double>(max(abs(imag(chosen)))), 0);
}

TEST_P(ComplexMatrices, have_cholesky_factors) {
  for (const std::int64_t size : sizes()) {
    const Tensor some = numbers({2, size, size}, 1);
    const Tensor matrix = matmul(some, turned_over(some)) + unit(some, size);
    const Tensor L = linalg_cholesky(matrix);
    EXPECT_LE(farthest(matmul(L, turned_over(L)), matrix), 1e-13);
    EXPECT_EQ(farthest(tril(L), L), 0);
    EXPECT_EQ(item<double>(max(abs(imag(diagonal(L, 0, 1, 2))))), 0);
    EXPECT_LE(farthest(linalg_cholesky(matrix, true), turned_over(L)), 1e-13);
    // Neither the other half is read nor the imaginary parts of the diagonal.
    const Tensor half = contiguous(tril(matrix));
    fill_(imag(diagonal(half, 0, 1, 2)), no_number);
    EXPECT_EQ(farthest(linalg_cholesky(half), L), 0);
    EXPECT_LE(farthest(linalg_cholesky(turned_over(half), true), turned_over(L)), 1e-13);
    const Tensor side = numbers({2, size, 3}, 2);
    EXPECT_LE(farthest(matmul(matrix, cholesky_solve(side, L)), side), 1e-10);
    EXPECT_LE(farthest(cholesky_inverse(turned_over(L), true), linalg_inv(matrix)), 1e-10);
  }
  const Tensor bad = there(cast(tensor({{1.0, 2.0}, {2.0, 1.0}}, {f64}), complex128));
  const UncheckedFactors unchecked;
  EXPECT_TRUE(item<bool>(isnan(select(select(linalg_cholesky(bad), 0, 1), 0, 1))));
}

TEST_P(ComplexMatrices, are_solved_and_inverted) {
  for (const std::int64_t size : sizes()) {
    const Tensor A = numbers({2, size, size}, 3) + unit(numbers({1}, 1), size) * 3.0;
    const Tensor side = numbers({2, size, 3}, 4), one = expand(unit(A, size), A.shape());
    EXPECT_LE(farthest(matmul(A, linalg_solve(A, side)), side), 1e-11);
    EXPECT_LE(
        farthest(matmul(linalg_solve(A, transpose(side, 1, 2), false), A), transpose(side, 1, 2)),
        1e-11);
    EXPECT_LE(farthest(matmul(A, linalg_inv(A)), one), 1e-11);
    EXPECT_LE(farthest(linalg_matrix_power(A, -2), linalg_inv(matmul(A, A))), 1e-10);
    const Tensor upper = triu(A) + unit(A, size) * static_cast<double>(size);
    for (const bool left : {true, false}) {
      const Tensor B = left ? side : transpose(side, 1, 2);
      const Tensor X = linalg_solve_triangular(upper, B, true, left);
      EXPECT_LE(farthest(left ? matmul(upper, X) : matmul(X, upper), B), 1e-11);
      const Tensor Y = linalg_solve_triangular(turned_over(upper), B, false, left);
      EXPECT_LE(farthest(left ? matmul(turned_over(upper), Y) : matmul(Y, turned_over(upper)), B),
                1e-11);
    }
  }
}

TEST_P(ComplexMatrices, have_lu_factors_and_determinants) {
  for (const Dims& shape : shapes()) {
    const Tensor A = numbers(shape, 5);
    const LinalgLuFactorResult made = linalg_lu_factor(A);
    const LuUnpackResult parts = lu_unpack(made.LU, made.pivots);
    EXPECT_LE(farthest(matmul(parts.P, matmul(parts.L, parts.U)), A), 1e-12);
    EXPECT_LE(item<double>(max(abs(parts.L))), std::sqrt(2.0) + 1e-12);
  }
  for (const std::int64_t size : sizes()) {
    const Tensor A = numbers({2, size, size}, 6);
    const LinalgSlogdetResult of = linalg_slogdet(A);
    EXPECT_EQ(name(of.logabsdet.dtype()), name(f64));
    EXPECT_LE(farthest(abs(of.sign), ones_like(of.logabsdet)), 1e-13);
    EXPECT_LE(farthest(of.sign * exp(of.logabsdet), linalg_det(A)), 1e-11);
    EXPECT_LE(farthest(linalg_det(matmul(A, A)) / linalg_det(A), linalg_det(A)), 1e-10);
  }
  // By the larger sum of the parts, as LAPACK: |3 + 3i| is less than 5.
  const Tensor column = there(view_as_complex(tensor({{{5.0, 0.0}}, {{3.0, 3.0}}}, {f64})));
  EXPECT_EQ(item<int>(linalg_lu_factor(column).pivots), 2);
  const Tensor singular = there(zeros({3, 3}, complex128));
  EXPECT_EQ(farthest(linalg_slogdet(singular).sign, there(zeros({}, complex128))), 0);
}

TEST_P(ComplexMatrices, have_qr_factors_with_a_real_diagonal) {
  for (const Dims& shape : shapes())
    for (const char* mode : {"reduced", "complete"}) {
      const Tensor A = numbers(shape, 7);
      const LinalgQrResult of = linalg_qr(A, mode);
      EXPECT_LE(farthest(matmul(of.Q, of.R), A), 1e-13);
      expect_unitary(of.Q);
      EXPECT_EQ(farthest(triu(of.R), of.R), 0);
      EXPECT_EQ(item<double>(max(abs(imag(diagonal(of.R, 0, -2, -1))))), 0);
    }
  // Nothing below the diagonal to reflect but a phase.
  const Tensor phases =
      there(view_as_complex(tensor({{{0.0, 2.0}, {1.0, 0.0}}, {{0.0, 0.0}, {-3.0, 4.0}}}, {f64})));
  const LinalgQrResult of = linalg_qr(phases);
  EXPECT_LE(farthest(matmul(of.Q, of.R), phases), 1e-15);
  EXPECT_LE(farthest(abs(real(diagonal(of.R))), there(tensor({2.0, 5.0}, {f64}))), 1e-15);
}

TEST_P(ComplexMatrices, have_real_eigenvalues_if_they_are_hermitian) {
  for (const std::int64_t size : sizes()) {
    if (size > 30 && !has_kernels()) continue;
    const Tensor some = numbers({2, size, size}, 8), matrix = some + turned_over(some);
    const LinalgEighResult of = linalg_eigh(matrix);
    EXPECT_EQ(name(of.eigenvalues.dtype()), name(f64));
    EXPECT_LE(
        farthest(matmul(matrix, of.eigenvectors), of.eigenvectors * unsqueeze(of.eigenvalues, -2)),
        1e-13);
    expect_unitary(of.eigenvectors);
    expect_phases_chosen(of.eigenvectors);
    const Tensor half = contiguous(triu(matrix));
    fill_(imag(diagonal(half, 0, 1, 2)), no_number);
    EXPECT_LE(farthest(linalg_eigvalsh(half, "U"), of.eigenvalues), 1e-12);
  }
}

TEST_P(ComplexMatrices, have_singular_values) {
  for (const Dims& shape : shapes())
    for (const bool is_full : {false, true}) {
      const Tensor A = numbers(shape, 9);
      const LinalgSvdResult of = linalg_svd(A, is_full);
      const std::int64_t size = of.S.size(-1);
      const Tensor U = narrow(of.U, -1, 0, size), Vh = narrow(of.Vh, -2, 0, size);
      EXPECT_LE(farthest(matmul(U * unsqueeze(of.S, -2), Vh), A), 1e-13);
      expect_unitary(of.U);
      expect_unitary(turned_over(of.Vh));
      expect_phases_chosen(U);
      EXPECT_LE(farthest(linalg_svdvals(A), of.S), 1e-13);
    }
}

TEST_P(ComplexMatrices, of_less_than_full_rank_have_all_vectors) {
  for (const Dims& shape : {Dims{6, 6}, Dims{7, 4}, Dims{4, 7}}) {
    const std::int64_t rows = shape[0], columns = shape[1];
    const Tensor A = matmul(numbers({rows, 2}, 10), numbers({2, columns}, 11));
    const LinalgSvdResult of = linalg_svd(A, false);
    expect_unitary(of.U);
    expect_unitary(turned_over(of.Vh));
    EXPECT_EQ(item<int>(linalg_matrix_rank(A)), 2);
    const Tensor inverse = linalg_pinv(A), product = matmul(A, inverse);
    EXPECT_LE(farthest(matmul(product, A), A), 1e-12);
    EXPECT_LE(farthest(matmul(inverse, product), inverse), 1e-12);
    EXPECT_LE(farthest(turned_over(product), product), 1e-12);
  }
  for (const Tensor& A : {there(zeros({4, 4}, complex128)), unit(numbers({1}, 1), 5)}) {
    expect_unitary(linalg_svd(A).U);
    expect_unitary(linalg_eigh(A).eigenvectors);
    expect_unitary(linalg_qr(A).Q);
  }
}

TEST_P(ComplexMatrices, of_tiny_and_of_huge_numbers) {
  const Tensor some = numbers({6, 6}, 12), A = some + turned_over(some);
  const LinalgEighResult usual = linalg_eigh(A);
  const Tensor spread = linalg_svdvals(some);
  for (const double scale : {1e-300, 1e-150, 1e150, 1e300}) {
    const LinalgEighResult of = linalg_eigh(A * scale);
    EXPECT_LE(farthest(of.eigenvalues / scale, usual.eigenvalues), 1e-12);
    EXPECT_LE(farthest(of.eigenvectors, usual.eigenvectors), 1e-12);
    EXPECT_LE(farthest(linalg_svdvals(some * scale) / scale, spread), 1e-12);
    const Tensor rest = matmul(some * scale, linalg_eig(some * scale).eigenvectors);
    EXPECT_LE(farthest(rest / scale, matmul(some, linalg_eig(some).eigenvectors)), 1e-11);
  }
  // Single precision, among numbers whose products leave its range.
  const Tensor narrow = cast(A, complex64);
  for (const double scale : {1e-30, 1e30}) {
    const LinalgEighResult of = linalg_eigh(narrow * scale);
    EXPECT_LE(farthest(cast(of.eigenvalues, f64) / scale, usual.eigenvalues), 1e-5);
  }
}

TEST_P(ComplexMatrices, have_eigenvectors) {
  for (const std::int64_t size : sizes()) {
    const Tensor A = numbers({2, size, size}, 13);
    const LinalgEigResult of = linalg_eig(A);
    EXPECT_LE(farthest(matmul(A, of.eigenvectors), of.eigenvectors * unsqueeze(of.eigenvalues, -2)),
              1e-12);
    expect_phases_chosen(of.eigenvectors);
    const Tensor lengths = sum(square(abs(of.eigenvectors)), -2);
    EXPECT_LE(farthest(lengths, ones_like(lengths)), 1e-13);
    EXPECT_LE(farthest(sum(of.eigenvalues, -1), sum(diagonal(A, 0, 1, 2), -1)), 1e-12);
    EXPECT_LE(farthest(linalg_eigvals(A), of.eigenvalues), 1e-10);
    if (size == 1) continue;
    const Tensor parts = real(of.eigenvalues);
    EXPECT_GE(item<double>(min(narrow(parts, 1, 1, size - 1) - narrow(parts, 1, 0, size - 1))), 0);
  }
  // Real matrices have the eigenvalues that they have as complex ones; those of a permutation lie on a circle.
  const Tensor circle = there(roll(eye(5, {}, f64), {1}, {0}));
  const Tensor values = linalg_eigvals(cast(circle, complex128));
  EXPECT_LE(farthest(real(values), real(linalg_eigvals(circle))), 1e-13);
  EXPECT_LE(farthest(abs(values), ones_like(real(values))), 1e-13);
  const Tensor bad =
      there(cast(tensor(std::vector<double>{1, no_number, 0, 2}, {2, 2}), complex128));
  EXPECT_TRUE(item<bool>(all(isnan(real(linalg_eigvals(bad))))));
}

TEST_P(ComplexMatrices, least_squares_and_adjugates) {
  for (const char* driver : {"gels", "gelsd"}) {
    const Tensor A = numbers({2, 7, 4}, 14), B = numbers({2, 7, 3}, 15);
    const LinalgLstsqResult of = linalg_lstsq(A, B, {}, driver);
    const Tensor rest = matmul(A, of.solution) - B;
    EXPECT_LE(item<double>(cpu(max(abs(matmul(turned_over(A), rest))))), 1e-12);
    EXPECT_LE(farthest(of.residuals, sum(square(abs(rest)), -2)), 1e-12);
    EXPECT_EQ(name(of.residuals.dtype()), name(f64));
    EXPECT_EQ(name(of.singular_values.dtype()), name(f64));
    const Tensor wide = turned_over(A), side = narrow(B, -2, 0, 4);
    const Tensor x = linalg_lstsq(wide, side, {}, driver).solution;
    EXPECT_LE(farthest(x, matmul(linalg_pinv(wide), side)), 1e-12);
  }
  for (const std::int64_t size : {1, 2, 3, 5}) {
    const Tensor A = numbers({2, size, size}, 16), determinants = linalg_det(A);
    EXPECT_LE(farthest(matmul(A, linalg_adjugate(A)),
                       unsqueeze(unsqueeze(determinants, -1), -1) * unit(A, size)),
              1e-12);
  }
  const Tensor hermitian = matmul(numbers({5, 2}, 17), turned_over(numbers({5, 2}, 17)));
  EXPECT_LE(farthest(linalg_pinv(hermitian, {}, 1e-10, true), linalg_pinv(hermitian, {}, 1e-10)),
            1e-12);
  EXPECT_EQ(item<int>(linalg_matrix_rank(hermitian, {}, {}, true)), 2);
}

TEST_P(ComplexMatrices, exponentials_norms_and_powers) {
  const Tensor A = numbers({2, 4, 4}, 18);
  const LinalgEigResult of = linalg_eig(A);
  const Tensor by_values =
      matmul(of.eigenvectors * unsqueeze(exp(of.eigenvalues), -2), linalg_inv(of.eigenvectors));
  EXPECT_LE(farthest(linalg_matrix_exp(A), by_values), 1e-12);
  const Tensor values = linalg_svdvals(A);
  EXPECT_LE(farthest(linalg_matrix_norm(A, "nuc"), sum(values, -1)), 1e-12);
  EXPECT_LE(farthest(linalg_matrix_norm(A), sqrt(sum(square(values), -1))), 1e-12);
  EXPECT_LE(farthest(linalg_matrix_norm(A, "1"), max(sum(abs(A), -2), -1)), 1e-12);
  const Tensor x = numbers({4}, 19);
  EXPECT_LE(farthest(select(linalg_vander(x, 4), 1, 3), x * x * x), 1e-14);
  EXPECT_LE(farthest(linalg_multi_dot({select(A, 0, 0), select(A, 0, 1), x}),
                     matmul(select(A, 0, 0), matmul(select(A, 0, 1), x))),
            1e-13);
}

TEST_P(ComplexMatrices, without_elements_have_factors_of_their_dtypes) {
  const Tensor none = there(zeros({2, 0, 3}, complex64)), square = there(zeros({0, 0}, complex128));
  EXPECT_EQ(name(linalg_svd(none).S.dtype()), name(f32));
  EXPECT_EQ(name(linalg_svd(none).Vh.dtype()), name(complex64));
  EXPECT_EQ(name(linalg_eigh(square).eigenvalues.dtype()), name(f64));
  EXPECT_EQ(name(linalg_eig(square).eigenvalues.dtype()), name(complex128));
  EXPECT_EQ(farthest(linalg_det(square), there(ones({}, complex128))), 0);
}

TEST(ComplexSystems, are_known_by_their_shapes_alone) {
  int calls = 0;
  for (Operator* op : test::rows()) {
    const std::string_view row = op->name();
    if (!row.starts_with("linalg_") && !row.starts_with("cholesky_")) continue;
    const std::vector<Sample> given = samples_of(*op, complex64, device("cpu"));
    const std::vector<Sample> shapes = samples_of(*op, complex64, meta_device);
    for (std::size_t i = 0; i < given.size(); ++i, ++calls) {
      SCOPED_TRACE(std::string(row) + " " + given[i].recipe);
      const std::vector<Tensor> made = call_boxed(*op, given[i].args);
      const std::vector<Tensor> told = call_boxed(*op, shapes[i].args);
      ASSERT_EQ(made.size(), told.size());
      for (std::size_t k = 0; k < made.size(); ++k) {
        EXPECT_EQ(to_string(made[k].shape()), to_string(told[k].shape()));
        EXPECT_EQ(name(made[k].dtype()), name(told[k].dtype()));
      }
    }
  }
  EXPECT_GT(calls, 200);
}

TEST(ComplexSystems, do_not_mix_with_real_ones) {
  EXPECT_EQ(error_of([] {
              linalg_solve(zeros({2, 2}, complex64), zeros({2, 1}));
            }),
            "linalg_solve: dtypes complex64 and float32; cast one of them");
}

// Squares of the elements are beyond what the dtype holds, of columns side by side as well.
TEST_P(ComplexMatrices, have_QR_factors_whatever_their_size) {
  for (const auto& [dtype, real_dtype, least, most] :
       {std::tuple{complex128, f64, 1e-170, 1e160}, std::tuple{complex64, f32, 1e-30, 1e22}})
    for (const std::int64_t size : {1, 3, 40}) {
      const Tensor given = cast(complex_numbers({size, size}, 5), dtype);
      Tensor sizes = ones({size}, real_dtype);
      fill_(select(sizes, 0, 0), least);
      for (const Tensor& factors : {sizes, flip(sizes, {0}), full({size}, least, real_dtype),
                                    full({size}, most, real_dtype)})
        for (const bool is_real : {false, true}) {
          const Tensor A = there((is_real ? real(given) : given) * factors);
          const LinalgQrResult of = linalg_qr(A);
          const Tensor scales = there(factors), one = unit(of.Q, size);
          const double bound = real_dtype == f64 ? 1e-13 : 2e-5;
          EXPECT_LE(farthest(matmul(turned_over(of.Q), of.Q), one), bound) << size;
          EXPECT_LE(farthest(matmul(of.Q, of.R / scales), A / scales), bound) << size;
        }
    }
}

TEST_P(ComplexMatrices, with_NaN_have_no_finite_eigenvectors) {
  for (const std::int64_t size : {2, 3, 5}) {
    const Tensor A = complex_numbers({size, size}, 3);
    fill_(select(select(A, 0, 1), 0, 0), no_number);
    const LinalgEighResult of = linalg_eigh(there(A));
    EXPECT_TRUE(item<bool>(cpu(all(isnan(of.eigenvalues))))) << size;
    EXPECT_TRUE(item<bool>(cpu(all(isnan(of.eigenvectors))))) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(devices, ComplexMatrices, testing::Values("cpu", "reference_primitives"));

}  // namespace
}  // namespace bp
