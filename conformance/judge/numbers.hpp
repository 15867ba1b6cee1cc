// Floating formats as numbers: units in the last place, ranges, and bytes as float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <backplane/tensor/dtype.hpp>

namespace bp::conform {

// A floating format; of a complex dtype that of its parts.
struct FloatingFormat {
  int digits = 24;           // of the significand, the leading one counted
  int lowest_exponent = 0;   // of normal numbers: the smallest is 2^lowest_exponent
  int highest_exponent = 0;  // the largest numbers are below 2^(highest_exponent + 1)

  double unit_roundoff() const;  // half a unit in the last place of 1
  double smallest_normal() const;
  double smallest() const;         // the smallest above 0
  double overflow() const;         // the power of two behind the largest
  double ulp(double value) const;  // the distance of neighbours where `value` lies
};
FloatingFormat format_of(Dtype dtype);
// The format that a row computes 16-bit numbers in is f32, else the dtype's own.
FloatingFormat compute_format(Dtype dtype);

inline bool has_fractions(Dtype dtype) {
  return !is_integral(dtype) && dtype != boolean;
}
// float64, complex128, or for integers and bools themselves.
Dtype wide_dtype(Dtype dtype);
// Doubles that an element of the dtype becomes: 2 for complex numbers.
inline std::size_t parts_of(Dtype dtype) {
  return is_complex(dtype) ? 2 : 1;
}

// Elements as doubles; integers above 2^53 lose bits. Complex numbers are pairs.
void to_doubles(const void* bytes, std::size_t count, Dtype dtype, double* out);
std::vector<double> to_doubles(const void* bytes, std::size_t count, Dtype dtype);
// The nearest number of the dtype's format, as a double; what is too large becomes infinite.
double rounded_to(double value, Dtype dtype);

}  // namespace bp::conform
