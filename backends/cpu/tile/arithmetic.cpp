// Arithmetic, comparisons and choices in every real type: plain loops, which the compiler turns into
// vector code for each instruction set. Compile with -O3.
#include "../constants.hpp"
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/arithmetic.cpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <limits>
#include <type_traits>

#include "tile/fused.hpp"
#include "tile/primitives.hpp"
#include "tile/small_integers-inl.hpp"

HWY_BEFORE_NAMESPACE();
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#  pragma GCC target("prefer-vector-width=512")  // the compiler's own choice is half of it
#endif
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Integers wrap: computed in unsigned, and not in int, which small ones would be promoted to.
template <class T> auto wide(T value) {
  if constexpr (std::is_integral_v<T>) {
    return 0u + static_cast<std::make_unsigned_t<T>>(value);
  } else {
    return value;
  }
}

struct Add {
  template <class T> static T apply(T a, T b) { return static_cast<T>(wide(a) + wide(b)); }
};
struct Sub {
  template <class T> static T apply(T a, T b) { return static_cast<T>(wide(a) - wide(b)); }
};
struct Mul {
  template <class T> static T apply(T a, T b) { return static_cast<T>(wide(a) * wide(b)); }
};
struct Div {
  template <class T> static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return static_cast<T>(0u - wide(a));  // the lowest number would trap
      }
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};
// Of 64 bits, by way of f64 where both numbers are small: a division of vectors, where those of integers are one at a time and take
// ten times as long.
constexpr int64_t quotient_block = constants::tried_quotients;
inline bool have_small_parts(const int64_t* a, const int64_t* b, int64_t count) {
  uint64_t large = 0;
  for (int64_t i = 0; i < count; ++i) {
    large |=
        static_cast<uint64_t>(a[i] ^ (a[i] >> 63)) | static_cast<uint64_t>(b[i] ^ (b[i] >> 63));
  }
  return large < static_cast<uint64_t>(small_limit);
}
enum class Quotient { truncated, floored, remainder };
template <Quotient kind> int64_t small_quotient(int64_t a, int64_t b) {
  const double by = b == 0 ? std::numeric_limits<double>::infinity() : small_to_f64(b);
  const double ratio = small_to_f64(a) / by;
  const int64_t whole =
      small_from_f64(kind == Quotient::floored ? std::floor(ratio) : std::trunc(ratio));
  return kind != Quotient::remainder ? whole : b == 0 ? 0 : a - whole * b;
}
template <Quotient kind> int64_t any_quotient(int64_t a, int64_t b) {
  const int64_t whole = Div::apply(a, b);
  const int64_t rest = b == 0 ? 0 : Sub::apply(a, Mul::apply(whole, b));
  if (kind == Quotient::remainder) return rest;
  return kind == Quotient::floored && rest != 0 && (rest < 0) != (b < 0) ? whole - 1 : whole;
}
template <Quotient kind>
void quotients(void* dst, const void* left, const void* right, const void*, int64_t count) {
  auto* to = static_cast<int64_t*>(dst);
  const auto *a = static_cast<const int64_t*>(left), *b = static_cast<const int64_t*>(right);
  for (int64_t i = 0; i < count; i += quotient_block) {
    const int64_t end = std::min(count, i + quotient_block);
    if (have_small_parts(a + i, b + i, end - i)) {
#pragma GCC ivdep
      for (int64_t j = i; j < end; ++j) to[j] = small_quotient<kind>(a[j], b[j]);
    } else {
      for (int64_t j = i; j < end; ++j) to[j] = any_quotient<kind>(a[j], b[j]);
    }
  }
}
// By as many places as the type has and more, and by fewer than none, nothing is left but the sign.
struct ShiftLeft {
  template <class T> static T apply(T a, T places) {
    using U = std::make_unsigned_t<T>;
    constexpr U bits = 8 * sizeof(T);
    const U by = static_cast<U>(places);
    return by < bits ? static_cast<T>(wide(a) << (by & (bits - 1))) : T(0);
  }
};
struct ShiftRight {
  template <class T> static T apply(T a, T places) {
    using U = std::make_unsigned_t<T>;
    constexpr U bits = 8 * sizeof(T);
    const U by = static_cast<U>(places);
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(a >> (by < bits ? by : bits - 1));
    else
      return by < bits ? static_cast<T>(a >> (by & (bits - 1))) : T(0);
  }
};
struct Neg {
  template <class T> static T apply(T a) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(0u - wide(a));
    else
      return -a;
  }
};
struct Abs {
  template <class T> static T apply(T a) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(a);
    else if constexpr (std::is_signed_v<T>)
      return a < 0 ? static_cast<T>(0u - wide(a)) : a;
    else
      return a;
  }
};
// A NaN wins.
struct Max {
  template <class T> static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return ((a > b) | (a != a)) ? a : b;
    else
      return a > b ? a : b;
  }
};
struct Min {
  template <class T> static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return ((a < b) | (a != a)) ? a : b;
    else
      return a < b ? a : b;
  }
};
// The same where `b` is a number, by one comparison.
struct MaxOfNumber {
  template <class T> static T apply(T a, T b) { return !(a <= b) ? a : b; }
};
struct MinOfNumber {
  template <class T> static T apply(T a, T b) { return !(a >= b) ? a : b; }
};
struct Eq {
  template <class T> static uint8_t apply(T a, T b) { return a == b; }
};
struct Ne {
  template <class T> static uint8_t apply(T a, T b) { return a != b; }
};
struct Lt {
  template <class T> static uint8_t apply(T a, T b) { return a < b; }
};
struct Le {
  template <class T> static uint8_t apply(T a, T b) { return a <= b; }
};
struct ToMask {
  template <class T> static uint8_t apply(T a) { return a != 0; }
};
// Of bits, and of masks.
struct And {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a & b); }
};
struct Or {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a | b); }
};
struct Xor {
  template <class T> static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};
