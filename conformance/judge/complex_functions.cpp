// Rows of real numbers on complex ones, which the core takes apart: what C's functions make of the row's expression, in long
// double, and what their parts' own roundings may make of it. C says what comes of infinities, NaN and both zeros (annex G).
#include <cmath>
#include <complex>
#include <fmt/format.h>
#include <numbers>

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/generated/steps.h>
#include <backplane/tensor/error.hpp>
#include <backplane/tensor/views.hpp>

#include "judge/calls.hpp"

namespace bp::conform {
namespace {

using Complex = std::complex<long double>;
using Column = std::vector<Complex>;

// NaN where so many turns have no angle in float32.
Complex power(Complex base, Complex exponent) {
  if (exponent == Complex()) return 1;
  if (base == Complex() && exponent.real() > 0) return 0;
  const Complex log = exponent * std::log(base);
  return std::abs(log) < 1e5L ? std::exp(log) : Complex(NAN, NAN);
}

// Without loss where `a` is small.
Complex less_one(Complex a) {
  const long double x = a.real(), y = a.imag(), half = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)};
}
Complex log_of_one_more(Complex a) {
  const long double x = a.real(), y = a.imag();
  if (std::abs(a) > 0.5L) return std::log(1.0L + a);
  return {std::log1p(x * (x + 2) + y * y) / 2, std::atan2(y, 1 + x)};
}

Complex applied(std::uint16_t code, Complex a, Complex b) {
  switch (code) {
    case BP_X_DIV: return a / b;
    case BP_X_ABS: return std::abs(a);
    case BP_X_EXP: return std::exp(a);
    case BP_X_LOG: return std::log(a);
    case BP_X_SQRT: return std::sqrt(a);
    case BP_X_SIN: return std::sin(a);
    case BP_X_COS: return std::cos(a);
    case BP_X_TAN: return std::tan(a);
    case BP_X_SINH: return std::sinh(a);
    case BP_X_COSH: return std::cosh(a);
    case BP_X_TANH: return std::tanh(a);
    case BP_X_ASIN: return std::asin(a);
    case BP_X_ACOS: return std::acos(a);
    case BP_X_ATAN: return std::atan(a);
    case BP_X_ASINH: return std::asinh(a);
    case BP_X_ACOSH: return std::acosh(a);
    case BP_X_ATANH: return std::atanh(a);
    case BP_X_LOG2: return std::log(a) / std::numbers::ln2_v<long double>;
    case BP_X_LOG10: return std::log(a) / std::numbers::ln10_v<long double>;
    // Of these C has none for complex numbers, or leaves open what comes of infinities.
    case BP_X_EXP2: return power(2, a);
    case BP_X_EXPM1: return less_one(a);
    case BP_X_LOG1P: return log_of_one_more(a);
    case BP_X_SIGMOID: return 1.0L / (1.0L + std::exp(-a));
    case BP_X_POW: return power(a, b);
    default:
      throw_error(ErrorClass::internal,
                  fmt::format("the suite has no step {} for complex numbers", code));
  }
}

bool has_ends_of_c(std::uint16_t code) {
  return code != BP_X_DIV && code != BP_X_EXP2 && code != BP_X_EXPM1 && code != BP_X_LOG1P &&
         code != BP_X_SIGMOID && code != BP_X_POW;
}

// An argument for each element, or the one number that it is.
Column column(const Evaluation& all, const std::vector<Tensor>& inputs, std::size_t argument,
              const ExpectedTensor& out) {
  Scalar number(0);
  const Tensor tensor = all.operand(inputs, argument, out.shape, number);
  if (!tensor.defined()) return {Complex(number.to_complex())};
  const std::vector<double> parts = doubles_of(tensor);
  const std::size_t stride = parts_of(tensor.dtype());
  Column values;
  for (std::size_t i = 0; i < parts.size(); i += stride)
    values.emplace_back(parts[i], stride == 2 ? parts[i + 1] : 0);
  return values;
}

const Complex& at(const Column& column, std::size_t i) {
  return column[column.size() == 1 ? 0 : i];
}

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : HUGE_VAL;
}

