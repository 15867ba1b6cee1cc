// needs: cpu
// Fourier transforms against sums of all terms, each angle of which is reduced exactly.
#include <gtest/gtest.h>

#include <backplane/core_ops/forms.hpp>

#include "core_ops/fourier_values.hpp"
#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using namespace test::fourier;
using test::error_of;

std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 1; n <= 40; ++n) all.push_back(n);
  for (const std::int64_t n : {64, 67, 97, 100, 128, 134, 210, 257, 360, 1000, 1009})
    all.push_back(n);
  return all;
}

Line divided(Line line, double divisor) {
  for (Complex& number : line) number /= divisor;
  return line;
}

TEST(Fourier, transforms_of_any_length_are_the_sums_of_all_terms) {
  for (const std::int64_t n : lengths()) {
    const Line line = some_numbers(n);
    const Line forward = summed(line, -1), back = summed(line, 1);
    for (const auto& [dtype, allowed] : {std::pair{f64, 1e-14}, {f32, 3e-6}}) {
      const double most = dtype == f64 && n > 64 ? 4 * allowed : allowed;
      const Tensor input = tensor_of(line, dtype);
      EXPECT_LE(distance(fft_fft(input), forward), most) << n << " " << name(dtype);
      EXPECT_LE(distance(fft_ifft(input, std::nullopt, -1, "forward"), back), most)
          << n << " " << name(dtype);
    }
  }
}

TEST(Fourier, real_numbers_give_the_first_half_of_their_spectrum_and_come_back) {
  for (const std::int64_t n : lengths()) {
    Line line = some_numbers(n, 0.7);
    for (Complex& number : line) number = number.real();
    const Tensor input = real(tensor_of(line));
    Line half = summed(line, -1), other = divided(summed(line, 1), static_cast<double>(n));
    half.resize(static_cast<std::size_t>(n / 2 + 1));
    other.resize(static_cast<std::size_t>(n / 2 + 1));
    const Tensor spectrum = fft_rfft(input), signal = fft_ihfft(input);
    EXPECT_LE(distance(spectrum, half), 1e-13) << n;
    EXPECT_LE(distance(signal, other), 1e-13) << n;
    EXPECT_LE(distance(fft_irfft(spectrum, n), line), 1e-13) << n;
    EXPECT_LE(distance(fft_hfft(signal, n), line), 1e-13) << n;
  }
}

TEST(Fourier, norms_share_the_factor_out) {
  const Line line = some_numbers(12);
  const Tensor input = tensor_of(line);
  const Line sums = summed(line, -1), back = summed(line, 1);
  EXPECT_LE(distance(fft_fft(input, {}, -1, "ortho"), divided(sums, std::sqrt(12))), 1e-14);
  EXPECT_LE(distance(fft_fft(input, {}, -1, "forward"), divided(sums, 12)), 1e-14);
  EXPECT_LE(distance(fft_ifft(input), divided(back, 12)), 1e-14);
  EXPECT_LE(distance(fft_ifft(input, {}, -1, "ortho"), divided(back, std::sqrt(12))), 1e-14);
  EXPECT_EQ(error_of([&] { fft_fft(input, {}, -1, "none"); }),
            "fft_fft: norm is 'none'; pass 'backward', 'ortho' or 'forward'");
}

TEST(Fourier, lengths_are_cut_and_filled_up_with_zeros) {
  const Line line = some_numbers(10);
  Line longer = line, shorter(line.begin(), line.begin() + 7);
  longer.resize(17);
  EXPECT_LE(distance(fft_fft(tensor_of(line), 17), summed(longer, -1)), 1e-14);
  EXPECT_LE(distance(fft_fft(tensor_of(line), 7), summed(shorter, -1)), 1e-14);
}

TEST(Fourier, several_dimensions_are_transformed_one_after_the_other) {
  const Tensor input = reshape(tensor_of(some_numbers(4 * 6 * 5)), {4, 6, 5});
  const Tensor expected = fft_fft(fft_fft(input, {}, 0), {}, 2);
  EXPECT_LE(distance(fft_fftn(input, {}, {0, 2}), line_of(expected)), 1e-14);
  EXPECT_LE(distance(fft_ifftn(fft_fftn(input)), line_of(input)), 1e-14);
  EXPECT_LE(distance(fft_ifft2(fft_fft2(input)), line_of(input)), 1e-14);
  const Tensor numbers = real(input);
  EXPECT_LE(distance(fft_irfftn(fft_rfftn(numbers), {4, 6, 5}), line_of(numbers)), 1e-14);
  EXPECT_LE(distance(fft_irfft2(fft_rfft2(numbers), {6, 5}), line_of(numbers)), 1e-14);
  EXPECT_EQ(fft_rfftn(numbers, {3, 4}).shape(), (Dims{4, 3, 3}));
  EXPECT_EQ(error_of([&] {
              fft_fftn(input, {}, {0, -3});
            }),
            "fft_fftn: dimension 0 is listed twice; list each once");
}

TEST(Fourier, half_precision_and_integers_are_transformed_in_float32) {
  EXPECT_EQ(fft_fft(ones({4}, f16)).dtype(), complex64);
  EXPECT_EQ(fft_rfft(arange(0, 4, 1, i64)).dtype(), complex64);
  EXPECT_EQ(fft_irfft(ones({4}, bf16)).dtype(), f32);
}

TEST(Fourier, wrong_calls_say_what_to_do) {
  EXPECT_EQ(error_of([] { fft_rfft(ones({4}, complex64)); }),
            "fft_rfft: the input is complex64; pass real numbers");
  EXPECT_EQ(error_of([] { fft_fft(ones({4}), 0); }),
            "fft_fft: 0 elements of a shape of [4]; a transform has 1 or more");
  EXPECT_EQ(error_of([] { fft_fft(ones({})); }),
            "fft_fft: a 0-dim tensor has no dimension; reshape it");
}

TEST(Fourier, energy_and_its_derivatives_are_kept) {
  for (const std::int64_t n : {12, 67, 130}) {
    const Tensor x = set_requires_grad(copy(real(tensor_of(some_numbers(n)))));
    const Tensor energy = sum(square(view_as_real(fft_fft(x, {}, -1, "ortho"))));
    const Tensor gradient = autograd::grad({energy}, {x}, {}, {.create_graph = true})[0];
    EXPECT_LE(distance(gradient, line_of(mul(x, 2))), 1e-13) << n;
    const Tensor again = autograd::grad({sum(square(gradient))}, {x})[0];
    EXPECT_LE(distance(again, line_of(mul(x, 8))), 1e-13) << n;
  }
}

TEST(Fourier, frames_are_transformed_one_by_one) {
  const Tensor signal = real(tensor_of(some_numbers(40)));
  const Tensor window = hann_window(8, true, f64);
  const Tensor spectra = stft(signal, 8, 4, 8, window, false);
  ASSERT_EQ(spectra.shape(), (Dims{5, 9}));
  for (std::int64_t frame = 0; frame < 9; ++frame) {
    const Tensor cut = mul(narrow(signal, 0, 4 * frame, 8), window);
    EXPECT_LE(distance(contiguous(select(spectra, 1, frame)), line_of(fft_rfft(cut))), 1e-13);
  }
  EXPECT_EQ(stft(signal, 8).shape(), (Dims{5, 21}));
  EXPECT_EQ(stft(signal, 8, 4, {}, {}, true, "reflect", false, true, false).shape(),
            (Dims{5, 11, 2}));
}

}  // namespace
}  // namespace bp