struct Invert {
  template <class T> static T apply(T a) { return static_cast<T>(~a); }
};
// Of masks.
struct Xnor {
  static uint8_t apply(uint8_t a, uint8_t b) { return (a ^ b) ^ 1; }
};
struct Not {
  static uint8_t apply(uint8_t a) { return a ^ 1; }
};
struct NotAnd {  // a < b
  static uint8_t apply(uint8_t a, uint8_t b) { return (a ^ 1) & b; }
};
struct NotOr {  // a <= b
  static uint8_t apply(uint8_t a, uint8_t b) { return (a ^ 1) | b; }
};

// Two comparisons and two choices in one pass: a sixth of their time on AVX2.
struct Sign {
  template <class T> static T apply(T a) {
    return static_cast<T>(static_cast<T>(a > T(0)) - static_cast<T>(a < T(0)));
  }
};

// `ivdep`: `dst` is an operand or apart from it, so that no check for overlap is needed.
template <class Op, class T>
void unary(void* dst, const void* a, const void*, const void*, int64_t count) {
  auto* to = static_cast<decltype(Op::apply(T{}))*>(dst);
  const auto* from = static_cast<const T*>(a);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = Op::apply(from[i]);
}

#if HWY_TARGET == HWY_SCALAR
constexpr Primitive to_mask_of_64 = unary<ToMask, uint64_t>;
#else
// Two vectors of 64 bits at a time become one of bytes; of the loop above the compiler makes three steps with shuffles of their own.
void to_mask_of_64(void* dst, const void* a, const void* b, const void* c, int64_t count) {
  const hn::ScalableTag<uint64_t> d;
  const hn::Repartition<int32_t, decltype(d)> halves;
  const hn::Rebind<int8_t, decltype(halves)> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* to = static_cast<int8_t*>(dst);
  const auto* from = static_cast<const uint64_t*>(a);
  const auto is_zero = [&](const uint64_t* at) HWY_ATTR {
    return hn::BitCast(halves, hn::VecFromMask(d, hn::Eq(hn::LoadU(d, at), hn::Zero(d))));
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto zeros = hn::ConcatEven(halves, is_zero(from + i + lanes), is_zero(from + i));
    hn::StoreU(hn::Add(hn::DemoteTo(bytes, zeros), hn::Set(bytes, 1)), bytes, to + i);
  }
  unary<ToMask, uint64_t>(to + i, from + i, b, c, count - i);
}
#endif