// By how much each result moves when the parts of its arguments move by a relative step, with whatever signs.
std::vector<double> moves_of(const Evaluation& all, const ExpectedTensor& out,
                             const std::vector<double>& wide, double step) {
  const std::size_t parts = parts_of(out.dtype);
  std::vector<double> moves(wide.size() / parts, 0);
  for (unsigned signs = 0; signs < 1u << (2 * all.inputs.size() - 1); ++signs) {
    const auto changed = [&](double value, std::size_t t, std::size_t i) {
      return value * (1 + (signs >> (2 * t + i % 2) & 1 ? step : -step));
    };
    const std::vector<double> moved = doubles_of(complex_function(all, all.changed(changed), out));
    for (std::size_t e = 0; e < moves.size(); ++e) {
      double move = 0;
      for (std::size_t k = e * parts; k < (e + 1) * parts; ++k)
        move = std::hypot(move, distance(moved[k], wide[k]));
      moves[e] = std::max(moves[e], move / step);
    }
  }
  return moves;
}

}  // namespace

bool is_complex_function(const Problem& problem) {
  return problem.op->num_nodes != 0 && std::ranges::any_of(problem.tensors, [](const Laid& laid) {
           return is_complex(laid.dtype);
         });
}

Tensor complex_function(const Evaluation& all, const std::vector<Tensor>& inputs,
                        const ExpectedTensor& out) {
  const Operator& op = all.op();
  const auto count = static_cast<std::size_t>(numel_of(out.shape));
  std::vector<Column> steps;
  for (std::uint32_t n = 0; n < op.num_nodes; ++n) {
    const bp_expr_node& node = op.nodes[n];
    if (node.code == BP_X_ARG) {
      steps.push_back(column(all, inputs, node.a, out));
    } else if (node.code == BP_X_CONST) {
      steps.push_back({Complex(node.imm)});
    } else {
      Column values;
      for (std::size_t i = 0; i < count; ++i)
        values.push_back(applied(node.code, at(steps[node.a], i), at(steps[node.b], i)));
      steps.push_back(std::move(values));
    }
  }
  const Tensor wide = empty(out.shape, wide_dtype(out.dtype), oracle());
  auto to = stored_numbers(wide).begin();
  for (std::size_t i = 0; i < count; ++i) {
    *to++ = static_cast<double>(steps.back()[i].real());
    if (is_complex(out.dtype)) *to++ = static_cast<double>(steps.back()[i].imag());
  }
  return wide;
}

void bound_complex_function(const Evaluation& all, ExpectedTensor& out) {
  constexpr double roundings = 4;
  const FloatingFormat format = format_of(out.dtype);
  const std::size_t parts = parts_of(out.dtype);
  const std::vector<double> wide = doubles_of(out.wide);
  const double step = std::max(format.unit_roundoff(), 0x1p-42);
  const std::vector<double> moves = moves_of(all, out, wide, step);
  bool follows_c = true;
  std::vector<Column> arguments;
  for (std::uint32_t n = 0; n < all.op().num_nodes; ++n) {
    if (all.op().nodes[n].code == BP_X_ARG)
      arguments.push_back(column(all, all.inputs, all.op().nodes[n].a, out));
    else
      follows_c &= has_ends_of_c(all.op().nodes[n].code);
  }
  out.bound.assign(wide.size(), HUGE_VAL);
  out.signed_zero = follows_c;
  const double lost = all.flushes(out.dtype) || !follows_c ? format.smallest_normal() : 0;
  for (std::size_t e = 0; e < moves.size(); ++e) {
    bool is_end = false, is_zero = false, has_nan = false;
    for (const Column& argument : arguments) {
      const Complex a = at(argument, e);
      is_end |= !std::isfinite(a.real()) || !std::isfinite(a.imag());
      is_zero |= a == Complex();
      has_nan |= std::isnan(a.real()) || std::isnan(a.imag());
    }
    double size = 0;
    bool is_edge = false;
    for (std::size_t k = e * parts; k < (e + 1) * parts; ++k) {
      is_edge |= !(std::fabs(wide[k]) < format.overflow() / 4);
      if (std::isfinite(wide[k])) size = std::hypot(size, wide[k]);
      has_nan |= std::isnan(wide[k]);
    }
    // What leaves the range on its way is anyone's, and so is what a step of an argument makes another number.
    if (is_edge && !is_end && !is_zero) continue;
    if (((is_edge || is_end) && !follows_c) || moves[e] * step > size / 16) continue;
    for (std::size_t k = e * parts; k < (e + 1) * parts; ++k) {
      // C leaves signs open beside NaN.
      if (has_nan && parts == 2 && (std::isinf(wide[k]) || wide[k] == 0)) continue;
      out.bound[k] = (all.ulps + roundings) * format.ulp(size) +
                     roundings * format.unit_roundoff() * moves[e] + 4 * format.smallest() + lost;
    }
  }
  out.rule = fmt::format(
      "{:g} ulp of the absolute value, and {:g} roundings of what it moves by its arguments' parts",
      all.ulps + roundings, roundings);
}

}  // namespace bp::conform
