// Broadcasting and promotion: the rule of every elementwise row.
#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/number_range.hpp>
#include <backplane/tensor/promotion.hpp>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

bool is_number(const bp_value& value) {
  return value.tag == BP_INT || value.tag == BP_DOUBLE || value.tag == BP_BOOLEAN ||
         value.tag == BP_COMPLEX;
}

void broadcast(const Call& call, Inferred& out) {
  Dims& shape = out.outputs[0].shape;
  bool is_first = true;
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (!is_tensor(call, i)) continue;
    const IntList own = shape_of(impl_arg(call, i));
    if (is_first) {
      shape = own;
      is_first = false;
    } else if (!(own == shape)) {
      shape = broadcast_shapes(call.op.name(), shape, own);
      out.broadcasts = true;
    }
  }
}

Dtype common_dtype(const Call& call) {
  ResultType type(default_dtype());
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (!(call.op.promoted >> i & 1u)) continue;
    if (is_tensor(call, i))
      type.add(dtype_of(impl_arg(call, i)), call.args[i].u.tensor->dl.ndim == 0);
    else if (is_number(call.args[i]))
      type.add(scalar_arg(call, i));
  }
  return type.result();
}

// Numbers that stand beside the tensors must fit: a real factor (alpha) would be cut off in integers. Bounds and elements
// are, as in PyTorch.
void check_other_numbers(const Call& call, Dtype dtype) {
  const bool cuts = call.op.numbers != Numbers::wrapped && is_integral(dtype);
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if ((call.op.promoted >> i & 1u) || !is_number(call.args[i])) continue;
    const Scalar number = scalar_arg(call, i);
    const bool fits = is_complex(dtype) || number.is_bool() || number.is_integral() ||
                      (!number.is_complex() && (cuts || is_floating(dtype)));
    BP_CHECK(fits, "{}: '{}' is {}, the tensors are {}; pass a whole number, or cast the tensors",
             call.op.name(), call.op.schema->arguments[i].name, number.to_double(), name(dtype));
  }
}

bool holds_all_numbers(const Call& call, Dtype dtype) {
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    if ((call.op.promoted >> i & 1u) && is_number(call.args[i]) &&
        !holds(dtype, scalar_arg(call, i)))
      return false;
  return true;
}

// What an integer dtype keeps of a number that it holds.
Scalar cut(const Scalar& number) {
  if (!number.is_floating()) return number;
  const double real = number.to_double();
  if (real < 0x1p63) return static_cast<std::int64_t>(real);
  return static_cast<std::uint64_t>(real);
}

// Kernels get numbers that the dtype holds, whatever an operator makes of others.
Scalar settled(const Call& call, std::uint32_t place, Dtype dtype) {
  const Scalar number = scalar_arg(call, place);
  if (!is_integral(dtype)) return number.is_above_int() ? Scalar(number.to_double()) : number;
  if (holds(dtype, number)) return cut(number);
  if (call.op.numbers == Numbers::clamped) return nearest_held(dtype, number);
  if (call.op.numbers == Numbers::wrapped) return wrapped(dtype, number);
  const std::string what = fmt::format("'{}'", call.op.schema->arguments[place].name);
  if (call.op.numbers == Numbers::stored) {
    check_element(call.op.name(), what.c_str(), dtype, number);
    return wrapped(dtype, number);
  }
  check_holds(call.op.name(), what.c_str(), dtype, number);
  return number;
}

void settle_numbers(const Call& call, Dtype dtype) {
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (!is_number(call.args[i])) continue;
    const Scalar number = settled(call, i, dtype);
    if (!number.is_complex())
      call.args[i] = number.value();  // a complex one points to the caller's
  }
}

// Tensors that do not take part in promotion are masks.
void check_masks(const Call& call) {
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if ((call.op.promoted >> i & 1u) || !is_tensor(call, i)) continue;
    const Dtype dtype = dtype_of(impl_arg(call, i));
    BP_CHECK(dtype == boolean, "{}: '{}' is {}, not bool; compare it with something, or cast it",
             call.op.name(), call.op.schema->arguments[i].name, name(dtype));
  }
}

}  // namespace

void pointwise(const Call& call, Inferred& out) {
  const Operator& op = call.op;
  broadcast(call, out);
  check_masks(call);
  // Logic computes in bools alone: whatever comes is asked whether it is zero.
  Dtype dtype = op.dtypes == set_of(boolean) ? boolean : common_dtype(call);
  if (op.promotion == Promotion::floating && (is_integral(dtype) || dtype == boolean))
    dtype = default_dtype();
  if (op.numbers == Numbers::widened && is_integral(dtype) && dtype != u64 &&
      !holds_all_numbers(call, dtype))
    dtype = i64;
  compute_in(call, out, dtype);
  check_other_numbers(call, dtype);
  settle_numbers(call, dtype);
  out.outputs[0].dtype = op.promotion == Promotion::compare ? boolean
                         : op.complex_gives_real            ? to_real(dtype)
                                                            : dtype;
}

// As in PyTorch: between tensors such a power is 0, 1 or -1.
void power(const Call& call, Inferred& out) {
  if (is_number(call.args[1])) {
    const Dtype base = dtype_of(impl_arg(call, 0));
    const Scalar exponent = scalar_arg(call, 1);
    BP_CHECK((!is_integral(base) && base != boolean) || !exponent.is_integral() ||
                 exponent.is_above_int() || exponent.to_int() >= 0,
             "{}: integers to negative integer powers are not allowed: 'input' is {} and "
             "'exponent' is {}; cast the input, or pass a real exponent ({}.0)",
             call.op.name(), name(base), exponent.to_int(), exponent.to_int());
  }
  pointwise(call, out);
}

}  // namespace bp::rules
