// needs: cpu reference_primitives
// Derivatives of factorizations of complex matrices, of what is solved by them, and of vectors whose phase a row chooses,
// against differences along real and imaginary parts. Leaves are pairs of real numbers.
#include <algorithm>
#include <cmath>
#include <random>

#include "autograd/gradcheck.hpp"
#include "autograd/tensors.hpp"

namespace bp::test {
namespace {

Tensor pairs_leaf(Dims shape, std::uint32_t seed) {
  shape.push_back(2);
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(-1, 1);
  Values values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(part(random));
  return set_requires_grad(tensor(values, shape));
}

using OfMatrices = std::function<std::vector<Tensor>(std::span<const Tensor> complex)>;

void expect_derivatives(const OfMatrices& function, const std::vector<Dims>& shapes) {
  std::vector<Tensor> leaves;
  for (const Dims& shape : shapes)
    leaves.push_back(pairs_leaf(shape, 3 + static_cast<std::uint32_t>(leaves.size())));
  const Differentiable of_pairs = [&](std::span<const Tensor> inputs) {
    std::vector<Tensor> complex;
    for (const Tensor& input : inputs) complex.push_back(view_as_complex(input));
    return function(complex);
  };
  EXPECT_EQ(find_wrong_derivative(of_pairs, leaves, true), "");
}

Tensor turned(const Tensor& input) {
  return conj(transpose(input, -1, -2));
}

Tensor eye_of(const Tensor& like) {
  return eye(like.size(-1), std::nullopt, like.dtype(), like.device());
}

Tensor hermitian(const Tensor& input) {
  return (input + turned(input)) * 0.5;
}

TEST(ComplexFactors, of_positive_matrices) {
  for (const bool upper : {false, true})
    expect_derivatives(
        [&](std::span<const Tensor> inputs) {
          const Tensor factor =
              linalg_cholesky(hermitian(inputs[0]) + eye_of(inputs[0]) * 3, upper);
          return std::vector{factor, cholesky_inverse(factor, upper),
                             cholesky_solve(inputs[1], factor, upper)};
        },
        {{2, 3, 3}, {3, 2}});
}

TEST(ComplexFactors, of_systems) {
  for (const bool left : {false, true}) {
    const Dims side = left ? Dims{3, 2} : Dims{1, 2, 3};
    expect_derivatives(
        [&](std::span<const Tensor> inputs) {
          return std::vector{linalg_solve(inputs[0], inputs[1], left)};
        },
        {{2, 3, 3}, side});
    for (const bool upper : {false, true})
      for (const bool unit : {false, true})
        expect_derivatives(
            [&](std::span<const Tensor> inputs) {
              const Tensor A = inputs[0] + eye_of(inputs[0]) * 2;
              return std::vector{linalg_solve_triangular(A, inputs[1], upper, left, unit)};
            },
            {{2, 3, 3}, side});
  }
  expect_derivatives(
      [](std::span<const Tensor> inputs) {
        return std::vector{linalg_solve(inputs[0], inputs[1]), linalg_inv(inputs[0])};
      },
      {{3, 3}, {3}});
}

TEST(ComplexFactors, of_lu) {
  for (const Dims& shape : {Dims{3, 3}, Dims{2, 4}, Dims{4, 2}})
    for (const bool pivot : {false, true})
      expect_derivatives(
          [&](std::span<const Tensor> inputs) {
            const LinalgLuFactorResult of = linalg_lu_factor(inputs[0], pivot);
            const LuUnpackResult parts = lu_unpack(of.LU, of.pivots);
            return std::vector{of.LU, parts.L * parts.L, parts.U * parts.U};
          },
          {shape});
}

TEST(ComplexFactors, of_determinants) {
  for (const std::int64_t size : {1, 2, 3, 4})
    expect_derivatives(
        [](std::span<const Tensor> inputs) {
          const LinalgSlogdetResult of = linalg_slogdet(inputs[0]);
          return std::vector{linalg_det(inputs[0]), linalg_adjugate(inputs[0]), of.sign,
                             of.logabsdet};
        },
        {{size, size}});
  expect_derivatives(
      [](std::span<const Tensor> inputs) { return std::vector{linalg_slogdet(inputs[0]).sign}; },
      {{2, 3, 3}});
}

// Whatever is left of the rank, and with values that are the same.
TEST(ComplexFactors, of_determinants_of_singular_matrices) {
  for (std::int64_t rank = 0; rank <= 4; ++rank)
    for (const bool are_equal : {false, true}) {
      const Differentiable determinant = [](std::span<const Tensor> inputs) {
        return std::vector{linalg_det(view_as_complex(inputs[0]))};
      };
      const LinalgSvdResult of = linalg_svd(view_as_complex(detach(pairs_leaf({4, 4}, 5))));
      const Tensor values = are_equal ? ones_like(of.S) : of.S;
      const Tensor kept = values * cast(lt(arange(0, 4, 1, i64), rank), f64);
      const Tensor matrix = matmul(of.U * kept, of.Vh);
      const Tensor leaf = set_requires_grad(clone(view_as_real(matrix)));
      EXPECT_EQ(find_wrong_derivative(determinant, {leaf}, true), "") << rank << are_equal;
    }
}

TEST(ComplexFactors, of_qr) {
  for (const Dims& shape : {Dims{3, 3}, Dims{2, 4}, Dims{4, 2}, Dims{2, 3, 2}})
    for (const bool has_Q : {false, true})
      expect_derivatives(
          [&](std::span<const Tensor> inputs) {
            const LinalgQrResult of = linalg_qr(inputs[0], has_Q ? "reduced" : "r");
            return has_Q ? std::vector{of.Q, of.R} : std::vector{of.R};
          },
          {shape});
  expect_derivatives(
      [](std::span<const Tensor> inputs) { return std::vector{linalg_qr(inputs[0]).Q}; }, {{3, 3}});
}

TEST(ComplexFactors, of_hermitian_matrices) {
  for (const char* half : {"L", "U"})
    for (const int wanted : {1, 2, 3})
      expect_derivatives(
          [&](std::span<const Tensor> inputs) {
            const LinalgEighResult of = linalg_eigh(hermitian(inputs[0]), half);
            std::vector<Tensor> results;
            if (wanted & 1) results.push_back(of.eigenvalues);
            if (wanted & 2) results.push_back(of.eigenvectors);
            return results;
          },
          {{2, 3, 3}});
}

TEST(ComplexFactors, of_singular_values_and_each_of_their_vectors) {
  for (const Dims& shape : {Dims{3, 3}, Dims{2, 4}, Dims{4, 2}, Dims{2, 3, 2}})
    for (int wanted = 1; wanted < 8; ++wanted)
      for (const bool full : {false, true})
        expect_derivatives(
            [&](std::span<const Tensor> inputs) {
              const LinalgSvdResult of = linalg_svd(inputs[0], full);
              const std::int64_t size = of.S.size(-1);
              std::vector<Tensor> results;
              if (wanted & 1) results.push_back(narrow(of.U, -1, 0, size));
              if (wanted & 2) results.push_back(of.S);
              if (wanted & 4) results.push_back(narrow(of.Vh, -2, 0, size));
              return results;
            },
            {shape});
}

TEST(ComplexFactors, of_eigenvalues_and_their_vectors) {
  for (const int wanted : {1, 2, 3})
    expect_derivatives(
        [&](std::span<const Tensor> inputs) {
          const LinalgEigResult of = linalg_eig(inputs[0]);
          std::vector<Tensor> results;
          if (wanted & 1) results.push_back(of.eigenvalues);
          if (wanted & 2) results.push_back(of.eigenvectors);
          return results;
        },
        {{2, 3, 3}});
}

TEST(ComplexFactors, of_least_squares_and_pseudoinverses) {
  for (const Dims& shape : {Dims{4, 2}, Dims{2, 4}, Dims{3, 3}}) {
    for (const std::string_view driver : {"gels", "gelsd"})
      expect_derivatives(
          [&](std::span<const Tensor> inputs) {
            const LinalgLstsqResult of = linalg_lstsq(inputs[0], inputs[1], {}, driver);
            return std::vector{of.solution, of.residuals};
          },
          {shape, {shape[0], 2}});
    expect_derivatives(
        [](std::span<const Tensor> inputs) { return std::vector{linalg_pinv(inputs[0])}; },
        {shape});
  }
  // Of a rank that stays: the matrix is a product.
  expect_derivatives(
      [](std::span<const Tensor> inputs) {
        return std::vector{linalg_pinv(matmul(inputs[0], inputs[1]), {}, 1e-6)};
      },
      {{3, 2}, {2, 4}});
  expect_derivatives(
      [](std::span<const Tensor> inputs) {
        return std::vector{linalg_pinv(hermitian(inputs[0]), {}, {}, true)};
      },
      {{3, 3}});
}

TEST(ComplexFactors, of_norms_and_powers) {
  expect_derivatives(
      [](std::span<const Tensor> inputs) {
        std::vector<Tensor> results;
        for (const char* ord : {"fro", "nuc", "1", "-1", "2", "-2", "inf", "-inf"})
          results.push_back(linalg_matrix_norm(inputs[0], ord));
        return results;
      },
      {{3, 2}});
  expect_derivatives(
      [](std::span<const Tensor> inputs) {
        const Tensor& x = inputs[0];
        return std::vector{linalg_matrix_power(x, 3), linalg_matrix_power(x, -2),
                           linalg_matrix_exp(x), linalg_vander(x),
                           linalg_multi_dot(TensorList({x, turned(x), x}))};
      },
      {{3, 3}});
}

// The gradient of the real and imaginary parts of all that is factored.
Tensor gradient_of_factors(Dtype dtype, Device device) {
  const Tensor values = view_as_complex(detach(pairs_leaf({2, 3, 3}, 3)));
  const Tensor x = set_requires_grad(clone(to(cast(values, dtype), device)));
  const LinalgSvdResult svd = linalg_svd(x);
  const LinalgEigResult eig = linalg_eig(x);
  const LinalgEighResult eigh = linalg_eigh(hermitian(x));
  const LinalgQrResult qr = linalg_qr(x);
  const Tensor vectors = svd.U * 2 + svd.Vh + eig.eigenvectors * 3 + eigh.eigenvectors * 4;
  const Tensor factors = qr.Q * 2 + qr.R + linalg_cholesky(hermitian(x) + eye_of(x) * 3) * 3;
  const Tensor numbers = real(eig.eigenvalues) + svd.S * 2 + eigh.eigenvalues * 3;
  const LinalgSlogdetResult of = linalg_slogdet(x);
  const Tensor sizes = real(of.sign) + imag(of.sign) * 2 + of.logabsdet;
  const Tensor parts = view_as_real(vectors * factors);
  backward(sum(parts * parts) + sum(numbers * numbers) + sum(sizes));
  return cast(cpu(grad(x)), complex128);
}

TEST(ComplexFactors, have_one_gradient_on_each_device_and_in_single_numbers) {
  const Device host = device("cpu");
  const Values wanted = values_of(view_as_real(gradient_of_factors(complex128, host)));
  double largest = 0;
  for (const double each : wanted) largest = std::max(largest, std::abs(each));
  const auto expect_near = [&](Dtype dtype, Device device, double error) {
    const Values found = values_of(view_as_real(gradient_of_factors(dtype, device)));
    EXPECT_THAT(found, testing::Pointwise(testing::DoubleNear(error * largest), wanted));
  };
  expect_near(complex64, host, 2e-5);
  expect_near(complex128, device("reference_primitives"), 1e-13);
  expect_near(complex64, device("reference_primitives"), 2e-5);
}

// All components of a circulant matrix's vectors have one size: the first is real, and stays so when the matrix moves.
TEST(ComplexFactors, of_vectors_whose_components_are_of_one_size) {
  const Values values = {3, 0, 1, -2, 1, 2, 1, 2, 3, 0, 1, -2, 1, -2, 1, 2, 3, 0};
  for (const char* name : {"cpu", "reference_primitives"}) {
    const Device there = device(name);
    const Differentiable vectors = [&](std::span<const Tensor> inputs) {
      const Tensor x = to(view_as_complex(inputs[0]), there);
      const LinalgSvdResult of = linalg_svd(x);
      return std::vector{cpu(linalg_eigh(hermitian(x)).eigenvectors), cpu(of.U), cpu(of.Vh),
                         cpu(linalg_eig(x).eigenvectors)};
    };
    const Tensor leaf = set_requires_grad(tensor(values, {3, 3, 2}));
    EXPECT_EQ(find_wrong_derivative(vectors, {leaf}, true), "") << name;
  }
}

// What PyTorch gives: grad is the derivative along real parts plus i times that along imaginary ones.
TEST(ComplexFactors, have_gradients_as_elsewhere) {
  const Tensor z = view_as_complex(reshape(tensor(Values{3, -4}), {1, 1, 2}));
  const Tensor x = set_requires_grad(clone(z));
  backward(sum(linalg_slogdet(x).logabsdet));
  const Values found = values_of(view_as_real(grad(x)));
  EXPECT_NEAR(found[0], 3.0 / 25, 1e-15);
  EXPECT_NEAR(found[1], -4.0 / 25, 1e-15);
}

// U V^H stays as it is when the matrix is multiplied by a number, by which the derivative is divided.
TEST(ComplexFactors, of_singular_vectors_do_not_depend_on_the_size_of_the_matrix) {
  const Tensor z = detach(view_as_complex(pairs_leaf({3, 3}, 5))), weights = conj(z) * z;
  const auto derivative_at = [&](double size, bool of_values) {
    const Tensor A = set_requires_grad(detach(z * size));
    const LinalgSvdResult of = linalg_svd(A, false);
    backward(sum(of_values ? of.S * of.S / size : real(weights * matmul(of.U, of.Vh)) * size));
    return grad(A);
  };
  for (const bool of_values : {false, true})
    for (const double size : {1e-9, 1e9}) {
      const Tensor expected = derivative_at(1, of_values), found = derivative_at(size, of_values);
      const Tensor error = max(abs(found - expected)) / max(abs(expected));
      EXPECT_LE(values_of(error)[0], 1e-11) << size;
    }
}

// A real matrix has the derivative that it had, without a part of the sign.
TEST(ComplexFactors, leave_the_sign_of_real_determinants_constant) {
  const Tensor x = set_requires_grad(reshape(tensor(Values{1, 2, 3, 5}), {2, 2}));
  const LinalgSlogdetResult of = linalg_slogdet(x);
  const Tensor found = autograd::grad({sum(of.sign)}, {x}, {}, {}, true)[0];
  EXPECT_TRUE(!found.defined() || values_of(sum(abs(found)))[0] == 0);
}

}  // namespace
}  // namespace bp::test
