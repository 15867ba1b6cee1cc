// Arithmetic of bf16 in one pass: in f32 between the loads and the store, rounded once to nearest even.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/bf16.cpp"
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tile/primitives.hpp"
#include "tile/vector_arithmetic-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<float>;
using Bits = hn::Rebind<uint32_t, Wide>;
using Narrow = hn::Rebind<uint16_t, Wide>;

HWY_INLINE hn::Vec<Wide> load(const uint16_t* from) {
  const Bits d;
  return hn::BitCast(Wide(), hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(Narrow(), from))));
}

HWY_INLINE void store(hn::Vec<Wide> value, uint16_t* to) {
  const Bits d;
  const auto bits = hn::BitCast(d, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto near = hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd);
  const auto is_nan = hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(Wide(), hn::IsNaN(value))));
  const auto kept = hn::IfThenElse(is_nan, hn::Or(bits, hn::Set(d, 0x400000)), near);
  const auto upper = hn::BitCast(hn::Rebind<int32_t, Wide>(), hn::ShiftRight<16>(kept));
  hn::StoreU(hn::DemoteTo(Narrow(), upper), Narrow(), to);
}

struct Sqrt {
  template <class V> static HWY_INLINE V apply(V a, V) { return hn::Sqrt(a); }
};

// `b` may be `a`, for steps of one operand.
template <class Op>
HWY_INLINE void run(uint16_t* to, const uint16_t* a, const uint16_t* b, int64_t count) {
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(Wide()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(Op::apply(load(a + i), load(b + i)), to + i);
  if (i == count) return;
  const auto bytes = static_cast<size_t>(count - i) * sizeof(uint16_t);
  uint16_t left[lanes] = {}, right[lanes] = {};
  std::memcpy(left, a + i, bytes);
  std::memcpy(right, b + i, bytes);
  store(Op::apply(load(left), load(right)), left);
  std::memcpy(to + i, left, bytes);
}

template <class Op>
void binary(void* dst, const void* a, const void* b, const void*, int64_t count) {
  run<Op>(static_cast<uint16_t*>(dst), static_cast<const uint16_t*>(a),
          static_cast<const uint16_t*>(b), count);
}
template <class Op> void unary(void* dst, const void* a, const void*, const void*, int64_t count) {
  binary<Op>(dst, a, a, nullptr, count);
}

PrimitiveTable make_table() {
  PrimitiveTable table;
  const auto set = [&](uint16_t code, Primitive fn) { table.entries[code][BP_BF16] = fn; };
  set(BP_X_ADD, binary<vector::Add>);
  set(BP_X_SUB, binary<vector::Sub>);
  set(BP_X_MUL, binary<vector::Mul>);
  set(BP_X_DIV, binary<vector::Div>);
  set(BP_X_SQRT, unary<Sqrt>);
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
