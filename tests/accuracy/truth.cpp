#include "truth.hpp"

#include <algorithm>
#include <cmath>
#include <quadmath.h>

#include <backplane/generated/steps.h>

#include "judge/calls.hpp"

namespace bp::accuracy {
namespace {

double function(std::uint16_t code, double a) {
  return function_step(code, a);
}
double function(std::uint16_t code, double a, double b) {
  return function_step(code, a, b);
}

Quad function(std::uint16_t code, Quad a) {
  switch (code) {
    case BP_X_EXP: return expq(a);
    case BP_X_LOG: return logq(a);
    case BP_X_SQRT: return sqrtq(a);
    case BP_X_SIN: return sinq(a);
    case BP_X_COS: return cosq(a);
    case BP_X_TANH: return tanhq(a);
    case BP_X_FLOOR: return floorq(a);
    case BP_X_CEIL: return ceilq(a);
    case BP_X_TRUNC: return truncq(a);
    case BP_X_ROUND: return nearbyintq(a);
    case BP_X_SIGMOID: return 1 / (1 + expq(-a));
    case BP_X_EXPM1: return expm1q(a);
    case BP_X_LOG1P: return log1pq(a);
    case BP_X_ERF: return erfq(a);
    case BP_X_TAN: return tanq(a);
    case BP_X_ASIN: return asinq(a);
    case BP_X_ACOS: return acosq(a);
    case BP_X_ATAN: return atanq(a);
    case BP_X_SINH: return sinhq(a);
    case BP_X_COSH: return coshq(a);
    case BP_X_ASINH: return asinhq(a);
    case BP_X_ACOSH: return acoshq(a);
    case BP_X_ATANH: return atanhq(a);
    case BP_X_EXP2: return exp2q(a);
    case BP_X_LOG2: return log2q(a);
    case BP_X_LOG10: return log10q(a);
    case BP_X_ERFC: return erfcq(a);
    default: return nanq("");
  }
}

Quad function(std::uint16_t code, Quad a, Quad b) {
  switch (code) {
    case BP_X_POW: return powq(a, b);
    case BP_X_ATAN2: return atan2q(a, b);
    case BP_X_FMOD: return fmodq(a, b);
    case BP_X_COPYSIGN: return copysignq(a, b);
    default: return nanq("");
  }
}

template <class T> T step(std::uint16_t code, T a, T b, T c) {
  switch (code) {
    case BP_X_ADD: return a + b;
    case BP_X_SUB: return a - b;
    case BP_X_MUL: return a * b;
    case BP_X_DIV: return a / b;
    case BP_X_NEG: return -a;
    case BP_X_ABS: return a < 0 ? -a : a + 0;  // -0 + 0 is 0
    case BP_X_MAX: return a != a || a > b ? a : b;
    case BP_X_MIN: return a != a || a < b ? a : b;
    case BP_X_EQ: return a == b;
    case BP_X_NE: return a != b;
    case BP_X_LT: return a < b;
    case BP_X_LE: return a <= b;
    case BP_X_GT: return a > b;
    case BP_X_GE: return a >= b;
    case BP_X_AND: return a != 0 && b != 0;
    case BP_X_OR: return a != 0 || b != 0;
    case BP_X_NOT: return a == 0;
    case BP_X_SELECT: return a != 0 ? b : c;
    default: return bp_steps[code].num_operands == 2 ? function(code, a, b) : function(code, a);
  }
}

// An argument for each element, or the one number that it is.
template <class T>
void read_argument(const conform::Problem& problem, std::uint32_t place,
                   const std::vector<Column<double>>& inputs, Column<T>& out) {
  if (place < problem.arguments.size() && problem.arguments[place].is_tensor()) {
    const Column<double>& input =
        inputs[static_cast<std::size_t>(problem.arguments[place].tensors[0])];
    std::copy(input.begin(), input.end(), out.begin());
    return;
  }
  const std::string& name = problem.op->schema->arguments[place].name;
  const bp_value value = conform::argument_value(problem, name.c_str());
  std::fill(out.begin(), out.end(), T(Scalar::from_value(value).to_double()));
}

}  // namespace

template <class T>
Column<T> truth(const conform::Problem& problem, const std::vector<Column<double>>& inputs) {
  const Operator& op = *problem.op;
  const std::size_t count = inputs[0].size();
  std::vector<Column<T>> steps(op.num_nodes, Column<T>(count));
  for (std::uint32_t n = 0; n < op.num_nodes; ++n) {
    const bp_expr_node& node = op.nodes[n];
    Column<T>& out = steps[n];
    if (node.code == BP_X_ARG) {
      read_argument(problem, node.a, inputs, out);
    } else if (node.code == BP_X_CONST) {
      std::fill(out.begin(), out.end(), T(node.imm));
    } else {
      const Column<T>&a = steps[node.a], &b = steps[node.b], &c = steps[node.c];
      for (std::size_t i = 0; i < count; ++i) out[i] = step(node.code, a[i], b[i], c[i]);
    }
  }
  return std::move(steps.back());
}

template Column<double> truth(const conform::Problem&, const std::vector<Column<double>>&);
template Column<Quad> truth(const conform::Problem&, const std::vector<Column<double>>&);

}  // namespace bp::accuracy
