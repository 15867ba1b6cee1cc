// Lines of complex numbers, and their transforms as sums of all terms.
#pragma once

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include <backplane/tensors.hpp>

namespace bp::test::fourier {

using Complex = std::complex<double>;
using Line = std::vector<Complex>;

inline Line some_numbers(std::int64_t n, double phase = 0.3) {
  Line line;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(i) + phase;
    line.emplace_back(std::sin(1.7 * x * x) + 0.2, std::cos(2.3 * x * x) - 0.1);
  }
  return line;
}

inline Tensor tensor_of(const Line& line, Dtype dtype = f64) {
  std::vector<double> parts;
  for (const Complex& number : line) {
    parts.push_back(number.real());
    parts.push_back(number.imag());
  }
  const Tensor pairs = tensor(parts, {static_cast<std::int64_t>(line.size()), 2});
  return view_as_complex(to(pairs, dtype));
}

inline Line line_of(const Tensor& input) {
  const Tensor complex = is_complex(input.dtype()) ? input : to(input, complex128);
  const std::vector<double> parts = to_vector<double>(to(contiguous(view_as_real(complex)), f64));
  Line line;
  for (std::size_t i = 0; i < parts.size(); i += 2) line.emplace_back(parts[i], parts[i + 1]);
  return line;
}

// The sums of line[j] * exp(sign * 2 pi i j k / n).
inline Line summed(const Line& line, int sign) {
  const std::size_t n = line.size();
  Line roots, sums;
  for (std::size_t k = 0; k < n; ++k)
    roots.push_back(std::polar(
        1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  for (std::size_t k = 0; k < n; ++k) {
    std::complex<long double> sum = 0;
    for (std::size_t j = 0; j < n; ++j)
      sum += std::complex<long double>(line[j]) * std::complex<long double>(roots[j * k % n]);
    sums.emplace_back(static_cast<double>(sum.real()), static_cast<double>(sum.imag()));
  }
  return sums;
}

// The largest difference, measured in the root of the mean square of what is expected.
inline double distance(const Tensor& actual, const Line& expected) {
  const Line line = line_of(actual);
  if (line.size() != expected.size()) return HUGE_VAL;
  double square = 0, largest = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    square += std::norm(expected[i]);
    largest = std::max(largest, std::abs(line[i] - expected[i]));
  }
  return largest / std::sqrt(square / static_cast<double>(line.size()));
}

}  // namespace bp::test::fourier