template <class Op, class T>
void binary(void* dst, const void* a, const void* b, const void*, int64_t count) {
  auto* to = static_cast<decltype(Op::apply(T{}, T{}))*>(dst);
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = Op::apply(left[i], right[i]);
}

// Of elements and one number, in either order.
template <class Op, class T>
void with_last(void* dst, const void* a, const void* b, const void*, int64_t count) {
  auto* to = static_cast<decltype(Op::apply(T{}, T{}))*>(dst);
  const auto* left = static_cast<const T*>(a);
  const T number = *static_cast<const T*>(b);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = Op::apply(left[i], number);
}
template <class Op, class OfNumber, class T>
void with_last_or_nan(void* dst, const void* a, const void* b, const void* c, int64_t count) {
  const T number = *static_cast<const T*>(b);
  return number == number ? with_last<OfNumber, T>(dst, a, b, c, count)
                          : with_last<Op, T>(dst, a, b, c, count);
}
template <class Op, class T>
void with_first(void* dst, const void* a, const void* b, const void*, int64_t count) {
  auto* to = static_cast<decltype(Op::apply(T{}, T{}))*>(dst);
  const T number = *static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = Op::apply(number, right[i]);
}
template <class Op, class T>
void set_numbered(PrimitiveTable& table, uint16_t code, uint32_t dtype) {
  table.numbered[number_last][code][dtype] = {with_last<Op, T>, 0b010};
  table.numbered[number_first][code][dtype] = {with_first<Op, T>, 0b001};
}

template <class T>
void select(void* dst, const void* a, const void* b, const void* c, int64_t count) {
  auto* to = static_cast<T*>(dst);
  const auto* mask = static_cast<const uint8_t*>(a);
  const auto* yes = static_cast<const T*>(b);
  const auto* no = static_cast<const T*>(c);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const T if_set = yes[i], if_clear = no[i];
    to[i] = mask[i] != 0 ? if_set : if_clear;
  }
}

template <class T>
void from_mask(void* dst, const void* a, const void*, const void*, int64_t count) {
  auto* to = static_cast<T*>(dst);
  const auto* mask = static_cast<const uint8_t*>(a);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(mask[i]);
}

template <class T>
void identity(void* dst, const void* a, const void*, const void*, int64_t count) {
  if (dst != a) std::memcpy(dst, a, static_cast<size_t>(count) * sizeof(T));
}

