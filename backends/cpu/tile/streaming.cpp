// Arithmetic of f32 and f64 that writes past the caches as it computes, for programs that end in it.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/streaming.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tile/primitives.hpp"
#include "tile/vector_arithmetic-inl.hpp"
#include "tile/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

template <class Op, class T>
void binary(void* dst, const void* a, const void* b, const void*, int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* to = static_cast<T*>(dst);
  const auto* left = static_cast<const T*>(a);
  const auto* right = static_cast<const T*>(b);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::Stream(Op::apply(hn::LoadU(d, left + i), hn::LoadU(d, right + i)), d, to + i);
  }
  if (i < count) {
    const auto part = static_cast<size_t>(count - i);
    store_part(Op::apply(load_part(d, left + i, part), load_part(d, right + i, part)), d, to + i,
               part);
  }
}

template <class T> void negate(void* dst, const void* a, const void*, const void*, int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* to = static_cast<T*>(dst);
  const auto* from = static_cast<const T*>(a);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::Stream(hn::Neg(hn::LoadU(d, from + i)), d, to + i);
  for (; i < count; ++i) to[i] = -from[i];
}

template <class T> void add_type(PrimitiveTable& table, uint32_t dtype) {
  const auto set = [&](uint16_t code, Primitive fn) { table.streaming[code][dtype] = fn; };
  set(BP_X_ADD, binary<vector::Add, T>);
  set(BP_X_SUB, binary<vector::Sub, T>);
  set(BP_X_MUL, binary<vector::Mul, T>);
  set(BP_X_DIV, binary<vector::Div, T>);
  set(BP_X_MAX, binary<vector::Max, T>);
  set(BP_X_MIN, binary<vector::Min, T>);
  set(BP_X_NEG, negate<T>);
}

PrimitiveTable make_table() {
  PrimitiveTable table;
  add_type<float>(table, BP_F32);
  add_type<double>(table, BP_F64);
  return table;
}

}  // namespace

const PrimitiveTable& streaming_table() {
  static const PrimitiveTable table = make_table();
  return table;
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(streaming_table);

const PrimitiveTable& streaming_primitives() {
  return HWY_DYNAMIC_DISPATCH(streaming_table)();
}

}  // namespace bp::cpu::tile
#endif
