// Direct conversions as loops for each instruction set; the others go through f32 or f64. Compile with
// -O3.
#include "../constants.hpp"
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/convert.cpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <limits>
#include <type_traits>

#include "tile/convert.hpp"
#include "tile/convert_table.hpp"
#include "tile/small_floats.hpp"
#include "tile/small_integers-inl.hpp"

HWY_BEFORE_NAMESPACE();
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#  pragma GCC target("prefer-vector-width=512")  // the compiler's own choice is half of it
#endif
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// What x86's conversion does with a number that does not fit, without undefined behaviour.
template <class Int, class Float> Int truncate(Float value) {
  constexpr Float limit = -static_cast<Float>(std::numeric_limits<Int>::min());
  return (value >= -limit) & (value < limit) ? static_cast<Int>(value)
                                             : std::numeric_limits<Int>::min();
}

template <class To, class From> To convert_one(From value) {
  if constexpr (!std::is_floating_point_v<From> || !std::is_integral_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (sizeof(To) < 4 || std::is_same_v<To, int32_t>) {
    return static_cast<To>(truncate<int32_t>(value));
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr From half = 0x1p63;
    return value >= half ? static_cast<To>(truncate<int64_t>(value - half)) ^ (To{1} << 63)
                         : static_cast<To>(truncate<int64_t>(value));
  } else {
    return static_cast<To>(truncate<int64_t>(value));
  }
}

template <class To, class From> void convert(void* dst, const void* src, int64_t count) {
  auto* to = static_cast<To*>(dst);
  const auto* from = static_cast<const From*>(src);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = convert_one<To>(from[i]);
}

// Blocks with a larger number, or a NaN, are converted one by one.
constexpr int64_t block = constants::tried_conversions;
// Whether all lie between -limit and limit; `limit` is a power of two.
inline bool are_below(int64_t limit, const int64_t* values, int64_t count) {
  uint64_t seen = 0;
  for (int64_t i = 0; i < count; ++i) seen |= static_cast<uint64_t>(values[i] ^ (values[i] >> 63));
  return seen < static_cast<uint64_t>(limit);
}

template <class From> void float_to_i64(void* dst, const void* src, int64_t count) {
  auto* to = static_cast<int64_t*>(dst);
  const auto* from = static_cast<const From*>(src);
  for (int64_t i = 0; i < count; i += block) {
    const int64_t end = std::min(count, i + block);
    int32_t large = 0;
    for (int64_t j = i; j < end; ++j) large |= std::fabs(from[j]) < From(small_limit) ? 0 : 1;
    if (large != 0) {
      convert<int64_t, From>(to + i, from + i, end - i);
      continue;
    }
#pragma GCC ivdep
    for (int64_t j = i; j < end; ++j)
      to[j] = small_from_f64(static_cast<double>(std::trunc(from[j])));
  }
}

template <class To> void i64_to_float(void* dst, const void* src, int64_t count) {
  auto* to = static_cast<To*>(dst);
  const auto* from = static_cast<const int64_t*>(src);
  for (int64_t i = 0; i < count; i += block) {
    const int64_t end = std::min(count, i + block);
    if (!are_below(small_limit, from + i, end - i)) {
      convert<To, int64_t>(to + i, from + i, end - i);
      continue;
    }
#pragma GCC ivdep
    for (int64_t j = i; j < end; ++j) to[j] = static_cast<To>(small_to_f64(from[j]));
  }
}

template <class From> void convert_to_bool(void* dst, const void* src, int64_t count) {
  auto* to = static_cast<uint8_t*>(dst);
  const auto* from = static_cast<const From*>(src);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] != 0;
}

void bf16_to_f32(void* dst, const void* src, int64_t count) {
  auto* to = static_cast<uint32_t*>(dst);
  const auto* from = static_cast<const uint16_t*>(src);
  // What comes next is fetched while this is computed with: a tile is read so fast that the processor does not look ahead.
  constexpr int64_t line = 64 / sizeof(uint16_t);
  for (int64_t i = 0; i < count; i += line) __builtin_prefetch(from + count + i, 0, 3);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<uint32_t>(from[i]) << 16;
}

