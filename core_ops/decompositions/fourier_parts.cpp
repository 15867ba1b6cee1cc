// One dimension of real and imaginary parts, transformed by products of real matrices.
#include <bit>
#include <cmath>
#include <numbers>

#include <backplane/tensor/check.hpp>

#include "decompositions/fourier.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

constexpr std::int64_t largest_matrix = 64;

// Real and imaginary parts; of real numbers the second is undefined.
struct Parts {
  Tensor re, im;
};

Parts complex_product(const Parts& a, const Parts& b) {
  if (!a.im.defined()) return {mul(a.re, b.re), mul(a.re, b.im)};
  return {sub(mul(a.re, b.re), mul(a.im, b.im)), add(mul(a.re, b.im), mul(a.im, b.re))};
}

Parts parts_along_1(const Tensor& both) {
  return {select(both, 1, 0), both.size(1) == 2 ? select(both, 1, 1) : Tensor()};
}

// -1 where the bit of `number` above the lowest is set, else 1.
Tensor sign_of_half(const Tensor& number, Dtype dtype) {
  const Tensor bit = floor_divide(remainder(number, 4), 2);
  return cast(sub(1, mul(bit, 2)), dtype);
}

// exp(2 pi i k / n), or its conjugate, of k in [0, n). Whole quarters are taken off as integers, so that the rest of the
// angle is small and its rounding is, too.
Parts roots_of_one(const Tensor& k, std::int64_t n, Turn turn, Dtype dtype) {
  const Tensor quarters = floor_divide(add(mul(k, 8), n), 2 * n);
  const Tensor rest = sub(mul(k, 4), mul(quarters, n));
  const Tensor angle = mul(cast(rest, dtype), std::numbers::pi / 2 / static_cast<double>(n));
  const Tensor is_odd = eq(remainder(quarters, 2), 1);
  const Tensor cosine = cos(angle), sine = sin(angle);
  const Tensor re = mul(where(is_odd, sine, cosine), sign_of_half(add(quarters, 1), dtype));
  const Tensor im = mul(where(is_odd, cosine, sine), sign_of_half(quarters, dtype));
  return {re, turn == Turn::forward ? neg(im) : im};
}

Tensor numbers_up_to(std::int64_t n, const Tensor& like) {
  return arange(0, n, 1, i64, like.device());
}

// [2n, 2n], which takes n real parts and n imaginary ones in a row to such of the transform.
Tensor matrix_of(std::int64_t n, Turn turn, const Tensor& like) {
  const Tensor k = numbers_up_to(n, like);
  const Parts all = roots_of_one(k, n, turn, like.dtype());
  const Tensor places = reshape(remainder(mul(reshape(k, {n, 1}), k), n), {n * n});
  const Tensor re = reshape(index_select(all.re, 0, places), {n, n});
  const Tensor im = reshape(index_select(all.im, 0, places), {n, n});
  return cat({cat({re, im}, 1), cat({neg(im), re}, 1)}, 0);
}

// The rows for real parts alone, or all of them.
Tensor rows_for(const Tensor& parts, const Tensor& matrix) {
  return parts.size(1) == 2 ? matrix : narrow(matrix, 0, 0, matrix.size(0) / 2);
}

std::int64_t largest_divisor(std::int64_t n) {
  for (std::int64_t divisor = largest_matrix; divisor > 1; --divisor)
    if (n % divisor == 0) return divisor;
  return 1;
}

Tensor by_matrix(const Tensor& parts, Turn turn) {
  const std::int64_t batch = parts.size(0), n = parts.size(2);
  const Tensor matrix = rows_for(parts, matrix_of(n, turn, parts));
  return reshape(matmul(reshape(parts, {batch, matrix.size(0)}), matrix), {batch, 2, n});
}

// Element j = j1 * n2 + j2, result k = k1 + n1 * k2: over j1 for each j2, turned by exp(2 pi i k1 j2 / n), then over j2.
Tensor by_factors(const Tensor& parts, std::int64_t n1, Turn turn) {
  const std::int64_t batch = parts.size(0), n = parts.size(2), n2 = n / n1;
  const Tensor matrix = rows_for(parts, matrix_of(n1, turn, parts));
  const Tensor columns = reshape(parts, {batch, matrix.size(0), n2});
  const Tensor over_first = reshape(matmul(transpose(matrix, 0, 1), columns), {batch, 2, n1, n2});
  const Tensor places = mul(reshape(numbers_up_to(n1, parts), {n1, 1}), numbers_up_to(n2, parts));
  const Parts turned_parts =
      complex_product(parts_along_1(over_first), roots_of_one(places, n, turn, parts.dtype()));
  const Tensor rows = reshape(stack({turned_parts.re, turned_parts.im}, 2), {batch * n1, 2, n2});
  const Tensor over_both = reshape(transformed_parts(rows, turn), {batch, n1, 2, n2});
  return reshape(permute(over_both, {0, 2, 3, 1}), {batch, 2, n});
}

// j * k is (j^2 + k^2 - (k - j)^2) / 2: what remains of the sum is a convolution with exp(-pi i j^2 / n), made by
// transforms of a power of two.
Tensor by_chirp(const Tensor& parts, Turn turn) {
  const std::int64_t n = parts.size(2);
  const auto length =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * n - 1)));
  const Tensor j = numbers_up_to(n, parts);
  const Parts chirp = roots_of_one(remainder(mul(j, j), 2 * n), 2 * n, turn, parts.dtype());
  const Parts given = complex_product(parts_along_1(parts), chirp);
  const Tensor padded = constant_pad_nd(stack({given.re, given.im}, 1), {0, length - n});
  const Tensor both = stack({chirp.re, neg(chirp.im)}, 0);
  const Tensor gap = full({2, length - 2 * n + 1}, 0, parts.dtype(), parts.device());
  const Tensor circle = cat({both, gap, flip(narrow(both, 1, 1, n - 1), {1})}, 1);
  const Tensor factor = transformed_parts(reshape(circle, {1, 2, length}), Turn::forward);
  const Parts joined = complex_product(parts_along_1(transformed_parts(padded, Turn::forward)),
                                       parts_along_1(factor));
  const Tensor folded = transformed_parts(stack({joined.re, joined.im}, 1), Turn::back);
  const double scale = 1.0 / static_cast<double>(length);
  const Parts back{mul(chirp.re, scale), mul(chirp.im, scale)};
  const Parts result = complex_product(parts_along_1(narrow(folded, 2, 0, n)), back);
  return stack({result.re, result.im}, 1);
}

}  // namespace

Tensor transformed_parts(const Tensor& parts, Turn turn) {
  const std::int64_t n = parts.size(2);
  if (n <= largest_matrix) return by_matrix(parts, turn);
  const std::int64_t divisor = largest_divisor(n);
  return divisor > 1 ? by_factors(parts, divisor, turn) : by_chirp(parts, turn);
}

}  // namespace bp
