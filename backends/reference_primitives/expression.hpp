// A row's expression, as the host hands it out, computed step by step: one interpreter for all rows that have
// one, and for those that accumulate by one.
#pragma once

#include <vector>

#include <backplane/generated/steps.h>

#include "element.hpp"

namespace reference {

// T: see with_step_type and with_sum_type. Belongs to one thread.
template <class T> class Expression {
 public:
  // `dtype`: the computation's.
  Expression(const bp_operator& op, bp::Dtype dtype)
      : nodes_(op.nodes, op.nodes + op.num_nodes), steps_(op.num_nodes) {
    constexpr uint32_t bits[] = {64, 8, 8, 16, 32, 64, 16, 32, 64};  // of BP_BOOL to BP_U64
    if constexpr (std::is_integral_v<T>) unused_bits_ = 64 - bits[static_cast<uint32_t>(dtype)];
    if (dtype != bp::boolean) return;
    for (bp_expr_node& node : nodes_)  // a bool has one bit, and is held in more
      if (node.code == BP_X_BITNOT) node.code = BP_X_NOT;
  }

  // A host that is newer than this may know steps that it does not.
  static bool knows(const bp_operator& op) {
    return std::all_of(op.nodes, op.nodes + op.num_nodes,
                       [](const bp_expr_node& node) { return node.code < BP_NUM_X; });
  }

  // An argument that is the number 1 is not a factor: times 1 + 0i, an infinite complex number is NaN.
  void leave_out_factor(uint16_t arg) {
    const auto is_factor = [&](uint16_t step) {
      return nodes_[step].code == BP_X_ARG && nodes_[step].a == arg;
    };
    for (bp_expr_node& node : nodes_) {
      if (node.code != BP_X_MUL || (!is_factor(node.a) && !is_factor(node.b))) continue;
      const uint16_t other = is_factor(node.a) ? node.b : node.a;
      node = {BP_X_SELECT, other, other, other, 0};
    }
  }

  // What an accumulation begins with.
  static T initial(const bp_operator& op) {
    if (std::is_integral_v<T> && std::isinf(op.initial))
      return op.initial < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    return convert<T>(op.initial);
  }

  // `args` by their place in the schema; `accumulated`: what BP_X_ACC stands for.
  T operator()(const T* args, T accumulated = {}) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const bp_expr_node& node = nodes_[i];
      switch (node.code) {
        case BP_X_ARG: steps_[i] = args[node.a]; break;
        case BP_X_CONST: steps_[i] = convert<T>(node.imm); break;
        case BP_X_ACC: steps_[i] = accumulated; break;
        default:
          steps_[i] = in_own_width(step(node.code, steps_[node.a], steps_[node.b], steps_[node.c]));
      }
    }
    return steps_.back();
  }

 private:
  // Signed integers wrap as unsigned ones do.
  using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  static constexpr bool is_floating = std::is_floating_point_v<T>;

  T in_own_width(T value) const {
    if constexpr (!std::is_integral_v<T>)
      return value;
    else
      return static_cast<T>(static_cast<uint64_t>(value) << unused_bits_) >> unused_bits_;
  }

  static T step(uint16_t code, T a, T b, T c) {
    const Wrapping x = static_cast<Wrapping>(a), y = static_cast<Wrapping>(b);
    switch (code) {
      case BP_X_ADD: return static_cast<T>(x + y);
      case BP_X_SUB: return static_cast<T>(x - y);
      case BP_X_MUL: return static_cast<T>(x * y);
      case BP_X_NEG: return static_cast<T>(-x);
      case BP_X_EQ: return truth(a == b);
      case BP_X_NE: return truth(a != b);
      case BP_X_AND: return truth(a != T{} && b != T{});
      case BP_X_OR: return truth(a != T{} || b != T{});
      case BP_X_NOT: return truth(a == T{});
      case BP_X_SELECT: return a != T{} ? b : c;
    }
    if constexpr (std::is_integral_v<T>) {
      switch (code) {
        case BP_X_POW: return integer_power(a, b);
        case BP_X_DIV: return b == T{} ? T{} : is_minus_one(b) ? static_cast<T>(-x) : a / b;
        case BP_X_FMOD: return b == T{} || is_minus_one(b) ? T{} : a % b;
        case BP_X_BITAND: return a & b;
        case BP_X_BITOR: return a | b;
        case BP_X_BITXOR: return a ^ b;
        case BP_X_BITNOT: return ~a;
      }
      return ordered(code, a, b);
    } else {
      return elementary(code, a, b);
    }
  }

  // By which the lowest number cannot be divided.
  static bool is_minus_one(T value) { return std::is_signed_v<T> && value == T(-1); }

  static T ordered(uint16_t code, T a, T b) {
    switch (code) {
      case BP_X_MAX: return a != a || a > b ? a : b;  // NaN alone differs from itself
      case BP_X_MIN: return a != a || a < b ? a : b;
      case BP_X_LT: return truth(a < b);
      case BP_X_LE: return truth(a <= b);
      case BP_X_GT: return truth(a > b);
      case BP_X_GE: return truth(a >= b);
      case BP_X_ABS: return a < T{} ? static_cast<T>(-static_cast<Wrapping>(a)) : a;
      default: return a;  // of integers, what rounds and is whole already
    }
  }

  static T elementary(uint16_t code, T a, T b) {
    if (code == BP_X_DIV) return a / b;
    if constexpr (is_floating) {
      const uint8_t kind = bp_steps[code].kind;
      if (kind == BP_STEP_FUNCTION && bp_steps[code].num_operands == 2)
        return bp::function_step(code, a, b);
      if (kind == BP_STEP_FUNCTION || kind == BP_STEP_ROUNDING) return bp::function_step(code, a);
      if (code == BP_X_ABS) return std::abs(a);
      return ordered(code, a, b);
    }
    if (code == BP_X_POW) return std::pow(a, b);
    switch (code) {  // of complex numbers
      case BP_X_EXP: return std::exp(a);
      case BP_X_LOG: return std::log(a);
      case BP_X_SQRT: return std::sqrt(a);
      case BP_X_SIN: return std::sin(a);
      case BP_X_COS: return std::cos(a);
      case BP_X_TANH: return std::tanh(a);
      case BP_X_SIGMOID: return T(1) / (T(1) + std::exp(-a));
      default: return a;
    }
  }

  // Wraps as products do; a negative power is a fraction, and so 0, of all but 1 and -1.
  static T integer_power(T base, T exponent) {
    if (exponent < 0)
      return base == 1 ? T(1) : base != T(-1) ? T(0) : exponent % 2 == 0 ? T(1) : T(-1);
    uint64_t result = 1, square = static_cast<uint64_t>(base);
    for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1, square *= square)
      if ((rest & 1u) != 0) result *= square;
    return static_cast<T>(result);
  }

  static T truth(bool value) { return value ? T(1) : T(0); }

  std::vector<bp_expr_node> nodes_;
  std::vector<T> steps_;
  uint32_t unused_bits_ = 0;
};

}  // namespace reference