void f32_to_bf16(void* dst, const void* src, int64_t count) {
  auto* to = static_cast<uint16_t*>(dst);
  const auto* from = static_cast<const uint32_t*>(src);
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint32_t> d;
  const hn::Rebind<float, decltype(d)> df;
  const hn::Repartition<uint16_t, decltype(d)> halves;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, 1), below_half = hn::Set(d, 0x7fff), quiet = hn::Set(d, 0x400000);
  // In the upper halves.
  const auto rounded = [&](const uint32_t* at) HWY_ATTR {
    const auto bits = hn::LoadU(d, at);
    const auto up = hn::Add(below_half, hn::And(hn::ShiftRight<16>(bits), one));
    const auto is_nan =
        hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(df, hn::IsNaN(hn::BitCast(df, bits)))));
    return hn::BitCast(halves, hn::IfThenElse(is_nan, hn::Or(bits, quiet), hn::Add(bits, up)));
  };
  for (; i + 2 * lanes <= count; i += 2 * lanes)
    hn::StoreU(hn::ConcatOdd(halves, rounded(from + i + lanes), rounded(from + i)), halves, to + i);
#endif
  for (; i < count; ++i) {
    const uint32_t bits = from[i], kept = bits >> 16;
    const uint32_t rounded = (bits + 0x7fffu + (kept & 1u)) >> 16;
    to[i] = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? kept | 0x40u : rounded);
  }
}

// Without the processor's own conversions, the scalar functions, which round to nearest.
void f16_to_f32(void* dst, const void* src, int64_t count) {
  auto* to = static_cast<float*>(dst);
  const auto* from = static_cast<const uint16_t*>(src);
  int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* halves = reinterpret_cast<const hwy::float16_t*>(from);
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, halves + i)), d, to + i);
#endif
  for (; i < count; ++i) to[i] = f32_from_f16(from[i]);
}

void f32_to_f16(void* dst, const void* src, int64_t count) {
  auto* to = static_cast<uint16_t*>(dst);
  const auto* from = static_cast<const float*>(src);
  int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* halves = reinterpret_cast<hwy::float16_t*>(to);
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, from + i)), dh, halves + i);
#endif
  for (; i < count; ++i) to[i] = f16_from_f32(from[i]);
}

// To integers of Bits' width, signed or not, which are the same bits.
template <class From, class Bits>
void add_to_integer(ConvertTable& table, uint32_t from, uint32_t to_signed, uint32_t to_unsigned) {
  using Signed = std::make_signed_t<Bits>;
  if constexpr (std::is_floating_point_v<From>) {
    table.stages[from][to_signed] = convert<Signed, From>;
    table.stages[from][to_unsigned] = convert<Bits, From>;
  } else {
    // Narrowing forgets the sign: one loop for both.
    using Source =
        std::conditional_t<(sizeof(From) > sizeof(Bits)), std::make_unsigned_t<From>, From>;
    table.stages[from][to_signed] = table.stages[from][to_unsigned] = convert<Bits, Source>;
  }
}

template <class From> void add_from(ConvertTable& table, uint32_t from) {
  add_to_integer<From, uint8_t>(table, from, BP_I8, BP_U8);
  add_to_integer<From, uint16_t>(table, from, BP_I16, BP_U16);
  add_to_integer<From, uint32_t>(table, from, BP_I32, BP_U32);
  add_to_integer<From, uint64_t>(table, from, BP_I64, BP_U64);
  table.stages[from][BP_F32] = convert<float, From>;
  table.stages[from][BP_F64] = convert<double, From>;
  if constexpr (std::is_integral_v<From>) {
    table.stages[from][BP_BOOL] = convert_to_bool<std::make_unsigned_t<From>>;
  } else {
    table.stages[from][BP_BOOL] = convert_to_bool<From>;
  }
}

ConvertTable make_table() {
  ConvertTable table;
  add_from<uint8_t>(table, BP_BOOL);
  add_from<uint8_t>(table, BP_U8);
  add_from<int8_t>(table, BP_I8);
  add_from<int16_t>(table, BP_I16);
  add_from<int32_t>(table, BP_I32);
  add_from<int64_t>(table, BP_I64);
  add_from<uint16_t>(table, BP_U16);
  add_from<uint32_t>(table, BP_U32);
  add_from<uint64_t>(table, BP_U64);
  add_from<float>(table, BP_F32);
  add_from<double>(table, BP_F64);
#if HWY_TARGET == HWY_AVX2
  table.stages[BP_F32][BP_I64] = float_to_i64<float>;
  table.stages[BP_F64][BP_I64] = float_to_i64<double>;
  table.stages[BP_I64][BP_F32] = i64_to_float<float>;
  table.stages[BP_I64][BP_F64] = i64_to_float<double>;
#endif
  table.stages[BP_F16][BP_F32] = f16_to_f32;
  table.stages[BP_F32][BP_F16] = f32_to_f16;
  table.stages[BP_BF16][BP_F32] = bf16_to_f32;
  table.stages[BP_F32][BP_BF16] = f32_to_bf16;
  return table;
}

}  // namespace

