// needs: cpu
// Derivatives of determinants where the matrix is singular, and of what eigenvectors give whatever their phase.
#include <cmath>

#include "autograd/gradcheck.hpp"
#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

Tensor matrix_leaf(const Values& values, IntList shape) {
  const Tensor made = tensor(values, shape);
  return set_requires_grad(made);
}

std::vector<Tensor> determinant(std::span<const Tensor> inputs) {
  return {linalg_det(inputs[0])};
}

TEST(EigenDerivatives, determinants_have_two_orders_at_any_rank) {
  // Rank 3, 2, 1 and 0; equal singular values.
  const std::vector<Values> matrices = {{2, 1, 0, 0, 1, 3, 1, 0, 4}, {1, 2, 3, 2, 4, 6, 1, 0, 1},
                                        {1, 2, 3, 2, 4, 6, 3, 6, 9}, {0, 0, 0, 0, 0, 0, 0, 0, 0},
                                        {1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 0, 0, 0, 1, 0, 0, 0, 0}};
  for (const Values& values : matrices)
    EXPECT_EQ(find_wrong_derivative(determinant, {matrix_leaf(values, {3, 3})}, true), "")
        << values[0] << " " << values[4] << " " << values[8];
}

TEST(EigenDerivatives, singular_determinants_by_numbers) {
  const Tensor x = matrix_leaf({1, 2, 2, 4}, {2, 2});
  const Tensor once = autograd::grad({linalg_det(x)}, {x}, {}, {.create_graph = true})[0];
  EXPECT_THAT(values_of(once),
              testing::Pointwise(testing::DoubleNear(1e-12), Values{4, -2, -2, 1}));
  const Tensor twice = autograd::grad({sum(once * once)}, {x})[0];
  EXPECT_THAT(values_of(twice), testing::Pointwise(testing::DoubleNear(1e-12), Values{2, 4, 4, 8}));
}

// The matrix whose eigenvectors these are again: no phase matters.
std::vector<Tensor> cubed(std::span<const Tensor> inputs) {
  const LinalgEigResult of = linalg_eig(inputs[0]);
  const Tensor re = real(of.eigenvectors), im = imag(of.eigenvectors);
  const Tensor sizes = re * re + im * im;
  const Tensor a = real(of.eigenvalues), b = imag(of.eigenvalues);
  return {sum(sizes * unsqueeze(a * a + b * b, -2), -1), a * a * a, abs(b)};
}

TEST(EigenDerivatives, of_eigenvectors_without_their_phase) {
  const Values values = {1, -2, 0.5, 0, 2, 1, 0.3, 0.7, 0.2, 0.1, 4, -3, 0.4, 0, 2, 5};
  EXPECT_EQ(find_wrong_derivative(cubed, {matrix_leaf(values, {4, 4})}, true), "");
}

TEST(EigenDerivatives, of_least_squares_by_every_driver) {
  const Values A = {3, 1, -1, 2, 0.5, 4, 1, 1}, B = {1, 2, -1, 0.5, 2, 0, 1, -2};
  for (const std::string_view driver : {"gels", "gelsy", "gelsd"})
    for (const bool is_wide : {false, true}) {
      const auto solve = [&](std::span<const Tensor> inputs) {
        const Tensor side = is_wide ? narrow(inputs[1], 0, 0, 2) : inputs[1];
        const LinalgLstsqResult of = linalg_lstsq(inputs[0], side, {}, driver);
        return is_wide || driver == "gelsy" ? std::vector<Tensor>{of.solution}
                                            : std::vector<Tensor>{of.solution, of.residuals};
      };
      const std::vector<std::int64_t> shape = {is_wide ? 2 : 4, is_wide ? 4 : 2};
      const std::vector<Tensor> leaves = {matrix_leaf(A, shape), matrix_leaf(B, {4, 2})};
      EXPECT_EQ(find_wrong_derivative(solve, leaves, true), "") << driver << is_wide;
    }
}

}  // namespace
}  // namespace bp::test
