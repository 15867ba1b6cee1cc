#include "rules/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "rules/rules.hpp"

namespace bp::autograd {
namespace {

// The dimensions that stay, then those that are reduced.
Dims kept_before_reduced(const Tensor& input, const DimList& dim) {
  const std::optional<IntList> list = dim.list();
  Dims kept, reduced;
  for (std::int64_t d = 0; d < input.ndim(); ++d) {
    const auto is_this = [&](std::int64_t given) {
      return given == d || given == d - input.ndim();
    };
    const bool goes = !list || list->empty() || std::any_of(list->begin(), list->end(), is_this);
    (goes ? reduced : kept).push_back(d);
  }
  for (std::int64_t d : reduced) kept.push_back(d);
  return kept;
}

// a * sign(by).
Tensor with_sign(const Tensor& input, const Tensor& by) {
  if (is_complex(by.dtype())) return input * sgn(by);
  return where(by > 0, input, where(by < 0, -input, 0));
}

// Along the last dimension of `lines`, whose length is a power of two. Up: the products of pairs, half as
// many each time. Down: what is outside of a pair, times the other one of the pair.
Tensor products_of_others_in_lines(Tensor lines) {
  struct Halves {
    Tensor first, second;
  };
  std::vector<Halves> levels;
  while (lines.size(1) > 1) {
    const std::int64_t half = lines.size(1) / 2;
    const Halves& level =
        levels.emplace_back(Halves{narrow(lines, 1, 0, half), narrow(lines, 1, half, half)});
    lines = level.first * level.second;
  }
  Tensor others = ones_like(lines);
  for (; !levels.empty(); levels.pop_back())
    others = cat({others * levels.back().second, others * levels.back().first}, 1);
  return others;
}

}  // namespace

Tensor product_of_others(const Tensor& input, const DimList& dim, Dtype dtype) {
  if (input.numel() == 0) return ones_like(input, dtype);
  const Dims order = kept_before_reduced(input, dim);
  const Tensor moved = permute(input.dtype() == dtype ? input : cast(input, dtype), order);
  const std::int64_t count = num_reduced(input, dim), num_lines = input.numel() / count;
  const auto length = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  Tensor lines = reshape(moved, {num_lines, count});
  if (length != count)
    lines = cat({lines, ones({num_lines, length - count}, dtype, input.device())}, 1);
  const Tensor others = narrow(products_of_others_in_lines(lines), 1, 0, count);
  return permute(reshape(others, moved.shape()), inverse_permutation(order));
}

// An element's gradient is the product of those before it, times what all products from it on ask of it: r(i) = g(i) +
// x(i + 1) * r(i + 1), over distances that double.
Tensor running_product_gradient(const Tensor& gradient, const Tensor& input, std::int64_t dim) {
  if (input.ndim() == 0 || input.numel() == 0) return gradient;
  const std::int64_t along = dim < 0 ? dim + input.ndim() : dim, size = input.size(along);
  const Dtype dtype = gradient.dtype();
  const Tensor wide = input.dtype() == dtype ? input : cast(input, dtype), x = conj(wide);
  if (size == 1) return gradient;
  const auto part = [&](const Tensor& of, std::int64_t begin, std::int64_t length) {
    return narrow(of, along, begin, length);
  };
  Tensor asked = gradient, factors = part(x, 1, size - 1);
  for (std::int64_t step = 1; step < size; step *= 2) {
    const std::int64_t reached = size - step, next = reached - step;
    const Tensor more = part(asked, 0, reached) + factors * part(asked, step, reached);
    asked = cat({more, part(asked, reached, step)}, along);
    if (next > 0) factors = part(factors, 0, next) * part(factors, step, next);
  }
  const Tensor before = cumprod(part(x, 0, size - 1), along);
  return cat({part(asked, 0, 1), before * part(asked, 1, size - 1)}, along);
}

Tensor variance_gradient(const Tensor& gradient, const Tensor& input, const DimList& dim,
                         const Scalar& correction, bool keepdim) {
  const double count = static_cast<double>(num_reduced(input, dim)) - correction.to_double();
  const Tensor distances = input - mean(input, dim, true);
  return expand_reduced(gradient * (2 / std::max(count, 0.0)), input, dim, keepdim) * distances;
}

Tensor norm_gradient(const Tensor& gradient, const Tensor& input, double p, const Tensor& result,
                     const DimList& dim, bool keepdim) {
  if (p == 0) return zeros_like(input);
  const Tensor reached = expand_reduced(result, input, dim, keepdim);
  if (std::isinf(p))
    return with_sign(share_among(gradient, abs(input) == reached, dim, keepdim), input);
  const Tensor each = expand_reduced(gradient, input, dim, keepdim);
  if (p == 1) return with_sign(each, input);
  // A norm of 0 divides by 1 instead, so that what is not taken is finite and so are its own derivatives.
  const Tensor divisor = where(reached == 0, 1, reached);
  if (p == 2) return where(reached == 0, 0, input * (each / divisor));
  // result^(1 - p) * sign(a) * abs(a)^(p - 1), in which one of the factors may be infinite at zero.
  const Tensor power = where(input == 0, 0, pow(abs(where(input == 0, 1, input)), p - 1));
  return with_sign(where(reached == 0, 0, each * power * pow(divisor, 1 - p)), input);
}

}  // namespace bp::autograd
