#include "kinds/numbers.hpp"

#include <bit>
#include <fmt/format.h>
#include <limits>

namespace bp::codegen {
namespace {

std::int64_t bits_of(float value) {
  return static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(value));
}

// A number that fits no i64 becomes the lowest, as processors have it.
std::int64_t integer_of(double real, Dtype dtype) {
  if (dtype == Dtype::u64 && real >= 0x1p63 && real < 0x1p64)
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(real));
  const bool fits = real >= -0x1p63 && real < 0x1p63;
  return fits ? static_cast<std::int64_t>(real) : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

Field number_field(std::string name, Dtype dtype) {
  const bool is_double = dtype == Dtype::f64 || dtype == Dtype::complex128;
  return {std::move(name), is_double, is_complex(dtype) ? 2 : 0};
}

void add_number(Values& values, const bp_value& value, Dtype dtype) {
  const auto* parts = value.tag == BP_COMPLEX ? static_cast<const double*>(value.u.ptr) : nullptr;
  const bool is_real = value.tag == BP_DOUBLE || parts;
  const double real = parts ? parts[0] : is_real ? value.u.f : static_cast<double>(value.u.i);
  const double imaginary = parts ? parts[1] : 0;
  const std::string_view type = compute_type(dtype);
  if (type == "f64" || type == "c128") {
    values.add(real);
    if (type == "c128") values.add(imaginary);
  } else if (type == "c64") {
    values.add(bits_of(static_cast<float>(real))).add(bits_of(static_cast<float>(imaginary)));
  } else if (type == "f32") {
    // Straight from the integer: through a double it would be rounded twice.
    values.add(bits_of(is_real ? static_cast<float>(real) : static_cast<float>(value.u.i)));
  } else if (dtype == Dtype::boolean) {
    values.add(std::int64_t{is_real ? real != 0 : value.u.i != 0});
  } else {
    values.add(is_real ? integer_of(real, dtype) : value.u.i);
  }
}

std::string number_text(const std::string& member, Dtype dtype) {
  const std::string_view type = compute_type(dtype);
  if (type == "f64") return member;
  if (type == "f32") return fmt::format("f32_of_bits((u32){})", member);
  if (type == "c128") return fmt::format("make_c128({0}[0], {0}[1])", member);
  if (type == "c64")
    return fmt::format("make_c64(f32_of_bits((u32){0}[0]), f32_of_bits((u32){0}[1]))", member);
  return fmt::format("({}){}", type, member);
}

bool is_one(const bp_value& value) {
  if (value.tag == BP_DOUBLE) return value.u.f == 1.0;
  return value.tag != BP_COMPLEX && value.u.i == 1;
}

}  // namespace bp::codegen
