// Expressions that are one step of a program instead of several, each written once as a type: compiling a program looks for them in
// a row's expression, and fused.cpp makes vector code of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <backplane/abi.h>

#include "tile/primitives.hpp"

namespace bp::cpu::tile {
namespace shape {

// The step's operands, which may be any expressions.
template <int index> struct Operand {};
template <int over, int under = 1> struct Number {
  static constexpr double value = static_cast<double>(over) / under;
};
struct SqrtOfHalf {
  static constexpr double value = 0.7071067811865476;
};
struct NormalAtZero {
  static constexpr double value = 0.3989422804014327;
};
template <class Shape>
concept IsNumber = requires {
  Shape::value;
};
template <uint16_t code, class... Operands> struct Step {};

using A = Operand<0>;
using B = Operand<1>;
using C = Operand<2>;
using Zero = Number<0>;
using One = Number<1>;

template <class L, class R> using Add = Step<BP_X_ADD, L, R>;
template <class L, class R> using Sub = Step<BP_X_SUB, L, R>;
template <class L, class R> using Mul = Step<BP_X_MUL, L, R>;
template <class L, class R> using Div = Step<BP_X_DIV, L, R>;
template <class L, class R> using Max = Step<BP_X_MAX, L, R>;
template <class L, class R> using Min = Step<BP_X_MIN, L, R>;
template <class L, class R> using Lt = Step<BP_X_LT, L, R>;
template <class L, class R> using Gt = Step<BP_X_GT, L, R>;
template <class L, class R> using Eq = Step<BP_X_EQ, L, R>;
template <class L, class R> using Ne = Step<BP_X_NE, L, R>;
template <class L, class R> using And = Step<BP_X_AND, L, R>;
template <class L, class R> using Fmod = Step<BP_X_FMOD, L, R>;
template <class X> using Floor = Step<BP_X_FLOOR, X>;
template <class X> using Abs = Step<BP_X_ABS, X>;
template <class X> using Sqrt = Step<BP_X_SQRT, X>;
template <class X> using Expm1 = Step<BP_X_EXPM1, X>;
template <class X> using Erf = Step<BP_X_ERF, X>;
template <class X> using Exp = Step<BP_X_EXP, X>;
template <class X> using Sigmoid = Step<BP_X_SIGMOID, X>;
template <class M, class L, class R> using Select = Step<BP_X_SELECT, M, L, R>;

using Clamp = Min<Max<A, B>, C>;
using LeakyRelu = Select<Gt<A, Zero>, A, Mul<A, B>>;
using Elu = Select<Gt<A, Zero>, A, Mul<B, Expm1<A>>>;
using EluOfOne = Select<Gt<A, Zero>, A, Expm1<A>>;
using UpToSix = Min<Max<Add<A, Number<3>>, Zero>, Number<6>>;
using Hardsigmoid = Div<UpToSix, Number<6>>;
using Hardswish = Mul<A, Hardsigmoid>;
using Span = Sub<B, A>;
using Lerp = Select<Lt<Abs<C>, Number<1, 2>>, Add<A, Mul<C, Span>>, Sub<B, Mul<Span, Sub<One, C>>>>;
using Addcmul = Add<A, Mul<B, C>>;
using Addcdiv = Add<A, Div<B, C>>;
using Reciprocal = Div<One, A>;
using Rsqrt = Div<One, Sqrt<A>>;
using Larger = Max<Abs<A>, Abs<B>>;
using Shorter = Div<Min<Abs<A>, Abs<B>>, Larger>;
template <class X> using IsInfinite = And<Ne<Sub<Abs<X>, Abs<X>>, Zero>, Eq<X, X>>;
using Hypot = Select<
    IsInfinite<A>, Abs<A>,
    Select<IsInfinite<B>, Abs<B>,
           Select<Eq<Larger, Zero>, Abs<A>, Mul<Larger, Sqrt<Add<One, Mul<Shorter, Shorter>>>>>>>;
using Rest = Fmod<A, B>;
using Whole = Div<Sub<A, Rest>, B>;
using HasOtherSign = And<Ne<Rest, Zero>, Ne<Lt<B, Zero>, Lt<Rest, Zero>>>;
using Below = Select<HasOtherSign, Sub<Whole, One>, Whole>;
using Nearest =
    Select<Gt<Sub<Below, Floor<Below>>, Number<1, 2>>, Add<Floor<Below>, One>, Floor<Below>>;
using FloorDivide =
    Select<Eq<B, Zero>, Div<A, B>, Select<Eq<Below, Zero>, Mul<Div<A, B>, Zero>, Nearest>>;
using Sign = Select<Gt<A, Zero>, One, Select<Lt<A, Zero>, Number<-1>, Zero>>;
using NormalBelow = Add<Number<1, 2>, Mul<Number<1, 2>, Erf<Mul<A, SqrtOfHalf>>>>;
using Gelu = Mul<A, NormalBelow>;
using GeluSlope = Add<NormalBelow, Mul<A, Mul<NormalAtZero, Exp<Mul<Mul<A, A>, Number<-1, 2>>>>>>;
using SiluSlope = Mul<Sigmoid<A>, Add<One, Mul<A, Sub<One, Sigmoid<A>>>>>;

}  // namespace shape

// `numbers`: operands that are one element in the step's numbered form (0: it has none).
template <uint16_t step, class Expression, uint8_t numbers_ = 0> struct Fused {
  static constexpr uint16_t code = step;
  static constexpr uint8_t numbers = numbers_;
  using Shape = Expression;
};
template <class... Entries> struct FusedList {
  template <class F> static void for_each(F&& f) { (f(Entries{}), ...); }
};

enum FusedCode : uint16_t {
  step_clamp = step_first_fused,
  step_leaky_relu,
  step_elu,
  step_elu_of_one,
  step_hardswish,
  step_hardsigmoid,
  step_lerp,
  step_addcmul,
  step_addcdiv,
  step_rsqrt,
  step_reciprocal,
  step_hypot,
  step_floor_divide,
  step_gelu_slope,
  step_silu_slope,
  after_fused_steps
};
static_assert(after_fused_steps <= num_steps_known);

// The larger expressions first: the first that fits is taken.
using FusedSteps =
    FusedList<Fused<step_gelu_slope, shape::GeluSlope>, Fused<step_silu_slope, shape::SiluSlope>,
              Fused<step_clamp, shape::Clamp, 0b110>,
              Fused<step_leaky_relu, shape::LeakyRelu, 0b010>, Fused<step_elu, shape::Elu, 0b010>,
              Fused<step_elu_of_one, shape::EluOfOne>, Fused<step_hardswish, shape::Hardswish>,
              Fused<step_hardsigmoid, shape::Hardsigmoid>, Fused<step_lerp, shape::Lerp, 0b100>,
              Fused<step_addcmul, shape::Addcmul>, Fused<step_addcdiv, shape::Addcdiv>,
              Fused<step_rsqrt, shape::Rsqrt>, Fused<step_reciprocal, shape::Reciprocal>,
              Fused<step_hypot, shape::Hypot>>;
// Those that have code elsewhere.
using OtherFusedSteps = FusedList<Fused<step_sign, shape::Sign>, Fused<step_gelu, shape::Gelu>,
                                  Fused<step_floor_divide, shape::FloorDivide>>;

// A step found: what stands where its operands are, by the numbers of nodes; -1 beyond.
struct FoundStep {
  uint16_t code;
  int operands[3];
};

// Whether `nodes[index]`, with all below it, is one of these steps, and `dtype` has it. Nodes in `is_one` count as 1.
bool find_fused(std::span<const bp_expr_node> nodes, int index, uint32_t dtype,
                const std::vector<bool>& is_one, FoundStep& found);
// The operands that are one element in this step's numbered form.
uint8_t numbers_of_fused(uint16_t code);

}  // namespace bp::cpu::tile
