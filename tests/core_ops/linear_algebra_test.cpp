// needs: cpu
// Factorizations by what they promise: their factors multiplied, orthogonality, residuals; and matrices that have none.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <backplane/core_ops/factors.hpp>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::error_of;
using test::expect_values;

Tensor random_matrix(IntList shape, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> fraction(-1, 1);
  return test::computed(shape, [&](int) { return fraction(random); });
}
Tensor flipped(const Tensor& input) {
  return transpose(input, -1, -2);
}
Tensor gram(const Tensor& input) {
  return matmul(flipped(input), input);
}
double largest_size(const Tensor& input) {
  return input.numel() == 0 ? 0 : item<double>(max(abs(input)));
}
void expect_equal(const Tensor& actual, const Tensor& expected, double tolerance = 1e-12) {
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape()));
  EXPECT_LE(largest_size(actual - expected), tolerance * std::max(1.0, largest_size(expected)));
}
void expect_orthonormal(const Tensor& columns) {
  const Tensor inner = gram(columns);
  expect_equal(inner, expand(eye(columns.size(-1), {}, f64), inner.shape()));
}
void expect_largest_positive(const Tensor& vectors) {
  const Tensor chosen = gather(vectors, -2, argmax(abs(vectors), -2, true));
  EXPECT_GE(item<double>(min(chosen)), 0);
}

// Larger than the blocks that loops are cut in, once or twice; batches; one row or column more.
const std::vector<std::vector<std::int64_t>> shapes = {{1, 1},    {2, 2},   {3, 5},   {5, 3},
                                                       {33, 33},  {70, 40}, {40, 70}, {2, 1, 4, 4},
                                                       {3, 7, 6}, {64, 64}};

TEST(LinearAlgebra, cholesky_factors_give_the_matrix) {
  for (const std::int64_t size : {1, 2, 31, 33, 70}) {
    const Tensor matrix = gram(random_matrix({2, size, size}, 1)) + eye(size, {}, f64);
    const Tensor L = linalg_cholesky(matrix);
    expect_equal(matmul(L, flipped(L)), matrix);
    expect_equal(tril(L), L, 0);
    expect_equal(linalg_cholesky(matrix, true), flipped(L));
    expect_equal(linalg_cholesky(tril(matrix)), L, 0);
    const Tensor side = random_matrix({2, size, 3}, 2);
    expect_equal(matmul(matrix, cholesky_solve(side, L)), side, 1e-11);
    expect_equal(matmul(matrix, cholesky_inverse(flipped(L), true)),
                 expand(eye(size, {}, f64), matrix.shape()), 1e-11);
  }
}

TEST(LinearAlgebra, what_is_not_positive_definite_is_an_error) {
  const Tensor edge = tensor({{4.0, 2.0}, {2.0, 1.0}}, {f64});
  EXPECT_EQ(error_of([&] { linalg_cholesky(edge); }),
            "linalg_cholesky: the matrix is not positive definite (its leading minor of order 2 is "
            "not positive); add a positive number to its diagonal, or take linalg_eigh");
  const Tensor large = eye(70, {}, f64) * 2;
  const Tensor batch = stack({stack({large, large}), stack({large, large - 3})});
  const std::string begin =
      "linalg_cholesky: matrix [1, 1] of the batch is not positive definite (its leading minor of "
      "order 1 ";
  for (const bool upper : {false, true})
    EXPECT_EQ(error_of([&] { linalg_cholesky(batch, upper); }).substr(0, begin.size()), begin);
  const UncheckedFactors unchecked;
  const Tensor L = linalg_cholesky(edge);
  EXPECT_EQ(item<double>(select(select(L, 0, 0), 0, 0)), 2);
  EXPECT_TRUE(std::isnan(item<double>(select(select(L, 0, 1), 0, 1))));
  EXPECT_TRUE(std::isnan(item<double>(linalg_cholesky(tensor({{-1.0}}, {f64})))));
}

TEST(LinearAlgebra, triangular_systems_read_one_half) {
  for (const std::int64_t size : {1, 5, 40, 70})
    for (const bool upper : {false, true})
      for (const bool unit : {false, true}) {
        const Tensor all =
            random_matrix({2, size, size}, 3) / static_cast<double>(size) + 2 * eye(size, {}, f64);
        Tensor half = upper ? triu(all) : tril(all);
        if (unit) half = half - diag_embed(diagonal(half, 0, 1, 2)) + eye(size, {}, f64);
        const Tensor columns = random_matrix({size, 3}, 4), rows = random_matrix({3, size}, 5);
        expect_equal(matmul(half, linalg_solve_triangular(all, columns, upper, true, unit)),
                     expand(columns, {2, size, 3}), 1e-11);
        expect_equal(matmul(linalg_solve_triangular(all, rows, upper, false, unit), half),
                     expand(rows, {2, 3, size}), 1e-11);
      }
}

