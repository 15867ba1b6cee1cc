// Conversions of numbers that need a decision.
#include <limits>
#include <ostream>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/scalar.hpp>

namespace bp {

std::int64_t Scalar::to_int() const {
  if (is_bool() || is_integral()) return parts_.i;
  const double value = parts_.f[0];
  // 2^63 is a double, the largest int64_t is not: compare with the former.
  constexpr double end = 9223372036854775808.0;
  if (value != value) return 0;
  if (value >= end) return std::numeric_limits<std::int64_t>::max();
  if (value < -end) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

Scalar Scalar::from_value(const bp_value& value) {
  switch (value.tag) {
    case BP_BOOLEAN: return Scalar(value.u.i != 0);
    case BP_INT:
      return value.aux ? Scalar(static_cast<std::uint64_t>(value.u.i)) : Scalar(value.u.i);
    case BP_DOUBLE: return Scalar(value.u.f);
    case BP_COMPLEX: {
      const auto* parts = static_cast<const double*>(value.u.ptr);
      return Scalar(std::complex<double>(parts[0], parts[1]));
    }
    default:
      throw_error(
          ErrorClass::bad_argument,
          fmt::format(
              "scalar: a value of tag {} is not a number; pass a bool, an integer, a real or "
              "a complex number",
              value.tag));
  }
}

std::ostream& operator<<(std::ostream& stream, const Scalar& scalar) {
  if (scalar.is_bool()) return stream << (scalar.to_bool() ? "true" : "false");
  if (scalar.is_complex()) return stream << scalar.to_complex();
  if (scalar.is_floating()) return stream << scalar.to_double();
  if (scalar.is_above_int()) return stream << static_cast<std::uint64_t>(scalar.to_int());
  return stream << scalar.to_int();
}

}  // namespace bp
