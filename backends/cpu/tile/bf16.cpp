// Arithmetic of bf16 in one pass: in f32 between the loads and the store, rounded once to nearest even.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/bf16.cpp"
#include <algorithm>
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "constants.hpp"
#include "tile/bf16-inl.hpp"
#include "tile/convert.hpp"
#include "tile/primitives.hpp"
#include "tile/vector_arithmetic-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using bf16::load, bf16::store, bf16::Wide;

struct Sqrt {
  template <class V> static HWY_INLINE V apply(V a, V) { return hn::Sqrt(a); }
};

// Fewer than a vector has.
template <class Op>
HWY_INLINE void run_rest(uint16_t* to, const uint16_t* a, const uint16_t* b, int64_t count) {
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(Wide()));
  const auto bytes = static_cast<size_t>(count) * sizeof(uint16_t);
  uint16_t left[lanes] = {}, right[lanes] = {};
  std::memcpy(left, a, bytes);
  std::memcpy(right, b, bytes);
  store(Op::apply(load(left), load(right)), left);
  std::memcpy(to, left, bytes);
}

// `b` may be `a`, for steps of one operand.
template <class Op>
HWY_INLINE void run(uint16_t* to, const uint16_t* a, const uint16_t* b, int64_t count) {
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(Wide()));
  int64_t i = 0;
  if constexpr (bf16::has_pairs) {
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      const auto x = bf16::load_pair(a + i), y = bf16::load_pair(b + i);
      bf16::store_pair({Op::apply(x.even, y.even), Op::apply(x.odd, y.odd)}, to + i);
    }
  }
  for (; i + lanes <= count; i += lanes) store(Op::apply(load(a + i), load(b + i)), to + i);
  if (i < count) run_rest<Op>(to + i, a + i, b + i, count - i);
}

template <class Op>
void binary(void* dst, const void* a, const void* b, const void*, int64_t count) {
  run<Op>(static_cast<uint16_t*>(dst), static_cast<const uint16_t*>(a),
          static_cast<const uint16_t*>(b), count);
}
template <class Op> void unary(void* dst, const void* a, const void*, const void*, int64_t count) {
  binary<Op>(dst, a, a, nullptr, count);
}

// Of elements and one number.
template <class Op>
void with_last(void* dst, const void* a, const void* b, const void*, int64_t count) {
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(Wide()));
  uint16_t numbers[lanes];
  std::fill_n(numbers, lanes, *static_cast<const uint16_t*>(b));
  const auto number = load(numbers);
  auto* to = static_cast<uint16_t*>(dst);
  const auto* from = static_cast<const uint16_t*>(a);
  int64_t i = 0;
  if constexpr (bf16::has_pairs) {
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      const auto x = bf16::load_pair(from + i);
      bf16::store_pair({Op::apply(x.even, number), Op::apply(x.odd, number)}, to + i);
    }
  }
  for (; i + lanes <= count; i += lanes) store(Op::apply(load(from + i), number), to + i);
  if (i < count) run_rest<Op>(to + i, from + i, numbers, count - i);
}

// By way of f32, a piece at a time; `b` is one exponent or, with steps of 1, one for each base.
template <int64_t step>
void power_by_floats(void* dst, const void* a, const void* b, const void*, int64_t count) {
  constexpr int64_t most = constants::converted_elements;
  alignas(64) float bases[most], exponents[most];
  const Convert widen = find_convert(BP_BF16, BP_F32), round = find_convert(BP_F32, BP_BF16);
  const Primitive run = step == 0 ? find_numbered(BP_X_POW, BP_F32, number_last).run
                                  : find_primitive(BP_X_POW, BP_F32);
  for (int64_t i = 0, some = 0; i < count; i += some) {
    some = std::min(count - i, most);
    widen(bases, static_cast<const uint16_t*>(a) + i, some);
    widen(exponents, static_cast<const uint16_t*>(b) + i * step, step == 0 ? 1 : some);
    run(bases, bases, exponents, nullptr, some);
    round(static_cast<uint16_t*>(dst) + i, bases, some);
  }
}

// Squares are most of what is asked for.
void power(void* dst, const void* a, const void* b, const void*, int64_t count) {
  constexpr uint16_t two = 0x4000;
  if (*static_cast<const uint16_t*>(b) == two) return binary<vector::Mul>(dst, a, a, b, count);
  power_by_floats<0>(dst, a, b, nullptr, count);
}

PrimitiveTable make_table() {
  PrimitiveTable table;
  const auto set = [&](uint16_t code, Primitive fn) { table.entries[code][BP_BF16] = fn; };
  const auto set_numbered = [&](uint16_t code, Primitive fn) {
    table.numbered[number_last][code][BP_BF16] = {fn, 0b010};
  };
  set_numbered(BP_X_ADD, with_last<vector::Add>);
  set_numbered(BP_X_SUB, with_last<vector::Sub>);
  set_numbered(BP_X_MUL, with_last<vector::Mul>);
  set_numbered(BP_X_DIV, with_last<vector::Div>);
  set_numbered(BP_X_POW, power);
  set(BP_X_ADD, binary<vector::Add>);
  set(BP_X_SUB, binary<vector::Sub>);
  set(BP_X_MUL, binary<vector::Mul>);
  set(BP_X_DIV, binary<vector::Div>);
  set(BP_X_SQRT, unary<Sqrt>);
  set(BP_X_POW, power_by_floats<1>);
  return table;
}

}  // namespace

const PrimitiveTable& bf16_table() {
  static const PrimitiveTable table = make_table();
  return table;
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(bf16_table);

const PrimitiveTable& bf16_primitives() {
  return HWY_DYNAMIC_DISPATCH(bf16_table)();
}

}  // namespace bp::cpu::tile
#endif