TEST(LinearAlgebra, lu_factors_give_the_matrix) {
  for (const auto& shape : shapes) {
    const Tensor matrix = random_matrix(shape, 6);
    const LinalgLuFactorResult made = linalg_lu_factor(matrix);
    const LuUnpackResult parts = lu_unpack(made.LU, made.pivots);
    expect_equal(matmul(parts.P, matmul(parts.L, parts.U)), matrix);
    EXPECT_LE(largest_size(parts.L), 1);
    EXPECT_EQ(name(made.pivots.dtype()), name(i32));
    EXPECT_GE(item<int>(min(made.pivots)), 1);
  }
  const Tensor good = random_matrix({40, 40}, 7) + 40 * eye(40, {}, f64);
  const LinalgLuFactorResult made = linalg_lu_factor(good, false);
  const LuUnpackResult parts = lu_unpack(made.LU, made.pivots);
  expect_equal(matmul(parts.L, parts.U), good);
}

TEST(LinearAlgebra, systems_inverses_and_powers) {
  for (const std::int64_t size : {1, 4, 33, 70}) {
    const Tensor matrix = random_matrix({3, size, size}, 8) + 3 * eye(size, {}, f64);
    const Tensor side = random_matrix({3, size, 2}, 9);
    expect_equal(matmul(matrix, linalg_solve(matrix, side)), side, 1e-10);
    expect_equal(matmul(linalg_solve(matrix, flipped(side), false), matrix), flipped(side), 1e-10);
    const Tensor vectors = select(side, 2, 0);
    expect_equal(linalg_solve(matrix, vectors), select(linalg_solve(matrix, side), 2, 0), 1e-10);
    const Tensor one = expand(eye(size, {}, f64), matrix.shape());
    expect_equal(matmul(matrix, linalg_inv(matrix)), one, 1e-10);
    expect_equal(linalg_matrix_power(matrix, 0), one, 0);
    expect_equal(matmul(linalg_matrix_power(matrix, -2), linalg_matrix_power(matrix, 2)), one,
                 1e-8);
  }
}

TEST(LinearAlgebra, exponentials) {
  expect_values(linalg_matrix_exp(tensor({{0.0, 3.0}, {0.0, 0.0}}, {f64})), {1, 3, 0, 1});
  const Tensor turn = linalg_matrix_exp(tensor({{0.0, -20.0}, {20.0, 0.0}}, {f64}));
  expect_values(turn, {std::cos(20.0), -std::sin(20.0), std::sin(20.0), std::cos(20.0)});
  const Tensor matrix = random_matrix({2, 9, 9}, 20);
  expect_equal(matmul(linalg_matrix_exp(matrix), linalg_matrix_exp(-matrix)),
               expand(eye(9, {}, f64), matrix.shape()), 1e-11);
  expect_values(linalg_matrix_exp(tensor({{-300.0}}, {f64})), {0});
}

TEST(LinearAlgebra, determinants) {
  expect_values(linalg_det(tensor({{1.0, 2.0}, {3.0, 4.0}}, {f64})), {-2});
  expect_values(linalg_det(tensor({{1.0, 2.0}, {2.0, 4.0}}, {f64})), {0});
  expect_values(linalg_det(zeros({2, 0, 0}, f64)), {1, 1});
  const LinalgSlogdetResult of = linalg_slogdet(tensor({{1.0, 2.0}, {3.0, 4.0}}, {f64}));
  expect_values(of.sign, {-1});
  expect_values(of.logabsdet, {std::log(2.0)});
  const LinalgSlogdetResult none = linalg_slogdet(zeros({2, 2}, f64));
  EXPECT_EQ(item<double>(none.sign), 0);
  EXPECT_EQ(item<double>(none.logabsdet), -std::numeric_limits<double>::infinity());
}

