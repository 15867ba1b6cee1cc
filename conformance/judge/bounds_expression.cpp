// Bounds of elementwise rows: the row's own ulps, and for expressions of several steps what rounding each of them makes
// of the result (running error analysis, in float64).
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <backplane/generated/steps.h>
#include <backplane/tensor/views.hpp>

#include "judge/calls.hpp"

namespace bp::conform {
namespace {

// A step's value for one element, and how far from it a computed one may be.
struct Approximate {
  double value = 0, error = 0;
};

double larger_of(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

// Of comparisons: 1 or 0, and an error of 1 where rounding may turn it over.
Approximate compared(const bp_expr_node& node, Approximate a, Approximate b) {
  const double x = a.value, y = b.value;
  bool holds = false;
  switch (node.code) {
    case BP_X_EQ: holds = x == y; break;
    case BP_X_NE: holds = x != y; break;
    case BP_X_LT: holds = x < y; break;
    case BP_X_LE: holds = x <= y; break;
    case BP_X_GT: holds = x > y; break;
    case BP_X_GE: holds = x >= y; break;
    case BP_X_AND: holds = x != 0 && y != 0; break;
    case BP_X_OR: holds = x != 0 || y != 0; break;
    default: holds = x == 0; break;
  }
  const double slack = a.error + b.error;
  return {holds ? 1.0 : 0.0, slack > 0 && std::fabs(x - y) <= slack ? 1.0 : 0.0};
}

class Steps {
 public:
  Steps(const Evaluation& all, const ExpectedTensor& out)
      : op_(all.op()), format_(compute_format(out.dtype)),
        underflow_(all.flushes(out.dtype) ? format_.smallest_normal() : format_.smallest()) {
    for (std::uint32_t n = 0; n < op_.num_nodes; ++n) {
      columns_.emplace_back();
      if (op_.nodes[n].code == BP_X_ARG) columns_.back() = column(all, op_.nodes[n].a, out);
    }
    steps_.resize(op_.num_nodes);
  }

  Approximate evaluate(std::size_t element) {
    for (std::uint32_t n = 0; n < op_.num_nodes; ++n) {
      const bp_expr_node& node = op_.nodes[n];
      if (node.code == BP_X_ARG)
        steps_[n] = {columns_[n][columns_[n].size() == 1 ? 0 : element], 0};
      else if (node.code == BP_X_CONST)
        steps_[n] = {node.imm, std::fabs(rounded(node.imm) - node.imm)};
      else
        steps_[n] = step(node, n + 1 == op_.num_nodes);
    }
    return steps_.back();
  }

 private:
  double rounded(double value) const { return rounded_to(value, format_.digits == 53 ? f64 : f32); }

  // An argument for each element, or the one number that it is.
  std::vector<double> column(const Evaluation& all, std::size_t argument,
                             const ExpectedTensor& out) const {
    Scalar number(0);
    const Tensor values = all.operand(all.inputs, argument, out.shape, number);
    return values.defined() ? doubles_of(values) : std::vector{rounded(number.to_double())};
  }

  Approximate step(const bp_expr_node& node, bool is_last) const {
    const Approximate &a = steps_[node.a], &b = steps_[node.b];
    Approximate result;
    if (node.code == BP_X_SELECT) return selected(a, b, steps_[node.c]);
    const std::uint8_t kind = bp_steps[node.code].kind;
    if (kind == BP_STEP_COMPARISON || kind == BP_STEP_LOGIC) return compared(node, a, b);
    const bool is_sum_or_product = node.code == BP_X_ADD || node.code == BP_X_SUB ||
                                   node.code == BP_X_MUL || node.code == BP_X_DIV;
    if (is_sum_or_product && (is_surely_nan(a) || is_surely_nan(b))) return {std::nan(""), 0};
    switch (node.code) {
      case BP_X_ADD: result = {a.value + b.value, a.error + b.error}; break;
      case BP_X_SUB: result = {a.value - b.value, a.error + b.error}; break;
      case BP_X_MUL: result = multiplied(a, b); break;
      case BP_X_DIV: result = divided(a, b); break;
      case BP_X_NEG: return {-a.value, a.error};
      case BP_X_ABS: return {std::fabs(a.value), a.error};
      case BP_X_MAX: return {larger_of(a.value, b.value), std::max(a.error, b.error)};
      case BP_X_MIN: return {-larger_of(-a.value, -b.value), std::max(a.error, b.error)};
      case BP_X_COPYSIGN: return with_sign(a, b);
      default:
        result = bp_steps[node.code].num_operands == 2 ? applied(node.code, a, b)
                                                       : applied(node.code, a);
        break;
    }
    return with_own_rounding(node, result, a, b, is_last);
  }

  static Approximate selected(Approximate condition, Approximate a, Approximate b) {
    const Approximate chosen = condition.value != 0 ? a : b;
    if (condition.error == 0) return chosen;
    const double other = std::fabs(a.value - b.value) + a.error + b.error;
    return {chosen.value, std::isnan(other) ? HUGE_VAL : other};
  }

  static bool is_surely_nan(Approximate a) { return std::isnan(a.value) && a.error == 0; }

  static Approximate multiplied(Approximate a, Approximate b) {
    double error = a.error != 0 && b.error != 0 ? a.error * b.error : 0;
    if (a.error != 0) error += std::fabs(b.value) * a.error;
    if (b.error != 0) error += std::fabs(a.value) * b.error;
    return {a.value * b.value, error};
  }

  static Approximate divided(Approximate a, Approximate b) {
    const double value = a.value / b.value;
    if (a.error == 0 && b.error == 0) return {value, 0};
    const double least = std::fabs(b.value) - b.error;
    if (!(least > 0)) return {value, HUGE_VAL};
    return {value, (a.error + std::fabs(value) * b.error) / least};
  }

  // An error of less than the next float64 would be lost in a sum.
  static double reach_of(Approximate a) {
    const double size = std::fabs(a.value);
    return a.error == 0 ? 0 : std::max(a.error, std::nextafter(size, HUGE_VAL) - size);
  }

  static Approximate applied(std::uint16_t code, Approximate a) {
    const double value = function_step(code, a.value);
    if (a.error == 0) return {value, 0};
    const double reach = reach_of(a);
    const double up = std::fabs(function_step(code, a.value + reach) - value);
    const double down = std::fabs(function_step(code, a.value - reach) - value);
    const double error = std::max(up, down);
    return {value, std::isnan(error) ? HUGE_VAL : error};
  }

  // What the corners of what its operands may be make of it; fmod, which jumps, is open where they may differ.
  static Approximate applied(std::uint16_t code, Approximate a, Approximate b) {
    const double value = function_step(code, a.value, b.value);
    double error = 0;
    if (code == BP_X_FMOD && (a.error != 0 || b.error != 0)) return {value, HUGE_VAL};
    for (const double left : {-reach_of(a), reach_of(a)})
      for (const double right : {-reach_of(b), reach_of(b)}) {
        const double off = function_step(code, a.value + left, b.value + right) - value;
        if (left == 0 && right == 0) continue;
        error = std::isnan(off) ? HUGE_VAL : std::max(error, std::fabs(off));
      }
    return {value, error};
  }

  static Approximate with_sign(Approximate a, Approximate b) {
    const bool is_open = b.error != 0 && std::fabs(b.value) <= b.error;
    return {std::copysign(a.value, b.value), a.error + (is_open ? 2 * std::fabs(a.value) : 0)};
  }

  Approximate with_own_rounding(const bp_expr_node& node, Approximate result, Approximate a,
                                Approximate b, bool is_last) const {
    const double size = std::fabs(result.value);
    if (std::isnan(size)) return result;
    if (std::isinf(size) || size >= format_.overflow()) {
      const bool is_pole = (node.code == BP_X_DIV && b.value == 0 && b.error == 0) ||
                           (node.code == BP_X_LOG && a.value == 0 && a.error == 0);
      const bool was_finite = std::isfinite(a.value) && std::isfinite(b.value);
      if (was_finite && !is_last && !is_pole) result.error = HUGE_VAL;  // an overflow on the way
      return result;
    }
    if (node.code == BP_X_FMOD) {  // exact, but for what a device flushes
      const bool may_flush = underflow_ > format_.smallest() && size < format_.smallest_normal();
      return {result.value, result.error + (may_flush ? underflow_ : 0)};
    }
    if (is_exact(node, result, a, b)) return result;
    result.error += bp_steps[node.code].ulps * format_.ulp(size);
    if (size < format_.smallest_normal()) result.error += underflow_;
    // 1 / (1 + exp(-a)) is 0 where exp(-a) is infinite.
    if (node.code == BP_X_SIGMOID && size < 2 * format_.smallest_normal()) result.error += size;
    return result;
  }

  bool is_exact(const bp_expr_node& node, Approximate result, Approximate a, Approximate b) const {
    if (bp_steps[node.code].kind == BP_STEP_ROUNDING) return true;
    if (node.code != BP_X_ADD && node.code != BP_X_SUB && node.code != BP_X_MUL) return false;
    if (format_.digits < 53) return rounded(result.value) == result.value;
    if (node.code != BP_X_MUL) return a.value == 0 || b.value == 0;
    // A product that is 0 may have fallen below the smallest number.
    const auto keeps = [](double factor) { return factor == 0 || std::fabs(factor) == 1; };
    return keeps(a.value) || keeps(b.value);
  }

  const Operator& op_;
  FloatingFormat format_;
  double underflow_;
  std::vector<std::vector<double>> columns_;
  std::vector<Approximate> steps_;
};

int num_real_steps(const Operator& op) {
  int count = 0;
  for (std::uint32_t n = 0; n < op.num_nodes; ++n)
    count += op.nodes[n].code != BP_X_ARG && op.nodes[n].code != BP_X_CONST;
  return count;
}

bool is_small_float(Dtype dtype) {
  return dtype == f16 || dtype == bf16;
}

// ---- Complex numbers: sums, products and quotients, whose parts round by the size of the whole.

void bound_complex(const Evaluation& all, ExpectedTensor& out) {
  const FloatingFormat format = format_of(out.dtype);
  std::vector<double> sizes(out.bound.size() / 2, 0);
  // Sums: the operands' sizes. Products and quotients: the result's.
  const std::uint16_t last = all.op().num_nodes ? all.op().nodes[all.op().num_nodes - 1].code : 0;
  const bool takes_sizes = last != 0 && last != BP_X_MUL && last != BP_X_DIV;
  for (std::size_t i = 0; i < all.problem.arguments.size(); ++i) {
    const Argument& argument = all.problem.arguments[i];
    if (!argument.is_tensor() || !takes_sizes) continue;
    const Tensor& input = all.inputs[static_cast<std::size_t>(argument.tensors[0])];
    if (input.dtype() != complex128) continue;
    const std::vector<double> parts = doubles_of(views::expand(input, out.shape));
    for (std::size_t e = 0; e < sizes.size(); ++e)
      sizes[e] += std::hypot(parts[2 * e], parts[2 * e + 1]);
  }
  double alpha = 1;
  if (const bp_value value = argument_value(all.problem, "alpha"); value.tag != BP_NONE)
    alpha = std::max(1.0, std::abs(Scalar::from_value(value).to_complex()));
  const std::vector<double> wide = doubles_of(out.wide);
  for (std::size_t e = 0; e < sizes.size(); ++e) {
    const double size = std::hypot(wide[2 * e], wide[2 * e + 1]) + alpha * sizes[e];
    const double bound = (all.ulps + 2) * format.ulp(size) + 4 * format.smallest();
    // Infinite parts and NaN depend on how a product is written.
    out.bound[2 * e] = out.bound[2 * e + 1] =
        std::isfinite(size) && size < format.overflow() / 4 ? bound : HUGE_VAL;
  }
  out.rule = fmt::format("{:g} ulp of the absolute value", all.ulps + 2);
}

}  // namespace

void bound_elementwise(const Evaluation& all, ExpectedTensor& out) {
  const FloatingFormat format = format_of(out.dtype);
  const std::vector<double> wide = doubles_of(out.wide);
  out.bound.assign(wide.size(), 0);
  if (is_complex(out.dtype)) return bound_complex(all, out);
  // A number of the call that 16 bits cannot hold may have been taken as float32 or been rounded to 16 bits first.
  const double slack = has_number_beyond(all.problem, out.dtype) ? 1 : 0;
  out.ulp = is_small_float(out.dtype) ? 1 + slack : all.ulps;
  for (std::size_t i = 0; i < wide.size(); ++i) out.bound[i] = out.ulp * format.ulp(wide[i]);
  out.rule = fmt::format("{:g} ulp", out.ulp);
  if (all.kind != RuleKind::expression) return;

  const bp_value alpha = argument_value(all.problem, "alpha");
  out.signed_zero = alpha.tag == BP_NONE ? num_real_steps(all.op()) < 2
                                         : Scalar::from_value(alpha).to_complex() == 1.0;
  if (num_real_steps(all.op()) < 2) return;
  Steps steps(all, out);
  const double rounding = is_small_float(out.dtype) ? 0.5 : 0;
  for (std::size_t i = 0; i < out.bound.size(); ++i)
    out.bound[i] = std::max(out.bound[i], steps.evaluate(i).error + rounding * format.ulp(wide[i]));
  out.rule += ", or what rounding each step of the expression makes";
}

}  // namespace bp::conform