// `Bits` has T's width: what does not depend on the sign shares one loop.
template <class T, class Bits> void add_type(PrimitiveTable& table, uint32_t dtype) {
  const auto set = [&](uint16_t code, Primitive fn) { table.entries[code][dtype] = fn; };
  set(BP_X_ADD, binary<Add, Bits>);
  set(BP_X_SUB, binary<Sub, Bits>);
  set(BP_X_MUL, binary<Mul, Bits>);
  set(BP_X_DIV, binary<Div, T>);
  set(BP_X_NEG, unary<Neg, Bits>);
  set(BP_X_ABS, unary<Abs, T>);
  set(BP_X_MAX, binary<Max, T>);
  set(BP_X_MIN, binary<Min, T>);
  set(BP_X_EQ, binary<Eq, Bits>);
  set(BP_X_NE, binary<Ne, Bits>);
  set(BP_X_LT, binary<Lt, T>);
  set(BP_X_LE, binary<Le, T>);
  set(BP_X_SELECT, select<Bits>);
  set(step_to_mask, unary<ToMask, Bits>);
  set(step_from_mask, from_mask<Bits>);
  set(step_identity, identity<Bits>);
  set(step_sign, unary<Sign, T>);
  if constexpr (std::is_integral_v<T>) {
    for (uint16_t code : {BP_X_FLOOR, BP_X_CEIL, BP_X_TRUNC, BP_X_ROUND}) set(code, identity<Bits>);
    set(BP_X_BITAND, binary<And, Bits>);
    set(BP_X_BITOR, binary<Or, Bits>);
    set(BP_X_BITXOR, binary<Xor, Bits>);
    set(BP_X_BITNOT, unary<Invert, Bits>);
    set(BP_X_SHL, binary<ShiftLeft, Bits>);
    set(BP_X_SHR, binary<ShiftRight, T>);
  }
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, int64_t>) {
    set_numbered<Add, Bits>(table, BP_X_ADD, dtype);
    set_numbered<Sub, Bits>(table, BP_X_SUB, dtype);
    set_numbered<Mul, Bits>(table, BP_X_MUL, dtype);
    set_numbered<Max, T>(table, BP_X_MAX, dtype);
    set_numbered<Min, T>(table, BP_X_MIN, dtype);
    set_numbered<Eq, Bits>(table, BP_X_EQ, dtype);
    set_numbered<Ne, Bits>(table, BP_X_NE, dtype);
    set_numbered<Lt, T>(table, BP_X_LT, dtype);
    set_numbered<Le, T>(table, BP_X_LE, dtype);
  }
  if constexpr (std::is_floating_point_v<T>) {
    set_numbered<Div, T>(table, BP_X_DIV, dtype);
    table.numbered[number_last][BP_X_MAX][dtype].run = with_last_or_nan<Max, MaxOfNumber, T>;
    table.numbered[number_last][BP_X_MIN][dtype].run = with_last_or_nan<Min, MinOfNumber, T>;
  }
  if constexpr (std::is_same_v<T, int64_t>) {
    set(step_to_mask, to_mask_of_64);
    set(BP_X_DIV, quotients<Quotient::truncated>);
    set(BP_X_FMOD, quotients<Quotient::remainder>);
    set(step_floor_divide, quotients<Quotient::floored>);
  }
}

void add_bool(PrimitiveTable& table) {
  const auto set = [&](uint16_t code, Primitive fn) { table.entries[code][BP_BOOL] = fn; };
  set(BP_X_ADD, binary<Or, uint8_t>);
  set(BP_X_MUL, binary<And, uint8_t>);
  set(BP_X_ABS, identity<uint8_t>);
  set(BP_X_MAX, binary<Or, uint8_t>);
  set(BP_X_MIN, binary<And, uint8_t>);
  set(BP_X_EQ, binary<Xnor, uint8_t>);
  set(BP_X_NE, binary<Xor, uint8_t>);
  set(BP_X_LT, binary<NotAnd, uint8_t>);
  set(BP_X_LE, binary<NotOr, uint8_t>);
  set(BP_X_AND, binary<And, uint8_t>);
  set(BP_X_OR, binary<Or, uint8_t>);
  set(BP_X_NOT, unary<Not, uint8_t>);
  set(BP_X_BITAND, binary<And, uint8_t>);
  set(BP_X_BITOR, binary<Or, uint8_t>);
  set(BP_X_BITXOR, binary<Xor, uint8_t>);
  set(BP_X_BITNOT, unary<Not, uint8_t>);
  set(BP_X_SELECT, select<uint8_t>);
  set(step_to_mask, identity<uint8_t>);
  set(step_from_mask, identity<uint8_t>);
  set(step_identity, identity<uint8_t>);
}

// The sign of small floats is a bit, which needs no way through f32.
struct FlipSign {
  static uint16_t apply(uint16_t a) { return static_cast<uint16_t>(a ^ 0x8000u); }
};
struct DropSign {
  static uint16_t apply(uint16_t a) { return static_cast<uint16_t>(a & 0x7fffu); }
};
void add_small_floats(PrimitiveTable& table) {
  for (uint32_t dtype : {BP_F16, BP_BF16}) {
    table.entries[BP_X_NEG][dtype] = unary<FlipSign, uint16_t>;
    table.entries[BP_X_ABS][dtype] = unary<DropSign, uint16_t>;
    table.entries[step_identity][dtype] = identity<uint16_t>;
  }
}

