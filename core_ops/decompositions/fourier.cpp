#include "decompositions/fourier.hpp"

#include <algorithm>
#include <cmath>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "decompositions/complex.hpp"
#include "rules/decompositions.hpp"

namespace bp {
namespace {

using Size = std::optional<std::int64_t>;

// The factor that the norm asks for.
double scale_of(const Transform& how, std::int64_t n) {
  if (how.norm == "ortho") return 1 / std::sqrt(static_cast<double>(n));
  const bool scales_forward = how.norm == "forward";
  BP_CHECK(scales_forward || how.norm == "backward",
           "{}: norm is '{}'; pass 'backward', 'ortho' or 'forward'", how.op, how.norm);
  return scales_forward == (how.turn == Turn::forward) ? 1 / static_cast<double>(n) : 1;
}

void check_line(const Transform& how, const Tensor& input, std::int64_t n) {
  BP_CHECK(n > 0, "{}: {} elements of a shape of {}; a transform has 1 or more", how.op, n,
           to_string(input.shape()));
  BP_CHECK(n < std::int64_t{1} << 31, "{}: {} elements; a transform has fewer than 2^31", how.op,
           n);
}

std::int64_t dim_of(const Transform& how, const Tensor& input, std::int64_t dim) {
  BP_CHECK(input.ndim() > 0, "{}: a 0-dim tensor has no dimension; reshape it", how.op);
  return wrap_dim(how.op, dim, input.ndim());
}

// Cut or filled up with zeros along a dimension.
Tensor of_length(const Tensor& input, std::int64_t dim, std::int64_t n) {
  const std::int64_t size = input.size(dim);
  if (n < size) return narrow(input, dim, 0, n);
  if (n == size) return input;
  const bool has_two = is_complex(input.dtype());
  Dims pad(static_cast<std::uint32_t>(2 * (input.ndim() - dim + has_two)), 0);
  pad.back() = n - size;
  return has_two ? complex_of_pairs(constant_pad_nd(view_as_real(input), pad))
                 : constant_pad_nd(input, pad);
}

// Parts of [batch, 1 or 2, n], and the shape from which they came, dimension `dim` behind the others.
struct Lines {
  Tensor parts;
  Dims others;
};

Lines lines_of(const Tensor& input, std::int64_t dim) {
  Lines lines;
  const bool has_two = is_complex(input.dtype());
  const Tensor moved = movedim(has_two ? view_as_real(input) : input, {dim}, {-1});
  std::int64_t batch = 1;
  for (std::int64_t d = 0; d + 1 < input.ndim(); ++d) {
    lines.others.push_back(moved.size(d));
    batch *= moved.size(d);
  }
  lines.parts = reshape(moved, {batch, has_two ? 2 : 1, input.size(dim)});
  return lines;
}

// [batch, 2, n] as complex numbers, the last dimension at `dim`.
Tensor complex_of_lines(const Lines& lines, const Tensor& parts, std::int64_t dim) {
  Dims shape(lines.others);
  shape.push_back(2);
  shape.push_back(parts.size(2));
  const Tensor apart = movedim(reshape(parts, shape), {-2}, {-1});
  return complex_of_pairs(contiguous(movedim(apart, {-2}, {dim})));
}

Tensor real_of_lines(const Lines& lines, const Tensor& part, std::int64_t dim) {
  Dims shape(lines.others);
  shape.push_back(part.size(1));
  return contiguous(movedim(reshape(part, shape), {-1}, {dim}));
}

Tensor scaled_by(const Tensor& input, double factor) {
  return factor == 1 ? input : mul(input, factor);
}

// What of half a spectrum stands for two elements of the whole.
Tensor weights_of_half(std::int64_t n, const Tensor& like) {
  const Tensor k = arange(0, n / 2 + 1, 1, i64, like.device());
  const Tensor is_alone = eq(remainder(mul(k, 2), n), 0);
  return where(is_alone, full({}, 1, like.dtype(), like.device()), 2);
}

Turn turn_of(bool forward) {
  return forward ? Turn::forward : Turn::back;
}

// The spectrum of n real numbers, of its first half.
Tensor with_conjugates(const Tensor& half, std::int64_t dim, std::int64_t n) {
  const std::int64_t count = (n - 1) / 2;
  if (count == 0) return half;
  const Tensor parts = view_as_real(half);
  const Tensor signs = arange(1, -2, -2, parts.dtype(), half.device());
  const Tensor others = mul(flip(narrow(parts, dim, 1, count), {dim}), signs);
  return complex_of_pairs(cat({parts, others}, dim));
}

Tensor as_complex(const Tensor& input) {
  if (is_complex(input.dtype())) return input;
  const Tensor re = with_complex_peer(input);
  return complex_of_pairs(stack({re, full_like(re, 0)}, -1));
}

// The dimensions of a transform of several, and the sizes that were given for them.
struct Spans {
  Dims dims;
  std::vector<Size> sizes;
};

Spans spans_of(const Transform& how, const Tensor& input, const DimList& s, const DimList& dim) {
  const std::optional<IntList> sizes = s.list(), dims = dim.list();
  Spans spans;
  const std::int64_t rank = input.ndim();
  const auto num_sizes = sizes ? static_cast<std::int64_t>(sizes->size()) : rank;
  BP_CHECK(num_sizes <= rank, "{}: {} sizes for shape {}; pass at most one for each dimension",
           how.op, num_sizes, to_string(input.shape()));
  std::uint64_t seen = 0;
  for (std::int64_t i = 0; i < (dims ? static_cast<std::int64_t>(dims->size()) : num_sizes); ++i) {
    const std::int64_t at =
        dims ? dim_of(how, input, (*dims)[static_cast<std::size_t>(i)]) : rank - num_sizes + i;
    BP_CHECK(!(seen >> at & 1u), "{}: dimension {} is listed twice; list each once", how.op, at);
    seen |= std::uint64_t{1} << at;
    spans.dims.push_back(at);
  }
  BP_CHECK(!sizes || sizes->size() == spans.dims.size(),
           "{}: {} sizes and {} dimensions; pass a size for each", how.op,
           sizes ? sizes->size() : 0, spans.dims.size());
  for (std::size_t i = 0; i < spans.dims.size(); ++i)
    spans.sizes.push_back(sizes && (*sizes)[i] != -1 ? Size((*sizes)[i]) : std::nullopt);
  return spans;
}

// All of them but the last `num_left`.
Tensor over_spans(const Transform& how, Tensor input, const Spans& spans, std::size_t num_left) {
  for (std::size_t i = spans.dims.size() - std::min(num_left, spans.dims.size()); i-- > 0;)
    input = transformed(how, input, spans.sizes[i], spans.dims[i]);
  return input;
}

void check_some_spans(const Transform& how, const Spans& spans) {
  BP_CHECK(!spans.dims.empty(), "{}: no dimensions; pass at least one", how.op);
}

}  // namespace

Tensor complex_transform_by_products(const Tensor& input, std::int64_t dim, double scale,
                                     bool forward) {
  const Lines lines = lines_of(input, dim);
  const Tensor parts = transformed_parts(lines.parts, turn_of(forward));
  return complex_of_lines(lines, scaled_by(parts, scale), dim);
}

Tensor half_transform_by_products(const Tensor& input, std::int64_t dim, double scale,
                                  bool forward) {
  const Lines lines = lines_of(input, dim);
  const Tensor parts = transformed_parts(lines.parts, turn_of(forward));
  const Tensor half = narrow(parts, 2, 0, input.size(dim) / 2 + 1);
  return complex_of_lines(lines, scaled_by(half, scale), dim);
}

// The other half of the spectrum is the conjugate of this one, so that each element but the first, and the one in the
// middle, counts twice, and of the result only the real parts are taken.
Tensor transform_of_half_by_products(const Tensor& input, std::int64_t n, std::int64_t dim,
                                     double scale, bool forward) {
  const Lines lines = lines_of(input, dim);
  const Tensor weighted = mul(lines.parts, weights_of_half(n, lines.parts));
  const Tensor whole = of_length(weighted, 2, n);
  const Tensor part = select(transformed_parts(whole, turn_of(forward)), 1, 0);
  return real_of_lines(lines, scaled_by(part, scale), dim);
}

Tensor transformed(const Transform& how, const Tensor& input, Size n, std::int64_t dim) {
  if (!is_complex(input.dtype())) {
    const Tensor half = transformed_real(how, input, n, dim);
    const std::int64_t at = dim_of(how, input, dim);
    return with_conjugates(half, at, n.value_or(input.size(at)));
  }
  const std::int64_t at = dim_of(how, input, dim);
  const std::int64_t length = n.value_or(input.size(at));
  check_line(how, input, length);
  const double scale = scale_of(how, length);
  return fft_c2c(of_length(input, at, length), at, scale, how.turn == Turn::forward);
}

Tensor transformed_real(const Transform& how, const Tensor& input, Size n, std::int64_t dim) {
  BP_CHECK(!is_complex(input.dtype()), "{}: the input is {}; pass real numbers", how.op,
           name(input.dtype()));
  const std::int64_t at = dim_of(how, input, dim);
  const std::int64_t length = n.value_or(input.size(at));
  check_line(how, input, length);
  const double scale = scale_of(how, length);
  const Tensor line = of_length(with_complex_peer(input), at, length);
  return fft_r2c(line, at, scale, how.turn == Turn::forward);
}

Tensor transformed_to_real(const Transform& how, const Tensor& input, Size n, std::int64_t dim) {
  const std::int64_t at = dim_of(how, input, dim);
  const std::int64_t length = n.value_or(2 * (input.size(at) - 1));
  check_line(how, input, length);
  const double scale = scale_of(how, length);
  const Tensor half = of_length(as_complex(input), at, length / 2 + 1);
  return fft_c2r(half, length, at, scale, how.turn == Turn::forward);
}

DimList last_two_or(const DimList& dim) {
  static constexpr std::int64_t last_two[] = {-2, -1};
  return dim.list() ? dim : DimList(IntList(last_two, 2));
}

Tensor transformed_dims(const Transform& how, const Tensor& input, const DimList& s,
                        const DimList& dim) {
  const Spans spans = spans_of(how, input, s, dim);
  scale_of(how, 1);
  return spans.dims.empty() ? fresh(as_complex(input), input) : over_spans(how, input, spans, 0);
}

Tensor transformed_real_dims(const Transform& how, const Tensor& input, const DimList& s,
                             const DimList& dim) {
  const Spans spans = spans_of(how, input, s, dim);
  check_some_spans(how, spans);
  const Tensor last = transformed_real(how, input, spans.sizes.back(), spans.dims.back());
  return over_spans(how, last, spans, 1);
}

Tensor transformed_to_real_dims(const Transform& how, const Tensor& input, const DimList& s,
                                const DimList& dim) {
  const Spans spans = spans_of(how, input, s, dim);
  check_some_spans(how, spans);
  const Tensor others = over_spans(how, input, spans, 1);
  return transformed_to_real(how, others, spans.sizes.back(), spans.dims.back());
}

}  // namespace bp
