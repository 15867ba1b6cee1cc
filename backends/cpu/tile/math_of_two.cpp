// atan2, fmod and pow of f32 and f64 as primitives, for each instruction set.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/math_of_two.cpp"
#include <cmath>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tile/primitives.hpp"
#include "tile/vector_functions-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

struct Atan2 {
  template <class D, class V> static HWY_INLINE V apply(D d, V y, V x) { return atan2(d, y, x); }
};
struct Fmod {
  template <class D, class V> static HWY_INLINE V apply(D d, V a, V b) { return fmod(d, a, b); }
};
// Highway's scalar code gives the largest f32 for what is beyond.
constexpr bool keeps_infinities_finite = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128;

// Squares are most of what is asked for, with 2 as one number.
struct Pow {
  template <class D, class V> static HWY_INLINE V apply(D d, V a, V b) {
    using T = hn::TFromD<D>;
    if (hn::AllTrue(d, hn::Eq(b, hn::Set(d, 2)))) return hn::Mul(a, a);
    if constexpr (sizeof(T) == 8 || keeps_infinities_finite) {
      return lane_by_lane(d, a, b, [](T x, T y) { return std::pow(x, y); });
    } else {
      const hn::Repartition<double, D> dd;
      const hn::Rebind<float, decltype(dd)> half;
      HWY_ALIGN T left[hn::MaxLanes(d)], right[hn::MaxLanes(d)];
      hn::Store(a, d, left);
      hn::Store(b, d, right);
      for (size_t i = 0; i < hn::Lanes(d); i += hn::Lanes(dd)) {
        const auto result = pow_of_floats(dd, hn::PromoteTo(dd, hn::LoadU(half, left + i)),
                                          hn::PromoteTo(dd, hn::LoadU(half, right + i)));
        hn::StoreU(hn::DemoteTo(half, result), half, left + i);
      }
      return hn::Load(d, left);
    }
  }
};

template <class Op, class T>
void binary(void* dst, const void* a, const void* b, const void*, int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* to = static_cast<T*>(dst);
  const auto *left = static_cast<const T*>(a), *right = static_cast<const T*>(b);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(Op::apply(d, hn::LoadU(d, left + i), hn::LoadU(d, right + i)), d, to + i);
  if (i == count) return;
  // Ones beyond the end, which no function leaves its vector code for.
  const auto part = static_cast<size_t>(count - i);
  const auto inside = hn::FirstN(d, part);
  const auto one = hn::Set(d, 1);
  const auto x = hn::IfThenElse(inside, load_part(d, left + i, part), one);
  const auto y = hn::IfThenElse(inside, load_part(d, right + i, part), one);
  store_part(Op::apply(d, x, y), d, to + i, part);
}

// x to the power of so many quarters, for positive x: within half an ULP of f32, and a fifth of the time of Pow.
template <int quarters, class D> HWY_INLINE hn::Vec<D> power_of_quarters(D d, hn::Vec<D> x) {
  const auto root = hn::Sqrt(x);
  if constexpr (quarters == 1) return hn::Sqrt(root);
  if constexpr (quarters == 2) return root;
  if constexpr (quarters == 3) return hn::Mul(root, hn::Sqrt(root));
  if constexpr (quarters == 6) return hn::Mul(x, root);
  if constexpr (quarters < 0) return hn::Div(hn::Set(d, 1.0), power_of_quarters<-quarters>(d, x));
}

// As many whole vectors of f32 as begin with positive numbers alone; gives the elements done.
template <int quarters> int64_t powers_of_quarters(float* to, const float* base, int64_t count) {
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(d, base + i);
    if (!hn::AllTrue(d, hn::Gt(x, hn::Zero(d)))) break;
    hn::StoreU(hn::DemoteTo(d, power_of_quarters<quarters>(dd, hn::PromoteTo(dd, x))), d, to + i);
  }
  return i;
}
[[maybe_unused]] int64_t powers_of_quarters(float exponent, float* to, const float* base,
                                            int64_t count) {
  if (exponent == 0.25F) return powers_of_quarters<1>(to, base, count);
  if (exponent == 0.5F) return powers_of_quarters<2>(to, base, count);
  if (exponent == 0.75F) return powers_of_quarters<3>(to, base, count);
  if (exponent == 1.5F) return powers_of_quarters<6>(to, base, count);
  if (exponent == -0.5F) return powers_of_quarters<-2>(to, base, count);
  if (exponent == -0.75F) return powers_of_quarters<-3>(to, base, count);
  return 0;
}

// Squares, as Pow has them, of as many elements as there are.
template <class T> void power(void* dst, const void* a, const void* b, const void*, int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* to = static_cast<T*>(dst);
  const auto* base = static_cast<const T*>(a);
  const T exponent = *static_cast<const T*>(b);
  if (exponent == T(2)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) to[i] = base[i] * base[i];
    return;
  }
  const auto exponents = hn::Set(d, exponent);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    if constexpr (sizeof(T) == 4 && !keeps_infinities_finite)
      i += powers_of_quarters(exponent, to + i, base + i, count - i);
    if (i + lanes > count) break;
    hn::StoreU(Pow::apply(d, hn::LoadU(d, base + i), exponents), d, to + i);
  }
  if (i == count) return;
  const auto part = static_cast<size_t>(count - i);
  const auto bases =
      hn::IfThenElse(hn::FirstN(d, part), load_part(d, base + i, part), hn::Set(d, 1));
  store_part(Pow::apply(d, bases, exponents), d, to + i, part);
}

template <class T> void add_type(PrimitiveTable& table, uint32_t dtype) {
  table.entries[BP_X_ATAN2][dtype] = binary<Atan2, T>;
  table.entries[BP_X_FMOD][dtype] = binary<Fmod, T>;
  table.entries[BP_X_POW][dtype] = binary<Pow, T>;
  table.numbered[number_last][BP_X_POW][dtype] = {power<T>, 0b010};
}

PrimitiveTable make_table() {
  PrimitiveTable table;
  add_type<float>(table, BP_F32);
  add_type<double>(table, BP_F64);
  return table;
}

}  // namespace

const PrimitiveTable& math_of_two_table() {
  static const PrimitiveTable table = make_table();
  return table;
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(math_of_two_table);

const PrimitiveTable& math_of_two_primitives() {
  return HWY_DYNAMIC_DISPATCH(math_of_two_table)();
}

}  // namespace bp::cpu::tile
#endif