TEST(LinearAlgebra, singular_matrices_are_errors_that_name_them) {
  const auto said = [](const std::string& op, const std::string& which, int pivot) {
    return op + ": " + which + " is singular (its pivot " + std::to_string(pivot) +
           " is 0); linalg_pinv and linalg_lstsq take such matrices";
  };
  const Tensor alike = tensor({{1.0, 2.0}, {2.0, 4.0}}, {f64}), unit = eye(2, {}, f64);
  const Tensor batch = stack({unit, unit, alike});
  EXPECT_EQ(error_of([&] { linalg_inv(alike); }), said("linalg_inv", "the matrix", 2));
  EXPECT_EQ(error_of([&] { linalg_inv(batch); }), said("linalg_inv", "matrix [2] of the batch", 2));
  EXPECT_EQ(error_of([&] { linalg_inv(cast(batch, complex128)); }),
            said("linalg_inv", "matrix [2] of the batch", 2));
  for (const std::int64_t size : {1, 3, 40, 70}) {
    const Tensor none = zeros({size, size}, f32);
    EXPECT_EQ(error_of([&] { linalg_solve(none, ones({size}, f32)); }),
              said("linalg_solve", "the matrix", 1));
    EXPECT_EQ(error_of([&] {
                linalg_solve(none, ones({2, size, size}, f32), false);
              }),
              said("linalg_solve", "the matrix", 1));
  }
  // What overflows has an inverse.
  EXPECT_FALSE(std::isfinite(item<float>(linalg_inv(full({1, 1}, 1e-45, f32)))));
  const UncheckedFactors unchecked;
  EXPECT_FALSE(std::isfinite(item<double>(sum(linalg_solve(alike, ones({2}, f64))))));
}

TEST(LinearAlgebra, what_is_not_a_number_is_not_singular) {
  const Tensor x = full({2, 2}, std::nan(""), f64);
  EXPECT_TRUE(std::isnan(item<double>(sum(linalg_inv(x)))));
}

TEST(LinearAlgebra, qr_gives_orthonormal_columns_with_lapacks_signs) {
  for (const auto& shape : shapes) {
    const Tensor matrix = random_matrix(shape, 10);
    for (const char* mode : {"reduced", "complete"}) {
      const LinalgQrResult made = linalg_qr(matrix, mode);
      expect_equal(matmul(made.Q, made.R), matrix);
      expect_orthonormal(made.Q);
      expect_equal(triu(made.R), made.R, 0);
    }
    expect_equal(linalg_qr(matrix, "r").R, linalg_qr(matrix).R, 0);
  }
  const LinalgQrResult first = linalg_qr(tensor({{3.0, 1.0}, {4.0, 2.0}}, {f64}));
  EXPECT_NEAR(item<double>(select(select(first.R, 0, 0), 0, 0)), -5, 1e-14);
  // Nothing below the diagonal: the row stays, and so does the sign of the last element of a square matrix.
  expect_values(linalg_qr(tensor({{-2.0, 1.0}, {0.0, 3.0}}, {f64})).R, {-2, 1, 0, 3});
}

TEST(LinearAlgebra, eigenvectors_are_orthonormal_and_unique) {
  for (const std::int64_t size : {1, 2, 3, 8, 33, 64}) {
    const Tensor half = random_matrix({2, size, size}, 11);
    const Tensor matrix = half + flipped(half);
    const LinalgEighResult of = linalg_eigh(matrix);
    expect_orthonormal(of.eigenvectors);
    expect_equal(matmul(matrix, of.eigenvectors), of.eigenvectors * unsqueeze(of.eigenvalues, -2));
    expect_equal(sort(of.eigenvalues, -1).values, of.eigenvalues, 0);
    expect_largest_positive(of.eigenvectors);
    expect_equal(linalg_eigvalsh(triu(matrix), "U"), of.eigenvalues);
  }
  expect_values(linalg_eigvalsh(tensor({{2.0, 1.0}, {1.0, 2.0}}, {f64})), {1, 3});
  // Equal eigenvalues, and sizes that squares of would leave the range.
  const Tensor large = mul(ones({5, 5}, f64), 1e200);
  expect_equal(linalg_eigvalsh(large) / 1e200, tensor(std::vector<double>{0, 0, 0, 0, 5}));
}

TEST(LinearAlgebra, singular_vectors_are_orthonormal_and_unique) {
  for (const auto& shape : shapes)
    for (const bool is_full : {false, true}) {
      const Tensor matrix = random_matrix(shape, 12);
      const LinalgSvdResult of = linalg_svd(matrix, is_full);
      const std::int64_t size = of.S.size(-1);
      expect_orthonormal(of.U);
      expect_orthonormal(flipped(of.Vh));
      expect_equal(
          matmul(narrow(of.U, -1, 0, size) * unsqueeze(of.S, -2), narrow(of.Vh, -2, 0, size)),
          matrix);
      expect_equal(sort(of.S, -1, true).values, of.S, 0);
      expect_largest_positive(of.U);
    }
}

