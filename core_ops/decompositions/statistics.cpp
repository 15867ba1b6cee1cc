#include "decompositions/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <backplane/core_ops/operators.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

bool is_reduced(const DimList& dim, std::int64_t which) {
  const IntList dims = *dim.list();
  return std::find(dims.begin(), dims.end(), which) != dims.end();
}

Dims result_shape(const Tensor& input, const DimList& dim, bool keepdim) {
  Dims shape;
  for (std::int64_t d = 0; d < input.ndim(); ++d) {
    if (!is_reduced(dim, d))
      shape.push_back(input.shape()[d]);
    else if (keepdim)
      shape.push_back(1);
  }
  return shape;
}

// The elements that go into one result along the last dimension, the results along the first.
Tensor results_by_elements(const Tensor& input, const DimList& dim) {
  Dims order, reduced;
  for (std::int64_t d = 0; d < input.ndim(); ++d)
    (is_reduced(dim, d) ? reduced : order).push_back(d);
  for (std::int64_t d : reduced) order.push_back(d);
  return reshape(permute(input, order), {-1, num_reduced(input, dim)});
}

Tensor variance_of(const Tensor& input, const DimList& dim, const Scalar& correction,
                   bool keepdim) {
  const double count = static_cast<double>(num_reduced(input, dim)) - correction.to_double();
  const Tensor distances = sub(input, mean(input, dim, true));
  return div(sum(square(distances), dim, keepdim), std::max(count, 0.0));
}

}  // namespace

// Where the count is not a power of two, the elements beyond one are multiplied into the first ones.
Tensor prod_by_halves(const Tensor& input, const DimList& dim, bool keepdim) {
  Tensor product = results_by_elements(widened(input), dim);
  const std::int64_t count = product.size(1);
  if (count == 1) return reshape(copy(input), result_shape(input, dim, keepdim));
  std::int64_t half = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count)));
  if (const std::int64_t beyond = count - half; beyond != 0) {
    const Tensor pairs = mul(narrow(product, 1, 0, beyond), narrow(product, 1, half, beyond));
    product = cat({pairs, narrow(product, 1, beyond, half - beyond)}, 1);
  }
  while ((half /= 2) != 0)
    product = mul(narrow(product, 1, 0, half), narrow(product, 1, half, half));
  return in_dtype(reshape(product, result_shape(input, dim, keepdim)), input.dtype());
}

Tensor variance_in_two_passes(const Tensor& input, const DimList& dim, const Scalar& correction,
                              bool keepdim) {
  return in_dtype(variance_of(widened(input), dim, correction, keepdim), input.dtype());
}

Tensor deviation_in_two_passes(const Tensor& input, const DimList& dim, const Scalar& correction,
                               bool keepdim) {
  return in_dtype(sqrt(variance_of(widened(input), dim, correction, keepdim)), input.dtype());
}

// -1 - a has no overflow, for unsigned numbers neither: it turns all bits round.
Tensor argmin_by_argmax(const Tensor& input, std::optional<std::int64_t> dim, bool keepdim) {
  return argmax(is_integral(input.dtype()) ? sub(-1, input) : neg(input), dim, keepdim);
}

// An infinite largest element is left on: inf - inf is nan.
Tensor logsumexp_by_max(const Tensor& input, const DimList& dim, bool keepdim) {
  const Tensor wide = widened(input);
  const Tensor largest = max(wide, dim, true);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor taken_off = where(eq(abs(largest), infinity), 0, largest);
  const Tensor total = log(sum(exp(sub(wide, taken_off)), dim, keepdim));
  return in_dtype(add(total, reshape(taken_off, total.shape())), input.dtype());
}

Tensor norm_by_power(const Tensor& input, double p, const DimList& dim, bool keepdim) {
  if (p == 0) return sum(cast(ne(input, 0), input.dtype()), dim, keepdim);
  if (std::isinf(p)) return p > 0 ? max(abs(input), dim, keepdim) : min(abs(input), dim, keepdim);
  const Tensor wide = widened(input);
  if (p == 1) return in_dtype(sum(abs(wide), dim, keepdim), input.dtype());
  if (p == 2) return in_dtype(sqrt(sum(square(wide), dim, keepdim)), input.dtype());
  return in_dtype(pow(sum(pow(abs(wide), p), dim, keepdim), 1 / p), input.dtype());
}

}  // namespace bp
