// The expressions of fused.hpp as one pass each, of f32, f64 and bf16, and of i64 where rows have it. Compiled without contracting
// products and sums, so that each gives the bits of its steps one by one.
#include "tile/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tile/fused.cpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <type_traits>

#include "tile/bf16-inl.hpp"
#include "tile/fused.hpp"
#include "tile/vector_arithmetic-inl.hpp"
#include "tile/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bp::cpu::tile::HWY_NAMESPACE {
namespace {

template <class D> struct Operands {
  using V = hn::Vec<D>;
  V values[3];
};

template <class D, int k>
HWY_INLINE hn::Vec<D> evaluate(shape::Operand<k>, D, const Operands<D>& in) {
  return in.values[k];
}
template <shape::IsNumber Number, class D>
HWY_INLINE hn::Vec<D> evaluate(Number, D d, const Operands<D>&) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(Number::value));
}

template <class D, uint16_t code, class X>
HWY_INLINE hn::Vec<D> evaluate(shape::Step<code, X>, D d, const Operands<D>& in) {
  const auto x = evaluate(X{}, d, in);
  if constexpr (code == BP_X_ABS) return hn::Abs(x);
  if constexpr (code == BP_X_SQRT) return hn::Sqrt(x);
  if constexpr (code == BP_X_EXPM1) return expm1(d, x);
  if constexpr (code == BP_X_EXP) return exp(d, x);
  if constexpr (code == BP_X_ERF) return erf(d, x);
  if constexpr (code == BP_X_SIGMOID) return sigmoid(d, x);
}

// Against numbers that are neither NaN nor 0 (where the sign would tell), one instruction says which is larger: x86 gives the second of
// two that do not compare.
constexpr bool has_second_of_unordered =
    HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;

template <class D, class L, shape::IsNumber R>
requires(has_second_of_unordered&& R::value !=
         0) HWY_INLINE hn::Vec<D> evaluate(shape::Max<L, R>, D d, const Operands<D>& in) {
  return hn::Max(evaluate(R{}, d, in), evaluate(L{}, d, in));
}
// A sum with a number that is not 0 is never -0.
template <class D, class L, shape::IsNumber R>
requires(has_second_of_unordered&& R::value !=
         0) HWY_INLINE hn::Vec<D> evaluate(shape::Max<shape::Add<L, R>, shape::Zero>, D d,
                                           const Operands<D>& in) {
  return hn::Max(hn::Zero(d), evaluate(shape::Add<L, R>{}, d, in));
}
template <class D, class L, shape::IsNumber R>
requires(has_second_of_unordered&& R::value !=
         0) HWY_INLINE hn::Vec<D> evaluate(shape::Min<L, R>, D d, const Operands<D>& in) {
  return hn::Min(evaluate(R{}, d, in), evaluate(L{}, d, in));
}

// Clamp with limits of that kind; or with one that is 0, which stands for -0 as well.
template <bool has_zero> struct ClampByNumbers {};
template <class D, bool has_zero>
HWY_INLINE hn::Vec<D> evaluate(ClampByNumbers<has_zero>, D d, const Operands<D>& in) {
  const auto limited = hn::Min(in.values[2], hn::Max(in.values[1], in.values[0]));
  return has_zero ? hn::Add(limited, hn::Zero(d)) : limited;
}

template <class D, uint16_t code, class L, class R>
HWY_INLINE auto evaluate(shape::Step<code, L, R>, D d, const Operands<D>& in) {
  const auto a = evaluate(L{}, d, in);
  const auto b = evaluate(R{}, d, in);
  constexpr bool is_float = std::is_floating_point_v<hn::TFromD<D>>;
  if constexpr (code == BP_X_ADD) return hn::Add(a, b);
  if constexpr (code == BP_X_SUB) return hn::Sub(a, b);
  if constexpr (code == BP_X_MUL) return hn::Mul(a, b);
  if constexpr (code == BP_X_DIV) return hn::Div(a, b);
  if constexpr (code == BP_X_MAX && is_float) return vector::Max::apply(a, b);
  if constexpr (code == BP_X_MIN && is_float) return vector::Min::apply(a, b);
  if constexpr (code == BP_X_MAX && !is_float) return hn::Max(a, b);
  if constexpr (code == BP_X_MIN && !is_float) return hn::Min(a, b);
  if constexpr (code == BP_X_LT) return hn::Lt(a, b);
  if constexpr (code == BP_X_GT) return hn::Gt(a, b);
  if constexpr (code == BP_X_EQ) return hn::Eq(a, b);
  if constexpr (code == BP_X_NE) return hn::Not(hn::Eq(a, b));  // true of NaN, unlike hn::Ne
  if constexpr (code == BP_X_AND) return hn::And(a, b);
}

