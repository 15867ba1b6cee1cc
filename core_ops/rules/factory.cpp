// Tensors from nothing: the dtype when none is given, and how long a range is.
#include <cmath>

#include <backplane/runtime/settings.hpp>
#include <backplane/tensor/number_range.hpp>
#include <backplane/tensor/promotion.hpp>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

Dtype given_dtype_or(const Call& call, std::uint32_t place, Dtype otherwise) {
  const Dtype dtype = is_none(call, place) ? otherwise : dtype_arg(call, place);
  check_dtype(call.op, dtype);
  return dtype;
}

void shape_from_list(const Call& call, std::uint32_t place, Inferred& out) {
  const IntList shape = list_arg(call, place);
  check_rank(call.op.name(), shape.size());
  checked_numel(call.op.name(), shape);
  out.outputs[0].shape = shape;
}

Dtype dtype_of_number(const Scalar& number) {
  if (number.is_bool()) return boolean;
  if (number.is_integral()) return i64;
  return number.is_complex() ? to_complex(default_dtype()) : default_dtype();
}

// In integers, since a double knows none of 2^53 + 1.
std::int64_t count_integers(std::int64_t start, std::int64_t end, std::int64_t step) {
  BP_CHECK(step > 0 ? start <= end : start >= end,
           "arange: steps of {} do not lead from {} to {}; change the sign of the step", step,
           start, end);
  const std::uint64_t distance =
      step > 0 ? static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(start)
               : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(end);
  const std::uint64_t width =
      step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
  const std::uint64_t count = distance / width + (distance % width != 0 ? 1 : 0);
  BP_CHECK(count <= 0x7fffffffffffffffu, "arange: {} to {} are {} elements; choose a larger step",
           start, end, count);
  return static_cast<std::int64_t>(count);
}

std::int64_t count_reals(double start, double end, double step) {
  BP_CHECK(std::isfinite(start) && std::isfinite(end) && !std::isnan(step),
           "arange: from {} to {} in steps of {} is not a finite range; choose other bounds", start,
           end, step);
  BP_CHECK(step > 0 ? start <= end : start >= end,
           "arange: steps of {} do not lead from {} to {}; change the sign of the step", step,
           start, end);
  const double count = std::ceil((end - start) / step);
  BP_CHECK(count < 0x1p63, "arange: {} to {} are {} elements; choose a larger step", start, end,
           count);
  return static_cast<std::int64_t>(count);
}

}  // namespace

void full(const Call& call, Inferred& out) {
  out.compute_dtype = given_dtype_or(call, 2, dtype_of_number(scalar_arg(call, 1)));
  out.outputs[0].dtype = out.compute_dtype;
  const Scalar number = scalar_arg(call, 1);
  check_element(call.op.name(), "'fill_value'", out.compute_dtype, number);
  if (number.is_above_int() && out.compute_dtype != u64)
    call.args[1] = Scalar(number.to_double()).value();
  shape_from_list(call, 0, out);
}

// The first and the last element: those between them are nearer to 0, or between.
void check_elements(const Call& call, Dtype dtype, const Scalar& start, const Scalar& step,
                    std::int64_t count) {
  if (count == 0 || !is_integral(dtype)) return;
  check_element(call.op.name(), "the first number", dtype, start);
  const bool is_real = start.is_floating() || step.is_floating();
  check_element(call.op.name(), "the last number", dtype,
                is_real
                    ? Scalar(start.to_double() + static_cast<double>(count - 1) * step.to_double())
                    : Scalar(start.to_int() + (count - 1) * step.to_int()));
}

void arange(const Call& call, Inferred& out) {
  const Scalar start = scalar_arg(call, 0);
  const Scalar end = scalar_arg(call, 1);
  const Scalar step = scalar_arg(call, 2);
  BP_CHECK(!start.is_complex() && !end.is_complex() && !step.is_complex(),
           "arange: complex numbers have no order; pass real ones");
  BP_CHECK(step.to_double() != 0, "arange: the step is 0; pass another");
  const bool is_real = start.is_floating() || end.is_floating() || step.is_floating();
  out.compute_dtype = given_dtype_or(call, 3, is_real ? default_dtype() : i64);
  out.outputs[0].dtype = out.compute_dtype;
  out.outputs[0].shape = {is_real
                              ? count_reals(start.to_double(), end.to_double(), step.to_double())
                              : count_integers(start.to_int(), end.to_int(), step.to_int())};
  check_elements(call, out.compute_dtype, start, step, out.outputs[0].shape[0]);
}

void philox(const Call& call, Inferred& out) {
  out.compute_dtype = u32;
  out.outputs[0].dtype = u32;
  shape_from_list(call, 0, out);
}

void philox_floating(const Call& call, Inferred& out) {
  out.compute_dtype = given_dtype_or(call, 3, default_dtype());
  out.outputs[0].dtype = out.compute_dtype;
  shape_from_list(call, 0, out);
}

}  // namespace bp::rules
