// A number of any category, as an argument of an operator.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <iosfwd>

#include <backplane/abi.h>
#include <backplane/tensor/dtype.hpp>

namespace bp {

// Keeps the category it was made from, since promotion asks for it: bool < integer < real <
// complex.
class Scalar {
 public:
  constexpr Scalar() : Scalar(std::int64_t{0}) {}
  constexpr Scalar(std::same_as<bool> auto value) : tag_(BP_BOOLEAN) { parts_.i = value; }
  template <std::integral T>
  requires(!std::same_as<T, bool>) constexpr Scalar(T value) : tag_(BP_INT) {
    parts_.i = static_cast<std::int64_t>(value);
    if constexpr (std::unsigned_integral<T>) above_int_ = parts_.i < 0;
  }
  template <std::floating_point T> constexpr Scalar(T value) : tag_(BP_DOUBLE) {
    parts_.f[0] = static_cast<double>(value);
    parts_.f[1] = 0;
  }
  constexpr Scalar(std::complex<double> value) : tag_(BP_COMPLEX) {
    parts_.f[0] = value.real();
    parts_.f[1] = value.imag();
  }

  constexpr bool is_bool() const { return tag_ == BP_BOOLEAN; }
  constexpr bool is_integral() const { return tag_ == BP_INT; }
  constexpr bool is_floating() const { return tag_ == BP_DOUBLE; }
  constexpr bool is_complex() const { return tag_ == BP_COMPLEX; }
  // A whole number from 2^63 on, of which to_int() has the bits.
  constexpr bool is_above_int() const { return above_int_ != 0; }

  constexpr double to_double() const {
    if (is_above_int()) return static_cast<double>(static_cast<std::uint64_t>(parts_.i));
    return is_floating() || is_complex() ? parts_.f[0] : static_cast<double>(parts_.i);
  }
  // Truncates toward zero; real values outside of the range give the nearest end, NaN gives 0.
  BP_API std::int64_t to_int() const;
  constexpr bool to_bool() const {
    return is_floating()  ? parts_.f[0] != 0
           : is_complex() ? parts_.f[0] != 0 || parts_.f[1] != 0
                          : parts_.i != 0;
  }
  constexpr std::complex<double> to_complex() const {
    return {to_double(), is_complex() ? parts_.f[1] : 0.0};
  }

  // As an argument of a call. A complex one points into this object.
  constexpr bp_value value() const {
    bp_value v{};
    v.tag = tag_;
    v.aux = above_int_;
    if (tag_ == BP_COMPLEX)
      v.u.ptr = parts_.f;
    else if (tag_ == BP_DOUBLE)
      v.u.f = parts_.f[0];
    else
      v.u.i = parts_.i;
    return v;
  }
  static BP_API Scalar from_value(const bp_value& value);

 private:
  std::uint32_t tag_;
  std::uint32_t above_int_ = 0;  // 1: yes; beside the tag, as in a bp_value
  union Parts {
    std::int64_t i;
    double f[2];
    constexpr Parts() : f{0, 0} {}
  } parts_;
};

// "3", "0.5", "true", "(1,2)".
BP_API std::ostream& operator<<(std::ostream& stream, const Scalar& scalar);

}  // namespace bp
