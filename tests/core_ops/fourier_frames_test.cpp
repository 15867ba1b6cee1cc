// needs: cpu
// istft, which undoes stft.
#include <gtest/gtest.h>

#include <backplane/core_ops/forms.hpp>

#include "core_ops/fourier_values.hpp"
#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using namespace test::fourier;
using test::error_of;

Tensor some_signal(std::int64_t n) {
  return contiguous(real(tensor_of(some_numbers(n))));
}

TEST(FourierFrames, a_signal_comes_back_from_its_frames) {
  const Tensor signal = some_signal(48);
  for (const std::int64_t n : {7, 8, 12}) {
    for (const std::int64_t hop : {std::int64_t{1}, n / 4, n / 2}) {
      for (const bool normalized : {false, true}) {
        for (const bool onesided : {false, true}) {
          const Tensor window = hann_window(n, true, f64);
          const Tensor spectra =
              stft(signal, n, hop, n, window, true, "reflect", normalized, onesided);
          const Tensor back = istft(spectra, n, hop, n, window, true, normalized, onesided, 48);
          EXPECT_LE(distance(narrow(back, 0, 0, 48 - n),
                             line_of(contiguous(narrow(signal, 0, 0, 48 - n)))),
                    1e-13)
              << n << " " << hop << " " << normalized << onesided;
        }
      }
    }
  }
}

TEST(FourierFrames, frames_without_padding_reach_over_the_whole_signal) {
  const Tensor signal = some_signal(40);
  const Tensor spectra = stft(signal, 8, 4, {}, {}, false);
  const Tensor back = istft(spectra, 8, 4, {}, {}, false);
  ASSERT_EQ(back.shape(), (Dims{40}));
  EXPECT_LE(distance(back, line_of(signal)), 1e-14);
}

TEST(FourierFrames, a_short_window_lies_in_the_middle) {
  const Tensor signal = some_signal(40);
  const Tensor window = hann_window(5, true, f64);
  const Tensor spectra = stft(signal, 8, 2, 5, window);
  const Tensor back = istft(spectra, 8, 2, 5, window);
  ASSERT_EQ(back.shape(), (Dims{40}));
  EXPECT_LE(distance(back, line_of(signal)), 1e-14);
}

TEST(FourierFrames, complex_signals_come_back_from_both_sides) {
  const Tensor signal = reshape(tensor_of(some_numbers(64)), {2, 32});
  const Tensor window = hann_window(8, true, f64);
  const Tensor spectra = stft(signal, 8, 2, 8, window, true, "reflect", false, false);
  const Tensor back = istft(spectra, 8, 2, 8, window, true, false, false, std::nullopt, true);
  ASSERT_EQ(back.shape(), (Dims{2, 32}));
  EXPECT_EQ(back.dtype(), complex128);
  EXPECT_LE(distance(back, line_of(signal)), 1e-14);
}

TEST(FourierFrames, lengths_are_cut_and_filled_up_with_zeros) {
  const Tensor spectra = stft(some_signal(32), 8, 4);
  EXPECT_EQ(istft(spectra, 8, 4).shape(), (Dims{32}));
  EXPECT_EQ(istft(spectra, 8, 4, {}, {}, true, false, true, 10).shape(), (Dims{10}));
  const Tensor longer = istft(spectra, 8, 4, {}, {}, true, false, true, 50);
  ASSERT_EQ(longer.shape(), (Dims{50}));
  EXPECT_EQ(to_vector<double>(sum(abs(narrow(longer, 0, 36, 14))))[0], 0);
}

TEST(FourierFrames, frames_that_overlap_often_are_added) {
  const Tensor signal = some_signal(90);
  const Tensor back = istft(stft(signal, 32, 1), 32, 1);
  EXPECT_LE(distance(back, line_of(contiguous(narrow(signal, 0, 0, back.size(0))))), 1e-13);
}

// Two frames of 600 blocks each: they are added one after another, and one of 65,536 blocks has room as well.
TEST(FourierFrames, a_few_long_frames_are_added) {
  const Tensor signal = some_signal(601);
  EXPECT_LE(
      distance(istft(stft(signal, 600, 1, {}, {}, false), 600, 1, {}, {}, false), line_of(signal)),
      1e-12);
  const Tensor spectrum = ones({32769, 1}, complex64);
  EXPECT_EQ(istft(spectrum, 65536, 1, {}, {}, false).shape(), (Dims{65536}));
}

TEST(FourierFrames, wrong_calls_say_what_to_do) {
  const Tensor spectra = ones({5, 4}, complex64);
  EXPECT_EQ(error_of([&] {
              istft(ones({5, 4}), 8);
            }),
            "istft: the input is float32; pass complex numbers");
  EXPECT_EQ(error_of([&] { istft(spectra, 10); }),
            "istft: 5 frequencies and n_fft 10 with onesided=true; there must be 6");
  EXPECT_EQ(error_of([&] { istft(spectra, 8, 9); }),
            "istft: hop_length is 9 and win_length 8; there must be no gaps between frames");
  EXPECT_EQ(error_of([&] { istft(ones({5}, complex64), 8); }),
            "istft: the shape is [5]; pass [frequencies, frames], or a batch of them");
  EXPECT_EQ(error_of([&] { istft(spectra, 8, {}, {}, ones({3})); }),
            "istft: the window has shape [3]; pass a vector of 8 numbers");
  EXPECT_EQ(error_of([&] { istft(spectra, 8, {}, {}, {}, true, false, true, {}, true); }),
            "istft: return_complex=true needs frames of both sides; pass onesided=false");
  EXPECT_EQ(
      error_of([&] { istft(spectra, 8, {}, {}, {}, true, false, true, 0); }),
      "istft: 0 elements are asked for, and the frames reach over 6; pass a length of 1 or more");
}

}  // namespace
}  // namespace bp
