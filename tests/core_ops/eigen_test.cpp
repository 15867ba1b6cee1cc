// needs: cpu reference_primitives
// Eigenvalues of matrices that are not symmetric, least squares and adjugates, by what they promise: by kernels, and by their
// decompositions.
#include <cmath>
#include <limits>
#include <random>

#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using test::error_of;
using test::expect_values;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double endless = std::numeric_limits<double>::infinity();

Tensor numbers_between(IntList shape, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> fraction(-1, 1);
  return test::computed(shape, [&](int) { return fraction(random); });
}

double largest_gap(const Tensor& a, const Tensor& b) {
  return a.numel() == 0 ? 0 : item<double>(max(abs(cpu(a) - cpu(b))));
}

class Eigen : public testing::TestWithParam<const char*> {
 protected:
  Tensor there(const Tensor& input) const { return to(input, device(GetParam())); }
  // The decomposition walks each row; the kernels are fast.
  bool is_quick() const { return std::string_view(GetParam()) == "cpu"; }
};

TEST_P(Eigen, vectors_are_stretched_by_their_values) {
  for (const std::int64_t n : {1, 2, 3, 8, 40, 200}) {
    if (n > 40 && !is_quick()) continue;
    const Tensor A = there(numbers_between({2, n, n}, 7));
    const LinalgEigResult of = linalg_eig(A);
    const Tensor re = real(of.eigenvectors), im = imag(of.eigenvectors);
    const Tensor a = unsqueeze(real(of.eigenvalues), -2), b = unsqueeze(imag(of.eigenvalues), -2);
    const double bound = 1e-13 * static_cast<double>(n + 10);
    EXPECT_LE(largest_gap(matmul(A, re), re * a - im * b), bound) << n;
    EXPECT_LE(largest_gap(matmul(A, im), re * b + im * a), bound) << n;
    const Tensor lengths = sum(re * re + im * im, -2);
    EXPECT_LE(largest_gap(lengths, ones_like(lengths)), 1e-13);
    EXPECT_LE(largest_gap(sum(imag(of.eigenvalues), -1), zeros({2}, f64)), 1e-12);
    const Tensor trace = sum(diagonal(A, 0, -2, -1), -1);
    EXPECT_LE(largest_gap(sum(real(of.eigenvalues), -1), trace), bound);
    const Tensor values = linalg_eigvals(A);
    EXPECT_LE(largest_gap(real(values), real(of.eigenvalues)), 1e-10);
    const Tensor parts = real(values),
                 steps = narrow(parts, -1, 1, n - 1) - narrow(parts, -1, 0, n - 1);
    if (n == 1) continue;
    EXPECT_GE(item<double>(min(steps)), 0);
  }
}

TEST_P(Eigen, known_values_in_order_with_their_phases) {
  const LinalgEigResult turn = linalg_eig(there(tensor({{0.0, -2.0}, {2.0, 0.0}}, {f64})));
  expect_values(cpu(real(turn.eigenvalues)), {0, 0});
  expect_values(cpu(imag(turn.eigenvalues)), {-2, 2});
  const double half = std::sqrt(0.5);
  expect_values(cpu(real(turn.eigenvectors)), {half, half, 0, 0});
  expect_values(cpu(imag(turn.eigenvectors)), {0, 0, half, -half});
  // A permutation, whose eigenvalues lie on a circle: no shift of the usual kind moves it.
  const Tensor circle = there(roll(eye(4, {}, f64), {1}, {0}));
  const Tensor values = linalg_eigvals(circle);
  expect_values(cpu(real(values)), {-1, 0, 0, 1});
  expect_values(cpu(imag(values)), {0, -1, 1, 0});
  // Its only eigenvector, twice.
  const LinalgEigResult once = linalg_eig(there(tensor({{1.0, 1.0}, {0.0, 1.0}}, {f64})));
  EXPECT_LE(largest_gap(narrow(abs(real(once.eigenvectors)), 0, 0, 1), ones({1, 2}, f64)), 1e-12);
}

TEST_P(Eigen, what_is_not_finite_gives_nan_and_leaves_other_matrices_alone) {
  for (const double bad : {not_a_number, endless}) {
    const Tensor A = there(tensor(std::vector<double>{1, bad, 0, 2, 1, 0, 0, 2}, {2, 2, 2}));
    const LinalgEigResult of = linalg_eig(A);
    EXPECT_TRUE(std::isnan(item<double>(sum(real(select(of.eigenvectors, 0, 0))))));
    expect_values(
        cpu(real(of.eigenvalues)).defined() ? cpu(real(select(of.eigenvalues, 0, 1))) : Tensor(),
        {1, 2});
  }
}

