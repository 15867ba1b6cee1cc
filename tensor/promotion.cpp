// Promotion by rule rather than by table: tests/text/promotion.txt is the table, from PyTorch. What it has no answer for among
// integers and bools, since it came late to u16, u32 and u64, is the array API's and NumPy's.
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/promotion.hpp>

namespace bp {
namespace {

constexpr DtypeSet wide_unsigned = set_of(u16, u32, u64);

[[noreturn]] void refuse(Dtype a, Dtype b) {
  throw_error(
      ErrorClass::bad_argument,
      fmt::format("promotion: {} and {} have no common type; cast one of them", name(a), name(b)));
}

Dtype promote_complex(Dtype a, Dtype b) {
  const bool is_double = a == complex128 || b == complex128 || a == f64 || b == f64;
  return is_double ? complex128 : complex64;
}

Dtype promote_floating(Dtype a, Dtype b) {
  if (!is_floating(a)) return b;
  if (!is_floating(b)) return a;
  // f16 and bf16 hold different numbers: both fit f32.
  if (itemsize(a) == itemsize(b)) return f32;
  return itemsize(a) > itemsize(b) ? a : b;
}

bool is_unsigned(Dtype dtype) {
  return dtype == u8 || contains(wide_unsigned, dtype);
}

Dtype promote_integral(Dtype a, Dtype b) {
  if (a == boolean) return b;
  if (b == boolean) return a;
  if (is_unsigned(a) == is_unsigned(b)) return itemsize(a) > itemsize(b) ? a : b;
  const Dtype whole = is_unsigned(a) ? a : b, with_sign = is_unsigned(a) ? b : a;
  if (itemsize(with_sign) > itemsize(whole)) return with_sign;
  if (whole == u64) refuse(a, b);  // nothing holds both
  return whole == u8 ? i16 : whole == u16 ? i32 : i64;
}

using Optional = std::optional<Dtype>;

Optional promote_present(Optional a, Optional b) {
  if (a && b) return promote(*a, *b);
  return a ? a : b;
}

// Bool 0, integer 1, floating 2, complex 3.
int category(Dtype dtype) {
  if (is_complex(dtype)) return 3;
  if (is_floating(dtype) || is_storage_only(dtype)) return 2;
  return dtype == boolean ? 0 : 1;
}

// The lower priority matters only where its category is higher.
Optional combine(Optional higher, Optional lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (category(*higher) >= category(*lower)) return higher;
  if (category(*higher) == 2) return to_complex(*higher);
  if (*higher == boolean || is_storage_only(*lower)) return promote(*higher, *lower);
  return lower;
}

}  // namespace

Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if (is_storage_only(a) || is_storage_only(b)) refuse(a, b);
  const bool is_late = contains(wide_unsigned, a) || contains(wide_unsigned, b);
  if (is_late && (is_complex(a) || is_complex(b))) refuse(a, b);
  if (is_complex(a) || is_complex(b)) return promote_complex(a, b);
  if (is_floating(a) || is_floating(b)) return promote_floating(a, b);
  return promote_integral(a, b);
}

bool can_cast(Dtype from, Dtype to) {
  return category(from) <= category(to);
}

Dtype to_complex(Dtype floating) {
  BP_CHECK(!is_storage_only(floating),
           "promotion: {} has no complex type; cast it to float32 first", name(floating));
  return floating == f64 ? complex128 : complex64;
}

Dtype to_real(Dtype dtype) {
  return dtype == complex64 ? f32 : dtype == complex128 ? f64 : dtype;
}

void ResultType::add(Dtype dtype, bool is_zero_dim) {
  Optional& place = is_zero_dim ? zero_dim_ : dims_;
  place = promote_present(place, dtype);
}

void ResultType::add(const Scalar& number) {
  const Dtype dtype = number.is_bool()       ? boolean
                      : number.is_integral() ? i64
                      : number.is_floating() ? default_
                                             : to_complex(default_);
  number_ = promote_present(number_, dtype);
}

Dtype ResultType::result() const {
  const Optional combined = combine(dims_, combine(zero_dim_, number_));
  BP_CHECK(combined, "promotion: there is nothing to promote; pass a tensor or a number");
  return *combined;
}

}  // namespace bp