template <class D, class Mask, class L, class R>
HWY_INLINE hn::Vec<D> evaluate(shape::Step<BP_X_SELECT, Mask, L, R>, D d, const Operands<D>& in) {
  return hn::IfThenElse(evaluate(Mask{}, d, in), evaluate(L{}, d, in), evaluate(R{}, d, in));
}

#if HWY_NATIVE_FMA
// x / 6 rounded once, by its reciprocal and what that leaves over: exact where neither is denormal, as from 0 to 6 here.
template <class D> HWY_INLINE hn::Vec<D> evaluate(shape::Hardsigmoid, D d, const Operands<D>& in) {
  const auto six = hn::Set(d, hn::TFromD<D>(6));
  const auto sixth = hn::Set(d, hn::TFromD<D>(1) / 6);
  const auto x = evaluate(shape::UpToSix{}, d, in);
  const auto near = hn::Mul(x, sixth);
  return hn::MulAdd(hn::NegMulAdd(near, six, x), sixth, near);
}
#endif

// Where all are positive, as much behind other layers is, there is nothing to compute.
template <class D, class X> HWY_INLINE hn::Vec<D> evaluate_elu(X, D d, const Operands<D>& in) {
  const auto is_positive = hn::Gt(in.values[0], hn::Zero(d));
  if (hn::AllTrue(d, is_positive)) return in.values[0];
  return hn::IfThenElse(is_positive, in.values[0], evaluate(X{}, d, in));
}
template <class D> HWY_INLINE hn::Vec<D> evaluate(shape::Elu, D d, const Operands<D>& in) {
  return evaluate_elu(shape::Mul<shape::B, shape::Expm1<shape::A>>{}, d, in);
}
template <class D> HWY_INLINE hn::Vec<D> evaluate(shape::EluOfOne, D d, const Operands<D>& in) {
  return evaluate_elu(shape::Expm1<shape::A>{}, d, in);
}

template <class T> struct Memory {
  using D = hn::ScalableTag<T>;
  using Element = T;
  static HWY_INLINE hn::Vec<D> load(const T* from) { return hn::LoadU(D(), from); }
  static HWY_INLINE void store(hn::Vec<D> value, T* to) { hn::StoreU(value, D(), to); }
  static constexpr bool has_pairs = false;
};
struct Bf16Memory {
  using D = bf16::Wide;
  using Element = uint16_t;
  static HWY_INLINE hn::Vec<D> load(const uint16_t* from) { return bf16::load(from); }
  static HWY_INLINE void store(hn::Vec<D> value, uint16_t* to) { bf16::store(value, to); }
  static constexpr bool has_pairs = bf16::has_pairs, needs_rounding = true;
};
// Of results that are numbers of bf16 already.
struct ExactBf16Memory : Bf16Memory {
  static HWY_INLINE void store(hn::Vec<D> value, uint16_t* to) { bf16::store_exact(value, to); }
  static constexpr bool needs_rounding = false;
};

template <class Shape> struct CountOperands;
template <shape::IsNumber Number> struct CountOperands<Number> { static constexpr int value = 0; };
template <int k> struct CountOperands<shape::Operand<k>> { static constexpr int value = k + 1; };
template <uint16_t code, class... Shapes> struct CountOperands<shape::Step<code, Shapes...>> {
  static constexpr int value = std::max({CountOperands<Shapes>::value...});
};

template <bool has_zero> struct CountOperands<ClampByNumbers<has_zero>> {
  static constexpr int value = 3;
};