TEST_P(Eigen, sizes_from_tiny_to_huge) {
  for (const double scale : {1e-300, 1e-30, 1e200}) {
    const Tensor A = there(tensor({{0.0, 1.0}, {4.0, 0.0}}, {f64}) * scale);
    expect_values(cpu(real(linalg_eigvals(A)) / scale), {-2, 2});
  }
}

TEST_P(Eigen, least_squares_solve_the_normal_equations) {
  for (const char* driver : {"gels", "gelsy", "gelsd", "gelss"}) {
    const Tensor A = there(numbers_between({2, 9, 4}, 1)), B = there(numbers_between({2, 9, 3}, 2));
    const LinalgLstsqResult of = linalg_lstsq(A, B, {}, driver);
    const Tensor rest = matmul(A, of.solution) - B;
    const Tensor left = matmul(transpose(A, -1, -2), rest);
    EXPECT_LE(largest_gap(left, zeros_like(left)), 1e-12);
    if (std::string_view(driver) == "gelsy")
      EXPECT_EQ(to_string(of.residuals.shape()), "[0]");
    else
      EXPECT_LE(largest_gap(of.residuals, sum(rest * rest, -2)), 1e-12);
    EXPECT_EQ(of.rank.numel(), std::string_view(driver) == "gels" ? 0 : 2);
    // Of more unknowns than equations the smallest solution: a combination of the rows.
    const Tensor wide = transpose(A, -1, -2), side = narrow(B, -2, 0, 4);
    const Tensor x = linalg_lstsq(wide, side, {}, driver).solution;
    EXPECT_LE(largest_gap(matmul(wide, x), side), 1e-12);
    EXPECT_LE(largest_gap(matmul(linalg_pinv(wide), side), x), 1e-12);
  }
}

TEST_P(Eigen, least_squares_of_less_than_full_rank_and_of_vectors) {
  const Tensor thin = numbers_between({8, 2}, 3), flat = numbers_between({2, 5}, 4);
  const Tensor A = there(matmul(thin, flat)), b = there(numbers_between({8}, 5));
  const LinalgLstsqResult of = linalg_lstsq(A, b, {}, "gelsd");
  EXPECT_EQ(to_string(of.solution.shape()), "[5]");
  EXPECT_EQ(to_string(of.residuals.shape()), "[0]");
  EXPECT_EQ(item<int>(of.rank), 2);
  const LinalgLstsqResult full = linalg_lstsq(there(thin), b, {}, "gelss");
  EXPECT_EQ(to_string(full.residuals.shape()), "[1]");
  EXPECT_LE(largest_gap(of.solution, matmul(linalg_pinv(A), b)), 1e-12);
  EXPECT_EQ(to_string(linalg_lstsq(zeros({0, 3}, f64), zeros({0, 2}, f64)).solution.shape()),
            "[3, 2]");
}

TEST_P(Eigen, adjugates_times_the_matrix_are_the_determinant) {
  for (const std::int64_t n : {1, 2, 5}) {
    const Tensor A = there(numbers_between({3, n, n}, 6));
    const Tensor product = matmul(A, linalg_adjugate(A));
    const Tensor expected =
        unsqueeze(unsqueeze(linalg_det(A), -1), -1) * to(eye(n, {}, f64), A.device());
    EXPECT_LE(largest_gap(product, expected), 1e-13);
  }
  const Tensor singular = there(tensor({{1.0, 2.0}, {2.0, 4.0}}, {f64}));
  expect_values(cpu(linalg_adjugate(singular)), {4, -2, -2, 1});
  expect_values(cpu(linalg_adjugate(there(zeros({2, 2}, f64)))), {0, 0, 0, 0});
}

INSTANTIATE_TEST_SUITE_P(Devices, Eigen, testing::Values("cpu", "reference_primitives"));

TEST(EigenErrors, say_what_to_do) {
  EXPECT_EQ(error_of([] {
              linalg_eig(zeros({2, 3}));
            }),
            "linalg_eig: A has shape [2, 3] (2 rows, 3 columns); pass square matrices");
  EXPECT_EQ(error_of([] {
              linalg_lstsq(zeros({2, 3}), zeros({3, 1}));
            }),
            "linalg_lstsq: A has shape [2, 3] and B has shape [3, 1] (2 against 3 rows); make "
            "them equal");
  EXPECT_EQ(error_of([] {
              linalg_lstsq(zeros({2, 3}), zeros({2, 1}), {}, "qr");
            }),
            "linalg_lstsq: the driver is 'qr'; choose 'gels', 'gelsy', 'gelsd' or 'gelss'");
}

}  // namespace
}  // namespace bp
