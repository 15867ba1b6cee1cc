// Transforms of the frames of a signal, and the signal that they came from (Griffin and Lim, "Signal estimation from modified
// short-time Fourier transform", 1984).
#include <algorithm>

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

#include "decompositions/complex.hpp"
#include "decompositions/fourier.hpp"

namespace bp {
namespace {

// `count` elements before and behind along the last dimension, of complex numbers part by part.
Tensor pad_complex(const Tensor& rows, std::int64_t count, std::string_view mode) {
  if (!is_complex(rows.dtype())) return pad(rows, {count, count}, mode);
  const Tensor parts = movedim(view_as_real(rows), {-1}, {0});
  return complex_of_pairs(contiguous(movedim(pad(parts, {count, count}, mode), {0}, {-1})));
}

// Of n_fft elements, with zeros at both ends of a shorter one; undefined where all are 1.
Tensor window_of(const char* op, const Tensor& input, const Tensor& window, const Frames& frames) {
  const std::int64_t length = frames.win_length.value_or(frames.n_fft);
  BP_CHECK(length > 0 && length <= frames.n_fft,
           "{}: win_length is {} and n_fft is {}; pass 1 to n_fft", op, length, frames.n_fft);
  BP_CHECK(!window.defined() || (window.ndim() == 1 && window.numel() == length),
           "{}: the window has shape {}; pass a vector of {} numbers", op,
           window.defined() ? to_string(window.shape()) : "", length);
  if (!window.defined() && length == frames.n_fft) return window;
  const Tensor given =
      window.defined() ? window : full({length}, 1, to_real(input.dtype()), input.device());
  const std::int64_t before = (frames.n_fft - length) / 2;
  return constant_pad_nd(given, {before, frames.n_fft - length - before});
}

// The distance of frames.
std::int64_t hop_of(const char* op, const Frames& frames) {
  const std::int64_t hop = frames.hop_length.value_or(frames.n_fft / 4);
  BP_CHECK(frames.n_fft > 0 && hop > 0, "{}: n_fft is {} and hop_length {}; pass 1 or more", op,
           frames.n_fft, hop);
  return hop;
}

const char* norm_name(const Frames& frames) {
  return frames.normalized ? "ortho" : "backward";
}

// Of a few long frames: rows of blocks, as below, would take their number of blocks squared.
Tensor sum_in_turn(const Tensor& frames, std::int64_t hop) {
  const std::int64_t count = frames.size(1);
  Tensor total;
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor placed = constant_pad_nd(select(frames, 1, i), {hop * i, hop * (count - 1 - i)});
    total = i == 0 ? placed : add(total, placed);
  }
  return total;
}

// Frames, [batch, frames, n], `hop` apart, and the elements of their sum, [batch, n + hop * (frames - 1)]. Each frame is cut
// into blocks of `hop`, a row for each of its blocks: rows that are one block shorter than what they are read from move by a
// block each, so that what is to be added stands in one column.
Tensor overlapping_sum(const Tensor& frames, std::int64_t hop) {
  const std::int64_t batch = frames.size(0), count = frames.size(1), n = frames.size(2);
  const std::int64_t blocks = (n + hop - 1) / hop;
  if (count > 0 && blocks > 8 * count) return sum_in_turn(frames, hop);
  const Tensor whole = constant_pad_nd(frames, {0, blocks * hop - n});
  const Tensor rows = permute(reshape(whole, {batch, count, blocks, hop}), {0, 2, 1, 3});
  const Tensor longer = constant_pad_nd(rows, {0, 0, 0, blocks});
  const std::int64_t width = (count + blocks - 1) * hop;
  const Tensor line = reshape(longer, {batch, blocks * (count + blocks) * hop});
  const Tensor moved = reshape(narrow(line, 1, 0, blocks * width), {batch, blocks, width});
  return narrow(sum(moved, {1}), 1, 0, n + hop * (count - 1));
}

// Which elements of the sum are the signal's.
struct Span {
  std::int64_t first, count;  // that are there
  std::int64_t num_zeros;     // behind them
};

Span span_of(const BackFrames& frames, std::int64_t size) {
  const std::int64_t cut = frames.center ? frames.n_fft / 2 : 0;
  const std::int64_t length = frames.length.value_or(size - 2 * cut);
  BP_CHECK(length > 0, "istft: {} elements are asked for, and the frames reach over {}; {}", length,
           size - 2 * cut, frames.length ? "pass a length of 1 or more" : "pass more frames");
  const std::int64_t count = std::min(length, size - cut);
  return {cut, count, length - count};
}

void check_frames(const Tensor& input, const BackFrames& frames, std::int64_t hop) {
  BP_CHECK(is_complex(input.dtype()), "istft: the input is {}; pass complex numbers",
           name(input.dtype()));
  BP_CHECK(input.ndim() == 2 || input.ndim() == 3,
           "istft: the shape is {}; pass [frequencies, frames], or a batch of them",
           to_string(input.shape()));
  const std::int64_t wanted = frames.onesided ? frames.n_fft / 2 + 1 : frames.n_fft;
  BP_CHECK(input.size(-2) == wanted,
           "istft: {} frequencies and n_fft {} with onesided={}; there must be {}", input.size(-2),
           frames.n_fft, frames.onesided, wanted);
  BP_CHECK(input.size(-1) > 0, "istft: the shape is {}; pass one frame or more",
           to_string(input.shape()));
  const std::int64_t length = frames.win_length.value_or(frames.n_fft);
  BP_CHECK(hop <= length,
           "istft: hop_length is {} and win_length {}; there must be no gaps between frames", hop,
           length);
  BP_CHECK(!frames.return_complex || !frames.onesided,
           "istft: return_complex=true needs frames of both sides; pass onesided=false");
  std::int64_t size = 0;
  BP_CHECK(!__builtin_mul_overflow(hop, input.size(-1), &size) &&
               !__builtin_add_overflow(size, frames.n_fft, &size),
           "istft: {} frames {} apart overflow; pass fewer", input.size(-1), hop);
}

// The frames as real numbers, [batch, frames, n_fft]; of complex ones the parts are in the batch.
Tensor frames_of(const Tensor& spectra, const BackFrames& frames) {
  const Tensor lines = transpose(spectra, 1, 2);
  if (!frames.return_complex) {
    const Transform how{"istft", Turn::back, norm_name(frames)};
    const Tensor half = narrow(lines, 2, 0, frames.n_fft / 2 + 1);
    return transformed_to_real(how, half, frames.n_fft, -1);
  }
  const Transform how{"istft", Turn::back, norm_name(frames)};
  const Tensor parts = view_as_real(transformed(how, lines, std::nullopt, -1));
  return reshape(movedim(parts, {-1}, {1}), {2 * lines.size(0), lines.size(1), frames.n_fft});
}

}  // namespace