const ConvertTable& convert_table() {
  static const ConvertTable table = make_table();
  return table;
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(convert_table);

namespace {

template <class To, class From, class F> ConvertStage scalar_stage(F) {
  return [](void* dst, const void* src, int64_t count) {
    auto* to = static_cast<To*>(dst);
    const auto* from = static_cast<const From*>(src);
    for (int64_t i = 0; i < count; ++i) to[i] = F{}(from[i]);
  };
}

template <class To> struct RealPart {
  template <class T> To operator()(std::complex<T> value) const {
    return static_cast<To>(value.real());
  }
};
template <class To> struct ToComplex {
  template <class T> std::complex<To> operator()(T value) const {
    return std::complex<To>(static_cast<To>(std::real(value)), static_cast<To>(std::imag(value)));
  }
};
struct IsNotZero {
  template <class T> uint8_t operator()(std::complex<T> value) const {
    return value.real() != 0 || value.imag() != 0;
  }
};

using c64 = std::complex<float>;
using c128 = std::complex<double>;

// Of those that nobody waits for.
const ConvertTable& scalar_table() {
  static const ConvertTable table = [] {
    ConvertTable made;
    auto& stages = made.stages;
    const auto e4m3_from = [](float value) { return f8_e4m3fn_from_f32(value); };
    const auto e4m3_to = [](uint8_t value) { return f32_from_f8_e4m3fn(value); };
    const auto e5m2_from = [](float value) { return f8_e5m2_from_f32(value); };
    const auto e5m2_to = [](uint8_t value) { return f32_from_f8_e5m2(value); };
    stages[BP_F32][BP_F8_E4M3FN] = scalar_stage<uint8_t, float>(e4m3_from);
    stages[BP_F8_E4M3FN][BP_F32] = scalar_stage<float, uint8_t>(e4m3_to);
    stages[BP_F32][BP_F8_E5M2] = scalar_stage<uint8_t, float>(e5m2_from);
    stages[BP_F8_E5M2][BP_F32] = scalar_stage<float, uint8_t>(e5m2_to);
    stages[BP_COMPLEX64][BP_F32] = scalar_stage<float, c64>(RealPart<float>{});
    stages[BP_COMPLEX64][BP_F64] = scalar_stage<double, c64>(RealPart<double>{});
    stages[BP_COMPLEX128][BP_F32] = scalar_stage<float, c128>(RealPart<float>{});
    stages[BP_COMPLEX128][BP_F64] = scalar_stage<double, c128>(RealPart<double>{});
    stages[BP_F32][BP_COMPLEX64] = scalar_stage<c64, float>(ToComplex<float>{});
    stages[BP_F64][BP_COMPLEX64] = scalar_stage<c64, double>(ToComplex<float>{});
    stages[BP_F32][BP_COMPLEX128] = scalar_stage<c128, float>(ToComplex<double>{});
    stages[BP_F64][BP_COMPLEX128] = scalar_stage<c128, double>(ToComplex<double>{});
    stages[BP_COMPLEX64][BP_COMPLEX128] = scalar_stage<c128, c64>(ToComplex<double>{});
    stages[BP_COMPLEX128][BP_COMPLEX64] = scalar_stage<c64, c128>(ToComplex<float>{});
    stages[BP_COMPLEX64][BP_BOOL] = scalar_stage<uint8_t, c64>(IsNotZero{});
    stages[BP_COMPLEX128][BP_BOOL] = scalar_stage<uint8_t, c128>(IsNotZero{});
    return made;
  }();
  return table;
}

template <int bytes> void copy(void* dst, const void* src, int64_t count) {
  if (dst != src) std::memcpy(dst, src, static_cast<size_t>(count * bytes));
}

ConvertStage find_stage(uint32_t from, uint32_t to) {
  if (from == to) {
    switch (itemsize_of(from)) {
      case 1: return copy<1>;
      case 2: return copy<2>;
      case 4: return copy<4>;
      case 8: return copy<8>;
      default: return copy<16>;
    }
  }
  ConvertStage direct = HWY_DYNAMIC_DISPATCH(convert_table)().stages[from][to];
  return direct != nullptr ? direct : scalar_table().stages[from][to];
}

// Rounded to odd: what float32 does not have becomes that one of its two neighbours whose last bit is 1, so that rounding
// it to fewer digits gives what rounding the number itself would have given.
float f32_to_odd(double value) {
  const auto near = static_cast<float>(value);
  const double back = near;
  auto bits = std::bit_cast<uint32_t>(near);
  if (back == value || std::isnan(value) || (bits & 1u) != 0) return near;
  bits += std::fabs(back) < std::fabs(value) ? 1u : ~0u;
  return std::bit_cast<float>(bits);
}
// Float64 has not all integers of 64 bits either: the last bit that it keeps of large ones is whether there are more.
template <class T> double f64_to_odd(T value) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    constexpr T rest = (T{1} << 12) - 1, most = T{1} << 52;
    const bool is_large = value >= most || (std::is_signed_v<T> && value < T{0} - most);
    if (is_large && (value & rest) != 0) value = (value & ~rest) | (T{1} << 11);
  }
  return static_cast<double>(value);
}