// Operands in `numbers` are one element each, of the type that is computed in.
template <class Shape, class Memory, uint8_t numbers>
void run(void* dst, const void* a, const void* b, const void* c, int64_t count) {
  using D = typename Memory::D;
  using Element = typename Memory::Element;
  using T = hn::TFromD<D>;
  constexpr int num_operands = CountOperands<Shape>::value;
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const void* from[] = {a, b, c};
  auto* to = static_cast<Element*>(dst);
  Operands<D> in;
  const auto load = [&](int64_t i) HWY_ATTR {
    for (int k = 0; k < num_operands; ++k) {
      if ((numbers >> k & 1) == 0)
        in.values[k] = Memory::load(static_cast<const Element*>(from[k]) + i);
    }
  };
  for (int k = 0; k < num_operands; ++k) {
    if ((numbers >> k & 1) != 0) in.values[k] = hn::Set(D(), *static_cast<const T*>(from[k]));
  }
  int64_t i = 0;
  if constexpr (Memory::has_pairs) {
    Operands<D> other = in;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      for (int k = 0; k < num_operands; ++k) {
        if ((numbers >> k & 1) != 0) continue;
        const auto pair = bf16::load_pair(static_cast<const uint16_t*>(from[k]) + i);
        in.values[k] = pair.even;
        other.values[k] = pair.odd;
      }
      const auto even = evaluate(Shape{}, D(), in), odd = evaluate(Shape{}, D(), other);
      if constexpr (Memory::needs_rounding)
        bf16::store_pair({even, odd}, to + i);
      else
        bf16::store_exact_pair({even, odd}, to + i);
    }
  }
  for (; i + lanes <= count; i += lanes) {
    load(i);
    Memory::store(evaluate(Shape{}, D(), in), to + i);
  }
  if (i == count) return;
  // The rest by way of whole vectors of it.
  const auto bytes = static_cast<size_t>(count - i) * sizeof(Element);
  Element rest[3][lanes] = {};
  for (int k = 0; k < num_operands; ++k) {
    if ((numbers >> k & 1) != 0) continue;
    std::memcpy(rest[k], static_cast<const Element*>(from[k]) + i, bytes);
    from[k] = rest[k];
  }
  load(0);
  Memory::store(evaluate(Shape{}, D(), in), rest[0]);
  std::memcpy(to + i, rest[0], bytes);
}

template <class Memory>
void clamp_by_numbers(void* dst, const void* a, const void* low, const void* high, int64_t count) {
  using T = hn::TFromD<typename Memory::D>;
  constexpr uint8_t numbers = 0b110;
  const T lowest = *static_cast<const T*>(low), highest = *static_cast<const T*>(high);
  const auto is_plain = [](T limit) { return limit < T(0) || limit > T(0); };
  const auto is_plain_or_0 = [&](T limit) {
    return is_plain(limit) || (limit == T(0) && !std::signbit(static_cast<double>(limit)));
  };
  if (has_second_of_unordered && is_plain_or_0(lowest) && is_plain_or_0(highest)) {
    if (!is_plain(lowest) || !is_plain(highest))
      return run<ClampByNumbers<true>, Memory, numbers>(dst, a, low, high, count);
    if constexpr (std::is_same_v<Memory, Bf16Memory>) {
      if (bf16::is_exact(lowest) && bf16::is_exact(highest))
        return run<ClampByNumbers<false>, ExactBf16Memory, numbers>(dst, a, low, high, count);
    }
    return run<ClampByNumbers<false>, Memory, numbers>(dst, a, low, high, count);
  }
  run<shape::Clamp, Memory, numbers>(dst, a, low, high, count);
}

template <class Entry, class Memory> void add(PrimitiveTable& table, uint32_t dtype) {
  using Shape = typename Entry::Shape;
  table.entries[Entry::code][dtype] = run<Shape, Memory, 0>;
  if constexpr (Entry::numbers != 0) {
    constexpr bool is_clamp = std::is_same_v<Shape, shape::Clamp>;
    table.numbered[number_last][Entry::code][dtype] = {
        is_clamp ? clamp_by_numbers<Memory> : run<Shape, Memory, Entry::numbers>, Entry::numbers};
  }
}

PrimitiveTable make_table() {
  PrimitiveTable table;
  FusedSteps::for_each([&]<class Entry>(Entry) {
    add<Entry, Memory<float>>(table, BP_F32);
    add<Entry, Memory<double>>(table, BP_F64);
    add<Entry, Bf16Memory>(table, BP_BF16);
    if constexpr (std::is_same_v<typename Entry::Shape, shape::Clamp>)
      add<Entry, Memory<int64_t>>(table, BP_I64);
  });
  return table;
}

}  // namespace

const PrimitiveTable& fused_table() {
  static const PrimitiveTable table = make_table();
  return table;
}

}  // namespace bp::cpu::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bp::cpu::tile {

HWY_EXPORT(fused_table);

const PrimitiveTable& fused_primitives() {
  return HWY_DYNAMIC_DISPATCH(fused_table)();
}

}  // namespace bp::cpu::tile
#endif
