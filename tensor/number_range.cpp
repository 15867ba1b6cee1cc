#include <cmath>
#include <limits>
#include <string>

#include <backplane/tensor/check.hpp>
#include <backplane/tensor/number_range.hpp>

namespace bp {
namespace {

double largest(Dtype dtype) {
  switch (dtype) {
    case f16: return 65504;
    case bf16: return 0x1.fep127;
    case f32:
    case complex64: return std::numeric_limits<float>::max();
    case f8_e4m3fn: return 448;
    case f8_e5m2: return 57344;
    default: return std::numeric_limits<double>::max();
  }
}

bool is_signed(Dtype dtype) {
  return contains(set_of(i8, i16, i32, i64), dtype);
}

// Inclusive, as numbers that are exact: 2^64 - 1 is not a double.
Scalar least_of(Dtype dtype) {
  return detail::whole_numbers[index(dtype)].least;
}
Scalar most_of(Dtype dtype) {
  if (dtype == u64) return UINT64_MAX;
  const detail::WholeNumbers& all = detail::whole_numbers[index(dtype)];
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(all.least) + all.span);
}

bool integer_holds(Dtype dtype, const Scalar& number) {
  if (number.is_bool()) return true;
  if (number.is_integral())
    return dtype == u64 ? number.is_above_int() || number.to_int() >= 0
                        : holds_plain_integer(index(dtype), number.value());
  const double whole = std::trunc(number.to_double());
  // The end is a power of two, and so exact.
  const double end =
      std::ldexp(1.0, static_cast<int>(8 * itemsize(dtype)) - (is_signed(dtype) ? 1 : 0));
  return whole >= (is_signed(dtype) ? -end : 0) && whole < end;
}

bool floating_holds(Dtype dtype, double number) {
  return !std::isfinite(number) || std::abs(number) <= largest(dtype);
}

std::string text_of(const Scalar& number) {
  if (number.is_complex())
    return fmt::format("{} + {}i", number.to_complex().real(), number.to_complex().imag());
  if (number.is_above_int()) return fmt::format("{}", static_cast<std::uint64_t>(number.to_int()));
  return number.is_floating() ? fmt::format("{}", number.to_double())
                              : fmt::format("{}", number.to_int());
}

std::string range_of(Dtype dtype) {
  if (is_integral(dtype))
    return fmt::format("from {} to {}", text_of(least_of(dtype)), text_of(most_of(dtype)));
  return fmt::format("up to {}", largest(dtype));
}

}  // namespace

bool holds(Dtype dtype, const Scalar& number) {
  if (dtype == boolean) return true;
  const std::complex<double> value = number.to_complex();
  if (is_complex(dtype))
    return floating_holds(dtype, value.real()) && floating_holds(dtype, value.imag());
  if (number.is_complex() && value.imag() != 0) return false;
  return is_integral(dtype) ? integer_holds(dtype, number) : floating_holds(dtype, value.real());
}

void check_holds(const char* op, const char* what, Dtype dtype, const Scalar& number) {
  if (holds(dtype, number)) [[likely]]
    return;
  throw_error(ErrorClass::bad_argument,
              fmt::format("{}: {} is {}, which {} does not hold ({}); pass another number, or take "
                          "another dtype",
                          op, what, text_of(number), name(dtype), range_of(dtype)));
}

void check_element(const char* op, const char* what, Dtype dtype, const Scalar& number) {
  const bool is_negative = number.is_integral() && number.to_double() < 0;
  if (is_integral(dtype) && !is_signed(dtype) && is_negative &&
      number.to_double() >= -most_of(dtype).to_double())
    return;
  check_holds(op, what, dtype, number);
}

Scalar nearest_held(Dtype dtype, const Scalar& number) {
  if (holds(dtype, number)) return number;
  return number.to_double() < 0 ? least_of(dtype) : most_of(dtype);
}

Scalar wrapped(Dtype dtype, const Scalar& number) {
  if (holds(dtype, number)) return number;
  const std::uint32_t unused = 64 - 8 * itemsize(dtype);
  const std::uint64_t bits = static_cast<std::uint64_t>(number.to_int()) << unused;
  if (is_signed(dtype)) return static_cast<std::int64_t>(bits) >> unused;
  return bits >> unused;
}

}  // namespace bp
