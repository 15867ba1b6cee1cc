// Pointwise rows by the expressions that the table has for them.
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <deque>
#include <limits>
#include <type_traits>
#include <utility>

#include <backplane/generated/steps.h>

#include "elements.hpp"

namespace oracle {
namespace {

// As the dtype holds it: rounded, or cut to its width and extended again.
template <class T> T held(T value, bp::Dtype type) {
  alignas(16) unsigned char memory[16] = {};
  store<T>(memory, type, value);
  return load<T>(memory, type);
}

// ---- Integers, in their own width

bool less(Word a, Word b, bp::Dtype type) {
  const bool is_unsigned = type == bp::u8 || type == bp::u16 || type == bp::u32 || type == bp::u64;
  return is_unsigned ? a < b : static_cast<Index>(a) < static_cast<Index>(b);
}

// Wraps; a negative power is 0 unless the base is 1 or -1.
Word power(Word base, Word exponent, bp::Dtype type) {
  if (less(exponent, 0, type)) {
    if (base == 1) return 1;
    if (base == ~Word{0}) return exponent & 1 ? base : 1;
    return 0;
  }
  Word result = 1;
  for (; exponent != 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

// Truncated, by size and sign; by 0 it is 0.
Word quotient(Word a, Word b, bp::Dtype type) {
  if (b == 0) return 0;
  const Word top = less(a, 0, type) ? -a : a, bottom = less(b, 0, type) ? -b : b;
  return less(a, 0, type) != less(b, 0, type) ? -(top / bottom) : top / bottom;
}

// One place at a time, as long as something is left.
Word shifted(Word a, Word places, bool to_left, bp::Dtype type) {
  const Word filling = less(a, 0, type) ? ~Word{0} : 0;
  const bool is_open = less(places, 0, type) || places >= 64;
  if (is_open) return to_left ? 0 : filling;
  for (; places != 0; --places) a = to_left ? held(a + a, type) : (a >> 1) | (filling << 63);
  return a;
}

Word apply(std::uint16_t code, Word a, Word b, bp::Dtype type) {
  switch (code) {
    case BP_X_ADD: return a + b;
    case BP_X_SUB: return a - b;
    case BP_X_MUL: return a * b;
    case BP_X_NEG: return -a;
    case BP_X_ABS: return less(a, 0, type) ? -a : a;
    case BP_X_MAX: return less(a, b, type) ? b : a;
    case BP_X_MIN: return less(b, a, type) ? b : a;
    case BP_X_EQ: return a == b;
    case BP_X_NE: return a != b;
    case BP_X_LT: return less(a, b, type);
    case BP_X_LE: return !less(b, a, type);
    case BP_X_GT: return less(b, a, type);
    case BP_X_GE: return !less(a, b, type);
    case BP_X_AND: return a != 0 && b != 0;
    case BP_X_OR: return a != 0 || b != 0;
    case BP_X_NOT: return a == 0;
    case BP_X_FLOOR:
    case BP_X_CEIL:
    case BP_X_TRUNC:
    case BP_X_ROUND: return a;
    case BP_X_POW: return power(a, b, type);
    case BP_X_DIV: return quotient(a, b, type);
    case BP_X_FMOD: return b == 0 ? 0 : a - quotient(a, b, type) * b;
    case BP_X_SHL: return shifted(a, b, true, type);
    case BP_X_SHR: return shifted(a, b, false, type);
    case BP_X_BITAND: return a & b;
    case BP_X_BITOR: return a | b;
    case BP_X_BITXOR: return a ^ b;
    case BP_X_BITNOT: return type == bp::boolean ? Word{a == 0} : ~a;
    default: throw bp::Failure{bp::unsupported("step %u is not for integers", code)};
  }
}

// ---- Real numbers

template <class R> R larger(R a, R b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<R>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;  // 0 is the larger of 0 and -0
  return a > b ? a : b;
}

template <class R> R sigmoid(R a) {
  return a < 0 ? std::exp(a) / (1 + std::exp(a)) : 1 / (1 + std::exp(-a));
}

template <std::floating_point R> R apply(std::uint16_t code, R a, R b, bp::Dtype) {
  switch (code) {
    case BP_X_ADD: return a + b;
    case BP_X_SUB: return a - b;
    case BP_X_MUL: return a * b;
    case BP_X_DIV: return a / b;
    case BP_X_NEG: return -a;
    case BP_X_ABS: return std::fabs(a);
    case BP_X_EXP: return std::exp(a);
    case BP_X_LOG: return std::log(a);
    case BP_X_SQRT: return std::sqrt(a);
    case BP_X_SIN: return std::sin(a);
    case BP_X_COS: return std::cos(a);
    case BP_X_TANH: return std::tanh(a);
    case BP_X_MAX: return larger(a, b);
    case BP_X_MIN: return -larger(-a, -b);
    case BP_X_EQ: return a == b;
    case BP_X_NE: return a != b;
    case BP_X_LT: return a < b;
    case BP_X_LE: return a <= b;
    case BP_X_GT: return a > b;
    case BP_X_GE: return a >= b;
    case BP_X_AND: return a != 0 && b != 0;
    case BP_X_OR: return a != 0 || b != 0;
    case BP_X_NOT: return a == 0;
    case BP_X_FLOOR: return std::floor(a);
    case BP_X_CEIL: return std::ceil(a);
    case BP_X_TRUNC: return std::trunc(a);
    case BP_X_ROUND: return std::nearbyint(a);
    case BP_X_SIGMOID: return sigmoid(a);
    case BP_X_EXPM1: return std::expm1(a);
    case BP_X_LOG1P: return std::log1p(a);
    case BP_X_POW: return std::pow(a, b);
    case BP_X_ERF: return std::erf(a);
    case BP_X_TAN: return std::tan(a);
    case BP_X_ASIN: return std::asin(a);
    case BP_X_ACOS: return std::acos(a);
    case BP_X_ATAN: return std::atan(a);
    case BP_X_SINH: return std::sinh(a);
    case BP_X_COSH: return std::cosh(a);
    case BP_X_ASINH: return std::asinh(a);
    case BP_X_ACOSH: return std::acosh(a);
    case BP_X_ATANH: return std::atanh(a);
    case BP_X_EXP2: return std::exp2(a);
    case BP_X_LOG2: return std::log2(a);
    case BP_X_LOG10: return std::log10(a);
    case BP_X_ERFC: return std::erfc(a);
    case BP_X_ATAN2: return std::atan2(a, b);
    case BP_X_FMOD: return std::fmod(a, b);
    case BP_X_COPYSIGN: return std::copysign(a, b);
    default: throw bp::Failure{bp::unsupported("step %u is not for real numbers", code)};
  }
}

// ---- Complex numbers

// By the larger part of b, so that its square does not overflow.
Complex quotient(Complex a, Complex b) {
  const Real scale = std::max(std::fabs(b.real()), std::fabs(b.imag()));
  if (!(scale > 0) || std::isinf(scale)) {
    const Real square = b.real() * b.real() + b.imag() * b.imag();
    const Complex top = product(a, std::conj(b));
    return {top.real() / square, top.imag() / square};
  }
  const Complex unit{b.real() / scale, b.imag() / scale};
  const Real square = unit.real() * unit.real() + unit.imag() * unit.imag();
  const Complex top = product(a, std::conj(unit));
  return {top.real() / square / scale, top.imag() / square / scale};
}

Complex apply(std::uint16_t code, Complex a, Complex b, bp::Dtype) {
  const Complex zero;
  switch (code) {
    case BP_X_ADD: return a + b;
    case BP_X_SUB: return a - b;
    case BP_X_MUL: return product(a, b);
    case BP_X_DIV: return quotient(a, b);
    case BP_X_NEG: return -a;
    case BP_X_EQ: return Real(a == b);
    case BP_X_NE: return Real(a != b);
    case BP_X_AND: return Real(a != zero && b != zero);
    case BP_X_OR: return Real(a != zero || b != zero);
    case BP_X_NOT: return Real(a == zero);
    default: throw bp::Failure{bp::unsupported("step %u is not for complex numbers", code)};
  }
}

// ---- One call

// The values of one step for all elements, or one that is the same for all.
template <class T> struct Column {
  std::vector<T> values;
  bool is_number = false;  // of the caller's
  // A number that is 1 is not a factor: an infinite complex number times 1 + 0i would be NaN.
  bool is_no_factor() const { return is_number && values[0] == T(1); }
  const T& at(std::size_t i) const { return values[values.size() == 1 ? 0 : i]; }
};

template <class T>
Column<T> step(const bp_call& call, const bp_expr_node& node, const std::vector<Column<T>>& done,
               bp::Dtype type) {
  if (node.code == BP_X_CONST) {
    if constexpr (std::is_same_v<T, Word>)
      return {{held(static_cast<Word>(static_cast<Index>(node.imm)), type)}, false};
    else
      return {{T(node.imm)}, false};
  }
  if (node.code == BP_X_ARG) {
    const bp_value& value = call.args[node.a];
    // A number that stands for a tensor, or beside one, has the type of the computation.
    if (value.tag != BP_TENSOR) return {{held(number<T>(bp::Scalar(value)), type)}, true};
    return {read<T>(bp::In(value.u.tensor)), false};
  }
  const Column<T>&a = done[node.a], &b = done[node.b], &c = done[node.c];
  if (node.code == BP_X_MUL && a.is_no_factor()) return b;
  if (node.code == BP_X_MUL && b.is_no_factor()) return a;
  const std::size_t count = std::max({a.values.size(), b.values.size(), c.values.size()});
  Column<T> result;
  result.values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    T value = node.code == BP_X_SELECT ? (a.at(i) != T() ? b.at(i) : c.at(i))
                                       : apply(node.code, a.at(i), b.at(i), type);
    // Comparisons give 0 and 1, which every width holds.
    if constexpr (std::is_same_v<T, Word>) value = held(value, type);
    result.values.push_back(value);
  }
  return result;
}

template <class T> void evaluate(const bp_call& call, bp::Dtype type) {
  const bp_operator& op = *call.op;
  std::vector<Column<T>> done;
  for (std::uint32_t n = 0; n < op.num_nodes; ++n)
    done.push_back(step(call, op.nodes[n], done, type));
  Column<T>& last = done.back();
  const bp::Out out(call.outputs[0]);
  last.values.resize(static_cast<std::size_t>(out.numel()), last.values[0]);
  write<T>(out, last.values);
}

// What is computed in: the tensors' dtype, where they are not conditions.
bp::Dtype type_of(const bp_call& call) {
  const auto of_output = static_cast<bp::Dtype>(call.outputs[0]->dtype);
  if (of_output != bp::boolean) return of_output;
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    if (call.args[i].tag == BP_TENSOR && call.args[i].u.tensor->dtype != BP_BOOL)
      return static_cast<bp::Dtype>(call.args[i].u.tensor->dtype);
  return bp::boolean;
}

// Does the expression round once at most, and correctly? Then float64 is computed in itself: rounding long double's result
// would round twice.
bool rounds_once(const bp_operator& op) {
  int count = 0;
  for (std::uint32_t n = 0; n < op.num_nodes; ++n) {
    const std::uint16_t code = op.nodes[n].code;
    if (bp_steps[code].ulps > 0.5) return false;
    count += (code >= BP_X_ADD && code <= BP_X_DIV) || code == BP_X_SQRT;
  }
  return count <= 1;
}

bp_code run(void*, const bp_call* call) noexcept {
  return bp::guarded([&] {
    const bp::Dtype type = type_of(*call);
    if (is_complex(type))
      evaluate<Complex>(*call, type);
    else if (is_integer(type))
      evaluate<Word>(*call, type);
    else if (type == bp::f64 && rounds_once(*call->op))
      evaluate<double>(*call, type);
    else
      evaluate<Real>(*call, type);
    return bp::ok;
  });
}

// A kernel as the host keeps it: until the plugin is shut down.
struct Record {
  bp_kernel kernel{};
  std::array<bp_arg, 4> places{};
};

void describe(Record& record, const bp_operator& op) {
  for (bp_arg& place : record.places) place.scalar_ok = 1;
  bp_kernel& kernel = record.kernel;
  kernel.h = {sizeof kernel, BP_TYPE_KERNEL, nullptr};
  kernel.op = op.name;
  kernel.schema_hash = op.schema_hash;
  kernel.args = record.places.data();
  for (std::uint32_t n = 0; n < op.num_nodes; ++n)
    if (op.nodes[n].code == BP_X_ARG)
      kernel.num_args = std::max<std::uint32_t>(kernel.num_args, op.nodes[n].a + 1u);
  kernel.flags = BP_KERNEL_DETERMINISTIC;
  kernel.run = run;
}

// Taken back by forget_expressions alone: the host reads them until the plugin is shut down.
std::deque<Record>* records = nullptr;

}  // namespace

void forget_expressions() {
  delete std::exchange(records, nullptr);
}

bp::Status register_expressions() {
  if (records != nullptr) return bp::ok;
  records = new std::deque<Record>;
  std::vector<const bp_kernel*> kernels;
  const bp_host& host = bp::host();
  const bp_operator* op = nullptr;
  for (std::uint32_t i = 0; (op = host.operator_at(&host, i)) != nullptr; ++i) {
    if (op->kind != BP_KIND_POINTWISE || op->num_nodes == 0) continue;
    describe(records->emplace_back(), *op);
    kernels.push_back(&records->back().kernel);
  }
  return bp::Status::from_host(
      host.register_kernels(&host, kernels.data(), static_cast<std::uint32_t>(kernels.size())));
}

}  // namespace oracle