TEST(LinearAlgebra, singular_values_of_what_has_less_than_full_rank) {
  const Tensor thin = random_matrix({20, 3}, 13), flat = random_matrix({3, 12}, 14);
  const Tensor matrix = matmul(thin, flat);
  const LinalgSvdResult of = linalg_svd(matrix, false);
  expect_orthonormal(of.U);
  expect_orthonormal(flipped(of.Vh));
  expect_equal(matmul(of.U * of.S, of.Vh), matrix);
  EXPECT_LE(item<double>(select(of.S, 0, 3)), 1e-13);
  EXPECT_EQ(item<int>(linalg_matrix_rank(matrix)), 3);
  EXPECT_EQ(item<int>(linalg_matrix_rank(zeros({4, 4}, f64))), 0);
  const LinalgSvdResult none = linalg_svd(zeros({4, 3}, f64));
  expect_orthonormal(none.U);
  expect_values(none.S, {0, 0, 0});
  const Tensor inverse = linalg_pinv(matrix);
  expect_equal(matmul(matrix, matmul(inverse, matrix)), matrix, 1e-11);
  expect_equal(matmul(inverse, matmul(matrix, inverse)), inverse, 1e-11);
}

TEST(LinearAlgebra, norms_of_matrices) {
  const Tensor matrix = tensor({{3.0, 0.0}, {-4.0, 0.0}}, {f64});
  const auto is = [&](const char* ord, double expected) {
    EXPECT_NEAR(item<double>(linalg_matrix_norm(matrix, ord)), expected, 1e-14) << ord;
  };
  is("fro", 5);
  is("nuc", 5);
  is("2", 5);
  is("-2", 0);
  is("1", 7);
  is("-1", 0);
  is("inf", 4);
  is("-inf", 3);
  EXPECT_EQ(to_string(linalg_matrix_norm(zeros({2, 3, 4}), "nuc", {2, 0}, true).shape()),
            "[1, 3, 1]");
}

TEST(LinearAlgebra, chains_of_products_and_powers) {
  const Tensor a = random_matrix({4, 20}, 15), b = random_matrix({20, 3}, 16),
               c = random_matrix({3, 9}, 17), v = random_matrix({9}, 18);
  expect_equal(linalg_multi_dot({a, b, c, v}), matmul(matmul(matmul(a, b), c), v));
  expect_values(linalg_vander(tensor(std::vector<double>{2, 3}), 4), {1, 2, 4, 8, 1, 3, 9, 27});
}

TEST(LinearAlgebra, single_precision_is_as_exact_as_it_can_be) {
  const Tensor wide = random_matrix({50, 50}, 19);
  const Tensor matrix = cast(wide, f32);
  const LinalgSvdResult of = linalg_svd(matrix);
  const Tensor again = matmul(of.U * of.S, of.Vh);
  EXPECT_LE(item<float>(max(abs(again - matrix))), 2e-5f);
  const LinalgEighResult values = linalg_eigh(matrix + flipped(matrix));
  const Tensor product = matmul(matrix + flipped(matrix), values.eigenvectors);
  EXPECT_LE(item<float>(max(abs(product - values.eigenvectors * values.eigenvalues))), 1e-4f);
}

TEST(LinearAlgebra, errors_say_what_to_do) {
  EXPECT_EQ(error_of([] {
              linalg_inv(zeros({2, 3}));
            }),
            "linalg_inv: A has shape [2, 3] (2 rows, 3 columns); pass square matrices");
  EXPECT_EQ(error_of([] {
              linalg_det(zeros({2, 2}, f16));
            }),
            "linalg_det: A is float16; cast it to float32 or float64");
  EXPECT_EQ(error_of([] {
              linalg_solve(zeros({2, 2}), zeros({3, 1}));
            }),
            "linalg_solve: A has shape [2, 2] and B has shape [3, 1] (2 against 3 rows); make "
            "them equal");
  EXPECT_EQ(error_of([] {
              linalg_qr(zeros({2, 2}), "full");
            }),
            "linalg_qr: the mode is 'full'; choose 'reduced', 'complete' or 'r'");
}

TEST(LinearAlgebra, nothing_is_recorded_as_other_things_are) {
  for (const Dims& shape : {Dims{0, 3, 3}, Dims{0, 0}, Dims{2, 0, 0}}) {
    const Tensor a = set_requires_grad(zeros(shape, f64));
    backward(sum(linalg_matrix_exp(a)));
    EXPECT_EQ(to_string(grad(a).shape()), to_string(shape));
  }
  for (const Dims& shape : {Dims{0, 4, 3}, Dims{0, 3}, Dims{3, 0}}) {
    Dims beside(shape);
    beside[beside.size() - 1] = 2;
    const Tensor a = set_requires_grad(zeros(shape, f64)), b = set_requires_grad(ones(beside, f64));
    const Tensor solution = linalg_lstsq(a, b).solution;
    beside[beside.size() - 2] = shape[shape.size() - 1];
    EXPECT_EQ(to_string(solution.shape()), to_string(beside));
    EXPECT_EQ(to_vector<double>(detach(solution)),
              std::vector<double>(static_cast<std::size_t>(solution.numel()), 0));
    backward(sum(solution));
    EXPECT_EQ(to_string(grad(a).shape()), to_string(shape));
  }
}

}  // namespace
}  // namespace bp