// Steps of bf16 whose results bf16 has: in one pass, where programs in f32 have one more on each side.
template <class Op> struct OfBf16 {
  static float wide(uint16_t a) { return std::bit_cast<float>(static_cast<uint32_t>(a) << 16); }
  static uint8_t narrow(uint8_t mask) { return mask; }
  static uint16_t narrow(float value) {
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  }
  template <class... A> static auto apply(A... a) { return narrow(Op::apply(wide(a)...)); }
};
struct Floor {
  static float apply(float a) { return std::floor(a); }
};
struct Ceil {
  static float apply(float a) { return std::ceil(a); }
};
struct Trunc {
  static float apply(float a) { return std::trunc(a); }
};
struct Round {
  static float apply(float a) { return std::nearbyint(a); }
};
struct One {
  static uint16_t apply(uint8_t mask) { return mask != 0 ? 0x3f80 : 0; }
};
void add_bf16(PrimitiveTable& table) {
  const auto set = [&](uint16_t code, Primitive fn) { table.entries[code][BP_BF16] = fn; };
  set(BP_X_MAX, binary<OfBf16<Max>, uint16_t>);
  set(BP_X_MIN, binary<OfBf16<Min>, uint16_t>);
  set(BP_X_EQ, binary<OfBf16<Eq>, uint16_t>);
  set(BP_X_NE, binary<OfBf16<Ne>, uint16_t>);
  set(BP_X_LT, binary<OfBf16<Lt>, uint16_t>);
  set(BP_X_LE, binary<OfBf16<Le>, uint16_t>);
  set(BP_X_FLOOR, unary<OfBf16<Floor>, uint16_t>);
  set(BP_X_CEIL, unary<OfBf16<Ceil>, uint16_t>);
  set(BP_X_TRUNC, unary<OfBf16<Trunc>, uint16_t>);
  set(BP_X_ROUND, unary<OfBf16<Round>, uint16_t>);
  set_numbered<OfBf16<Max>, uint16_t>(table, BP_X_MAX, BP_BF16);
  set_numbered<OfBf16<Min>, uint16_t>(table, BP_X_MIN, BP_BF16);
  set_numbered<OfBf16<Eq>, uint16_t>(table, BP_X_EQ, BP_BF16);
  set_numbered<OfBf16<Ne>, uint16_t>(table, BP_X_NE, BP_BF16);
  set_numbered<OfBf16<Lt>, uint16_t>(table, BP_X_LT, BP_BF16);
  set_numbered<OfBf16<Le>, uint16_t>(table, BP_X_LE, BP_BF16);
  set(BP_X_SELECT, select<uint16_t>);
  set(step_to_mask, unary<OfBf16<ToMask>, uint16_t>);
  set(step_from_mask, unary<One, uint8_t>);
  set(step_sign, unary<OfBf16<Sign>, uint16_t>);
}

PrimitiveTable make_table() {
  PrimitiveTable table;
  add_small_floats(table);
  add_bf16(table);
  add_bool(table);
  add_type<uint8_t, uint8_t>(table, BP_U8);
  add_type<int8_t, uint8_t>(table, BP_I8);
  add_type<int16_t, uint16_t>(table, BP_I16);
  add_type<int32_t, uint32_t>(table, BP_I32);
  add_type<int64_t, uint64_t>(table, BP_I64);
  add_type<uint16_t, uint16_t>(table, BP_U16);
  add_type<uint32_t, uint32_t>(table, BP_U32);
  add_type<uint64_t, uint64_t>(table, BP_U64);
  add_type<float, float>(table, BP_F32);
  add_type<double, double>(table, BP_F64);
  return table;
}

}  // namespace

const PrimitiveTable& arithmetic_table() {
  static const PrimitiveTable table = make_table();
  return table;
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(arithmetic_table);

const PrimitiveTable& arithmetic_primitives() {
  return HWY_DYNAMIC_DISPATCH(arithmetic_table)();
}

}  // namespace bp::cpu::tile
#endif
