#include "rules.hpp"

namespace bp::autograd {
namespace {

std::size_t place_of(std::int64_t dim, const Tensor& input) {
  return static_cast<std::size_t>(dim < 0 ? dim + input.ndim() : dim);
}

// Half a spectrum along `dim`, where `factor` is multiplied to all elements that stand for their conjugates as well: not to
// the first, nor to the one in the middle of an even number.
Tensor weighted_pairs(const Tensor& half, std::int64_t n, std::int64_t dim, double factor) {
  const Tensor parts = view_as_real(half);
  const Tensor k = arange(0, n / 2 + 1, 1, Dtype::i64, half.device());
  const Tensor is_alone = eq(remainder(mul(k, 2), n), 0);
  const Tensor one = full({}, 1, parts.dtype(), half.device());
  Dims shape(static_cast<std::uint32_t>(parts.ndim()), 1);
  shape[place_of(dim, half)] = n / 2 + 1;
  return view_as_complex(contiguous(mul(parts, reshape(where(is_alone, one, factor), shape))));
}

}  // namespace

Tensor gradient_of_transform(const Tensor& grad, std::int64_t dim, double scale, bool forward) {
  return fft_c2c(grad, dim, scale, !forward);
}

Tensor gradient_of_half_transform(const Tensor& grad, IntList shape, std::int64_t dim, double scale,
                                  bool forward) {
  const std::int64_t n = shape[place_of(dim, grad)];
  return fft_c2r(weighted_pairs(grad, n, dim, 0.5), n, dim, scale, !forward);
}

Tensor gradient_of_transform_of_half(const Tensor& grad, std::int64_t n, std::int64_t dim,
                                     double scale, bool forward) {
  return weighted_pairs(fft_r2c(grad, dim, scale, !forward), n, dim, 2);
}

}  // namespace bp::autograd
