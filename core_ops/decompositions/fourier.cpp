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

// Cut or filled up with zeros along the last dimension.
Tensor of_length(const Tensor& input, std::int64_t n) {
  const std::int64_t size = input.size(-1);
  if (n < size) return narrow(input, -1, 0, n);
  return n == size ? input : constant_pad_nd(input, {0, n - size});
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

Dtype real_dtype_of(const Tensor& input) {
  return input.dtype() == complex64 || input.dtype() == f32 ? f32 : f64;
}

// `count` elements before and behind along the last dimension, of complex numbers part by part.
Tensor pad_complex(const Tensor& rows, std::int64_t count, std::string_view mode) {
  if (!is_complex(rows.dtype())) return pad(rows, {count, count}, mode);
  const Tensor parts = movedim(view_as_real(rows), {-1}, {0});
  return complex_of_pairs(contiguous(movedim(pad(parts, {count, count}, mode), {0}, {-1})));
}

// Of n_fft elements, with zeros at both ends of a shorter one; undefined where all are 1.
Tensor window_of(const Tensor& input, const Tensor& window, const Frames& frames) {
  const std::int64_t length = frames.win_length.value_or(frames.n_fft);
  BP_CHECK(length > 0 && length <= frames.n_fft,
           "stft: win_length is {} and n_fft is {}; pass 1 to n_fft", length, frames.n_fft);
  BP_CHECK(!window.defined() || (window.ndim() == 1 && window.numel() == length),
           "stft: the window has shape {}; pass a vector of {} numbers",
           window.defined() ? to_string(window.shape()) : "", length);
  if (!window.defined() && length == frames.n_fft) return window;
  const Tensor given =
      window.defined() ? window : full({length}, 1, real_dtype_of(input), input.device());
  const std::int64_t before = (frames.n_fft - length) / 2;
  return constant_pad_nd(given, {before, frames.n_fft - length - before});
}

}  // namespace

Tensor transformed_frames(const Tensor& input, const Tensor& window, const Frames& frames) {
  const std::int64_t n = frames.n_fft, hop = frames.hop_length.value_or(n / 4);
  BP_CHECK(input.ndim() == 1 || input.ndim() == 2,
           "stft: the shape is {}; pass a signal, or a batch of them", to_string(input.shape()));
  BP_CHECK(n > 0 && hop > 0, "stft: n_fft is {} and hop_length {}; pass 1 or more", n, hop);
  BP_CHECK(!frames.onesided || !is_complex(input.dtype()),
           "stft: the input is {}, whose spectra have two sides; pass onesided=false",
           name(input.dtype()));
  const Tensor signal = with_complex_peer(input);
  const Tensor taken = window_of(signal, window, frames);
  const Tensor rows = signal.ndim() == 2 ? signal : unsqueeze(signal, 0);
  const Tensor wide = frames.center ? pad_complex(rows, n / 2, frames.pad_mode) : rows;
  BP_CHECK(wide.size(1) >= n, "stft: {} elements and n_fft {}; pass a longer signal", wide.size(1),
           n);
  const Tensor framed = unfold(wide, 1, n, hop);
  const Tensor windowed = taken.defined() ? mul(framed, taken) : framed;
  const Transform how{"stft", Turn::forward, frames.normalized ? "ortho" : "backward"};
  const Tensor spectra = frames.onesided ? transformed_real(how, windowed, std::nullopt, -1)
                                         : transformed(how, windowed, std::nullopt, -1);
  const Tensor result = transpose(spectra, 1, 2);
  const Tensor shown = signal.ndim() == 2 ? result : select(result, 0, 0);
  return frames.return_complex ? shown : view_as_real(shown);
}

Tensor transformed(const Transform& how, const Tensor& input, Size n, std::int64_t dim) {
  const std::int64_t at = dim_of(how, input, dim);
  const std::int64_t length = n.value_or(input.size(at));
  check_line(how, input, length);
  const double scale = scale_of(how, length);
  const Lines lines = lines_of(with_complex_peer(input), at);
  const Tensor parts = transformed_parts(of_length(lines.parts, length), how.turn);
  return complex_of_lines(lines, scaled_by(parts, scale), at);
}

Tensor transformed_real(const Transform& how, const Tensor& input, Size n, std::int64_t dim) {
  BP_CHECK(!is_complex(input.dtype()), "{}: the input is {}; pass real numbers", how.op,
           name(input.dtype()));
  const std::int64_t at = dim_of(how, input, dim);
  const std::int64_t length = n.value_or(input.size(at));
  check_line(how, input, length);
  const double scale = scale_of(how, length);
  const Lines lines = lines_of(with_complex_peer(input), at);
  const Tensor parts = transformed_parts(of_length(lines.parts, length), how.turn);
  return complex_of_lines(lines, scaled_by(narrow(parts, 2, 0, length / 2 + 1), scale), at);
}

// The other half of the spectrum is the conjugate of this one, so that each element but the first, and the one in the
// middle, counts twice, and of the result only the real parts are taken.
Tensor transformed_to_real(const Transform& how, const Tensor& input, Size n, std::int64_t dim) {
  const std::int64_t at = dim_of(how, input, dim);
  const std::int64_t length = n.value_or(2 * (input.size(at) - 1));
  check_line(how, input, length);
  const double scale = scale_of(how, length);
  const Lines lines = lines_of(with_complex_peer(input), at);
  const Tensor half = of_length(lines.parts, length / 2 + 1);
  const Tensor whole = of_length(mul(half, weights_of_half(length, half)), length);
  const Tensor part = select(transformed_parts(whole, how.turn), 1, 0);
  return real_of_lines(lines, scaled_by(part, scale), at);
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
