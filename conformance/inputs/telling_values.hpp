// Values that are chosen rather than drawn: each kind shows a mistake that ordinary numbers leave to luck.
#pragma once

#include <cstdint>

#include "inputs/values.hpp"

namespace bp::conform {

// What bounds a floating type: its largest exponent, smallest normal exponent, and digits after the point.
struct FloatRange {
  int largest, smallest, digits;
};
FloatRange range_of(Dtype dtype);

// The largest number of an integer's dtype.
std::int64_t largest_of(Dtype dtype);

// In [0, 1), with 53 bits.
constexpr double fraction(std::uint64_t word) {
  return static_cast<double>(word >> 11) * 0x1p-53;
}

// "late": sizes rise with the place and signs are drawn, so that the largest and the smallest of a line come last. Of
// bools four lines are taken apart: one true at the end, one false at the end, all false, all true.
double late_real(const Filling& filling, std::int64_t element, std::uint64_t word);
std::int64_t late_whole(const Filling& filling, std::int64_t element, std::uint64_t word);

// "nans": NaN of either sign, or a small whole number.
double nan_or_real(std::uint64_t word);

// "edges": next to halves, to 1, and to where no fraction fits any more, of both signs.
double edge_real(const FloatRange& range, std::int64_t element);

// "swings": two next to the largest number, and two next to its negative, and so on.
double swinging_real(const FloatRange& range, std::int64_t element);

// "sparse": mostly 0; else what is lost where only low bits are looked at, or denormal numbers are taken for 0.
double sparse_real(const FloatRange& range, std::uint64_t word);
std::int64_t sparse_whole(Dtype dtype, std::uint64_t word);

// "quotients": a divisor, and what is a multiple of it but for a rounding; a quotient that is rounded and then cut off
// is one too large. `word`: of both.
double divisor(const FloatRange& range, std::uint64_t word);
double dividend(const FloatRange& range, std::uint64_t word);

// "fading": what exp, or exp2, makes a denormal number or barely 0.
double fading_real(const FloatRange& range, std::uint64_t word);

// "midpoints": half way between two neighbours of another dtype with fewer digits, or one step of its own beside it,
// which a rounding on the way through a third dtype would move to the middle.
double midpoint_real(const FloatRange& range, std::uint64_t word);
std::int64_t midpoint_whole(Dtype dtype, std::uint64_t word);

// "powers": the first tensor's bases are next to 1, or small and whole; the second one's exponents are as large as the
// result's range allows for the base beside them. `word`: of the base, for both.
double power_base(const FloatRange& range, std::uint64_t word);
double power_exponent(const FloatRange& range, std::uint64_t word);

}  // namespace bp::conform