template <class T> void to_odd(void* dst, const void* src, int64_t count) {
  auto* to = static_cast<float*>(dst);
  const auto* from = static_cast<const T*>(src);
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, int32_t>) {
    // Float32 has all numbers of up to 24 bits.
    constexpr uint64_t limit = uint64_t{1} << 24;
    uint64_t seen = 0;
    for (int64_t i = 0; i < count; ++i)
      seen |= static_cast<uint64_t>(from[i] < 0 ? ~from[i] : from[i]);
    if (seen < limit)
      return HWY_DYNAMIC_DISPATCH(convert_table)()
          .stages[std::is_same_v<T, int64_t> ? BP_I64 : BP_I32][BP_F32](dst, src, count);
  }
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, c128>)
      to[i] = f32_to_odd(from[i].real());
    else
      to[i] = f32_to_odd(f64_to_odd(from[i]));
  }
}

// On the way to fewer digits than float32 has; null where float32 has all numbers of the dtype.
ConvertStage odd_stage(uint32_t from) {
  switch (from) {
    case BP_I32: return to_odd<int32_t>;
    case BP_U32: return to_odd<uint32_t>;
    case BP_I64: return to_odd<int64_t>;
    case BP_U64: return to_odd<uint64_t>;
    case BP_F64: return to_odd<double>;
    case BP_COMPLEX128: return to_odd<c128>;
    default: return nullptr;
  }
}

bool goes_through_f32(uint32_t dtype) {
  return dtype == BP_F16 || dtype == BP_BF16 || dtype == BP_F8_E4M3FN || dtype == BP_F8_E5M2;
}

}  // namespace

int64_t itemsize_of(uint32_t dtype) {
  static constexpr int8_t sizes[BP_NUM_DTYPES] = {1, 1, 1, 2, 4, 8,  2, 4, 8,
                                                  2, 2, 4, 8, 8, 16, 1, 1};
  return sizes[dtype];
}

Convert find_convert(uint32_t from, uint32_t to) {
  Convert found;
  found.from_bytes = static_cast<int32_t>(itemsize_of(from));
  found.to_bytes = static_cast<int32_t>(itemsize_of(to));
  found.first = find_stage(from, to);
  if (found.first != nullptr) return found;
  const bool small = goes_through_f32(from) || goes_through_f32(to);
  const bool single = from == BP_COMPLEX64 || to == BP_COMPLEX64;
  const uint32_t middle = small || single ? BP_F32 : BP_F64;
  found.first = goes_through_f32(to) ? odd_stage(from) : nullptr;
  if (found.first == nullptr) found.first = find_stage(from, middle);
  found.second = find_stage(middle, to);
  return found;
}

void Convert::in_two_stages(void* dst, const void* src, int64_t count) const {
  constexpr int64_t piece = constants::converted_elements;
  alignas(64) char middle[piece * sizeof(double)];
  auto* to = static_cast<char*>(dst);
  const auto* from = static_cast<const char*>(src);
  for (int64_t done = 0; done < count; done += piece) {
    const int64_t size = std::min(piece, count - done);
    first(middle, from + done * from_bytes, size);
    second(to + done * to_bytes, middle, size);
  }
}

}  // namespace bp::cpu::tile
#endif
