// Linear algebra and Fourier transforms.
#include "recipes/helpers.hpp"

namespace bp::bridge {

namespace {

bool scalar_of(const Tensor& truth) {
  bool value = false;
  copy_to_host_memory(truth, &value);
  return value;
}

}  // namespace

Tensor errors_in(const Tensor& result, const Tensor& matrices, bool raises) {
  const auto are_numbers = [](const Tensor& tensor) { return all(isfinite(tensor), {-2, -1}); };
  const Tensor errors = logical_and(are_numbers(matrices), logical_not(are_numbers(result)));
  if (raises && scalar_of(any(errors))) refuse("linalg", "a matrix that is singular");
  return cast(errors, i32);
}

LinalgLuFactorResult factors_of(const Tensor& matrix) {
  const bool by_rows = matrix.is_contiguous() && !is_complex(matrix.dtype());
  return linalg_lu_factor(by_rows ? transpose(matrix, -2, -1) : matrix);
}

Tensor reflected(const Tensor& vectors, const Tensor& tau, const Tensor& matrix, bool adjoint) {
  const Tensor units = tril(vectors, -1) +
                       eye(vectors.size(-2), vectors.size(-1), vectors.dtype(), vectors.device());
  Tensor result = matrix;
  const std::int64_t count = tau.size(-1);
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int64_t i = adjoint ? step : count - 1 - step;
    const Tensor unit = narrow(units, -1, i, 1), factor = unsqueeze(narrow(tau, -1, i, 1), -1);
    const Tensor along = matmul(transpose(conj(unit), -2, -1), result);
    result = result - (adjoint ? conj(factor) : factor) * unit * along;
  }
  return result;
}

Tensor reflected_identity(const Tensor& vectors, const Tensor& tau) {
  const Tensor identity =
      eye(vectors.size(-2), vectors.size(-1), vectors.dtype(), vectors.device());
  return reflected(vectors, tau, contiguous(expand(identity, vectors.shape())), false);
}

double fft_scale(IntList sizes, IntList dims, std::int64_t normalization) {
  double count = 1;
  for (const std::int64_t dim : dims)
    count *= static_cast<double>(
        sizes[static_cast<std::size_t>(wrapped(dim, static_cast<std::int64_t>(sizes.size())))]);
  if (normalization == 0) return 1;
  return normalization == 1 ? 1 / std::sqrt(count) : 1 / count;
}

Tensor transformed(const Tensor& input, IntList dims, std::size_t count, double scale,
                   bool forward) {
  Tensor result = input;
  for (std::size_t i = 0; i < count; ++i)
    result = fft_c2c(result, dims[i], i == 0 ? scale : 1.0, forward);
  return result;
}

}  // namespace bp::bridge