Tensor transformed_frames(const Tensor& input, const Tensor& window, const Frames& frames) {
  const std::int64_t n = frames.n_fft;
  BP_CHECK(input.ndim() == 1 || input.ndim() == 2,
           "stft: the shape is {}; pass a signal, or a batch of them", to_string(input.shape()));
  const std::int64_t hop = hop_of("stft", frames);
  BP_CHECK(!frames.onesided || !is_complex(input.dtype()),
           "stft: the input is {}, whose spectra have two sides; pass onesided=false",
           name(input.dtype()));
  const Tensor signal = with_complex_peer(input);
  const Tensor taken = window_of("stft", signal, window, frames);
  const Tensor rows = signal.ndim() == 2 ? signal : unsqueeze(signal, 0);
  const Tensor wide = frames.center ? pad_complex(rows, n / 2, frames.pad_mode) : rows;
  BP_CHECK(wide.size(1) >= n, "stft: {} elements and n_fft {}; pass a longer signal", wide.size(1),
           n);
  const Tensor framed = unfold(wide, 1, n, hop);
  const Tensor windowed = taken.defined() ? mul(framed, taken) : framed;
  const Transform how{"stft", Turn::forward, norm_name(frames)};
  const Tensor spectra = frames.onesided ? transformed_real(how, windowed, std::nullopt, -1)
                                         : transformed(how, windowed, std::nullopt, -1);
  const Tensor result = transpose(spectra, 1, 2);
  const Tensor shown = signal.ndim() == 2 ? result : select(result, 0, 0);
  return frames.return_complex ? shown : view_as_real(shown);
}

Tensor signal_of_frames(const Tensor& input, const Tensor& window, const BackFrames& frames) {
  const std::int64_t n = frames.n_fft, hop = hop_of("istft", frames);
  check_frames(input, frames, hop);
  const Tensor padded = window_of("istft", input, window, frames);
  const Tensor taken =
      padded.defined() ? padded : full({n}, 1, to_real(input.dtype()), input.device());
  const Tensor spectra = input.ndim() == 3 ? input : unsqueeze(input, 0);
  const Tensor added = overlapping_sum(mul(frames_of(spectra, frames), taken), hop);
  const Tensor squares = expand(square(taken), {1, input.size(-1), n});
  const Span span = span_of(frames, added.size(1));
  const Tensor here = narrow(added, 1, span.first, span.count);
  const Tensor weights = narrow(overlapping_sum(squares, hop), 1, span.first, span.count);
  const Tensor signal = constant_pad_nd(div(here, weights), {0, span.num_zeros});
  const Tensor shaped =
      frames.return_complex
          ? complex_of_pairs(contiguous(movedim(
                reshape(signal, {spectra.size(0), 2, span.count + span.num_zeros}), {1}, {-1})))
          : signal;
  return input.ndim() == 3 ? shaped : select(shaped, 0, 0);
}

}  // namespace bp
