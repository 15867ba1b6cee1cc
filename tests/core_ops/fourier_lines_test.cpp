// needs: cpu reference_primitives
// What transforms are made of: lines anywhere in a tensor, of any length, by kernels and by products.
#include <gtest/gtest.h>
#include <limits>

#include "core_ops/fourier_values.hpp"
#include "core_ops/peer_values.hpp"

namespace bp {
namespace {

using namespace test::fourier;
using test::error_of;

// Some waves, each a number of whole turns, and their transform.
struct Waves {
  Line line, spectrum;

  explicit Waves(std::int64_t n)
      : line(static_cast<std::size_t>(n)), spectrum(static_cast<std::size_t>(n)) {
    for (const std::int64_t turns : {std::int64_t{1}, n / 3, n / 2 + 5}) {
      const Complex height(1.0 + static_cast<double>(turns) / static_cast<double>(n), 0.5);
      for (std::int64_t j = 0; j < n; ++j)
        line[static_cast<std::size_t>(j)] +=
            height * std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(turns * j % n) /
                                         static_cast<double>(n));
      spectrum[static_cast<std::size_t>(turns % n)] += height * static_cast<double>(n);
    }
  }
};

double largest_difference(const Tensor& a, const Tensor& b) {
  return to_vector<double>(max(abs(sub(view_as_real(a), view_as_real(b)))))[0];
}

TEST(FourierLines, long_ones_are_made_of_short_ones) {
  for (const std::int64_t n : {8192, 12000, 10007, 16411, 32768, 131072}) {
    const Waves waves(n);
    EXPECT_LE(distance(fft_c2c(tensor_of(waves.line), 0, 1, true), waves.spectrum), 2e-11) << n;
    Line halved = waves.line;
    for (Complex& number : halved) number = number.real();
    const Tensor numbers = real(tensor_of(halved));
    const Tensor half = fft_r2c(numbers, 0, 1, true);
    const Tensor whole = narrow(fft_c2c(tensor_of(halved), 0, 1, true), 0, 0, n / 2 + 1);
    EXPECT_LE(largest_difference(half, whole), 1e-9) << n;
    const Tensor back = fft_c2r(half, n, 0, 1 / static_cast<double>(n), false);
    EXPECT_LE(distance(back, line_of(numbers)), 1e-13) << n;
  }
}

TEST(FourierLines, many_long_ones_are_made_one_by_one) {
  const Waves waves(131072);
  const Tensor line = tensor_of(waves.line);
  const Tensor lines = expand(reshape(line, {1, 131072}), {9, 131072});
  const Tensor made = fft_c2c(lines, 1, 1, true);
  for (const std::int64_t i : {0, 8})
    EXPECT_LE(distance(contiguous(select(made, 0, i)), waves.spectrum), 2e-11) << i;
}

TEST(FourierLines, lie_along_any_dimension_with_any_strides) {
  const Tensor input = reshape(tensor_of(some_numbers(5 * 12 * 7)), {5, 12, 7});
  for (std::int64_t dim = 0; dim < 3; ++dim) {
    const Tensor moved = contiguous(movedim(input, {dim}, {-1}));
    const Tensor expected = movedim(fft_c2c(moved, 2, 0.5, true), {-1}, {dim});
    EXPECT_LE(largest_difference(fft_c2c(input, dim, 0.5, true), expected), 1e-13) << dim;
    EXPECT_LE(largest_difference(
                  fft_c2c(transpose(transpose(input, 0, 2), 0, 2), dim - 3, 0.5, true), expected),
              1e-13)
        << dim;
    const Tensor skipped = slice(input, 1, 1, 12, 2);
    EXPECT_LE(largest_difference(fft_c2c(skipped, dim, 1, false),
                                 fft_c2c(contiguous(skipped), dim, 1, false)),
              1e-13)
        << dim;
  }
}

TEST(FourierLines, what_is_infinite_or_no_number_stays_in_its_line) {
  const Tensor clean = reshape(tensor_of(some_numbers(20 * 12)), {20, 12});
  const Tensor spoiled = copy(clean);
  copy_into(select(spoiled, 0, 3),
            full({12}, std::numeric_limits<double>::quiet_NaN(), complex128));
  const Tensor made = fft_c2c(spoiled, 1, 1, true), expected = fft_c2c(clean, 1, 1, true);
  const Tensor numbers = fft_r2c(real(spoiled), 1, 1, true),
               wanted = fft_r2c(real(clean), 1, 1, true);
  for (std::int64_t i = 0; i < 20; ++i) {
    if (i == 3) continue;
    EXPECT_EQ(largest_difference(select(made, 0, i), select(expected, 0, i)), 0) << i;
    EXPECT_EQ(largest_difference(select(numbers, 0, i), select(wanted, 0, i)), 0) << i;
  }
}

TEST(FourierLines, imaginary_parts_without_a_conjugate_count_as_zero) {
  for (const std::int64_t n : {1, 2, 7, 8}) {
    const Tensor half = tensor_of(some_numbers(n / 2 + 1));
    Line settled = line_of(half);
    settled.front() = settled.front().real();
    if (n % 2 == 0) settled.back() = settled.back().real();
    for (const bool forward : {false, true})
      EXPECT_LE(distance(fft_c2r(half, n, 0, 1, forward),
                         line_of(fft_c2r(tensor_of(settled), n, 0, 1, forward))),
                1e-15)
          << n;
  }
}

TEST(FourierLines, are_products_where_there_is_no_kernel) {
  const Device primitives = device("reference_primitives:0");
  for (const std::int64_t n : {1, 2, 6, 64, 67, 96, 130}) {
    const Line line = some_numbers(n);
    const Tensor input = tensor_of(line), there = to_device(input, primitives);
    EXPECT_LE(distance(to_device(fft_c2c(there, 0, 1, true), host_device()), summed(line, -1)),
              4e-14)
        << n;
    EXPECT_LE(distance(to_device(fft_c2c(there, 0, 1, false), host_device()), summed(line, 1)),
              4e-14)
        << n;
    const Tensor half = fft_r2c(real(there), 0, 1, true);
    EXPECT_LE(distance(to_device(half, host_device()), line_of(fft_r2c(real(input), 0, 1, true))),
              4e-14)
        << n;
    const Tensor back = fft_c2r(half, n, 0, 1 / static_cast<double>(n), false);
    EXPECT_LE(distance(to_device(back, host_device()), line_of(contiguous(real(input)))), 4e-14)
        << n;
  }
}

TEST(FourierLines, wrong_calls_say_what_to_do) {
  EXPECT_EQ(error_of([] { fft_c2r(ones({4}, complex64), 4, 0, 1, false); }),
            "fft_c2r: n is 4 and the shape [4]; 4 results are made of 3 elements");
  EXPECT_EQ(error_of([] { fft_c2r(ones({4}, complex64), -4, 0, 1, false); }),
            "fft_c2r: -4 elements of a shape of [4]; a transform has 1 or more");
  EXPECT_EQ(error_of([] { fft_r2c(ones({}), 0, 1, false); }),
            "fft_r2c: a 0-dim tensor has no dimension; reshape it");
  EXPECT_NE(error_of([] { fft_c2c(ones({4}), 0, 1, false); }), "");
  EXPECT_NE(error_of([] { fft_c2c(ones({4}, complex64), 1, 1, false); }), "");
}

}  // namespace
}  // namespace bp
