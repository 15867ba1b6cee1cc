// Normalizations: which dimensions have statistics, and how large those are.
#include <limits>

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

Dtype dtype_of_statistics(Dtype dtype) {
  return dtype == f16 || dtype == bf16 ? f32 : dtype;
}

// The argument, which may be absent, has this dtype and shape.
void check_part(const Call& call, std::uint32_t place, Dtype dtype, IntList shape) {
  if (is_none(call, place)) return;
  const TensorImpl& part = impl_arg(call, place);
  const char* const what = call.op.schema->arguments[place].name.c_str();
  BP_CHECK(dtype_of(part) == dtype, "{}: {} is {} where {} is expected; cast it", call.op.name(),
           what, name(dtype_of(part)), name(dtype));
  BP_CHECK(shape_of(part) == shape, "{}: {} has shape {} where {} is expected; give one of that",
           call.op.name(), what, bp::to_string(shape_of(part)), bp::to_string(shape));
}

// The shape of the statistics over the last dimensions of `input`, whose sizes the argument at `place` lists.
Dims statistics_shape(const Call& call, const TensorImpl& input, std::uint32_t place) {
  const IntList normalized = list_arg(call, place), shape = shape_of(input);
  const std::size_t count = normalized.size();
  BP_CHECK(count != 0 && count <= shape.size() &&
               IntList(shape.data() + (shape.size() - count), count) == normalized,
           "{}: shape {} does not end with normalized_shape {}; give the sizes of input's last "
           "dimensions",
           call.op.name(), bp::to_string(shape), bp::to_string(normalized));
  Dims statistics(shape);
  for (std::size_t i = shape.size() - count; i < shape.size(); ++i) statistics[i] = 1;
  return statistics;
}

// Statistics of no elements are NaN.
void fill_if_empty(const TensorImpl& input, Inferred& out) {
  out.fills = input.abi.numel == 0;
  out.fill_value = std::numeric_limits<double>::quiet_NaN();
}

const TensorImpl& checked_a(const Call& call, std::uint32_t place, Inferred& out) {
  const TensorImpl& input = impl_arg(call, place);
  check_dtype(call.op, dtype_of(input));
  out.compute_dtype = dtype_of(input);
  return input;
}

Dims channels_of(const Call& call, const TensorImpl& input) {
  BP_CHECK(input.abi.dl.ndim >= 2, "{}: shape {} has no channels; give [n, channels, ...]",
           call.op.name(), bp::to_string(shape_of(input)));
  return {input.shape[1]};
}

}  // namespace

void layer_norm(const Call& call, Inferred& out) {
  const TensorImpl& input = checked_a(call, 0, out);
  const Dims statistics = statistics_shape(call, input, 1);
  check_part(call, 2, dtype_of(input), list_arg(call, 1));
  check_part(call, 3, dtype_of(input), list_arg(call, 1));
  out.outputs[0] = {dtype_of(input), shape_of(input)};
  out.outputs[1] = out.outputs[2] = {dtype_of_statistics(dtype_of(input)), statistics};
  fill_if_empty(input, out);
}

void rms_norm(const Call& call, Inferred& out) {
  const TensorImpl& input = checked_a(call, 0, out);
  const Dims statistics = statistics_shape(call, input, 1);
  check_part(call, 2, dtype_of(input), list_arg(call, 1));
  out.outputs[0] = {dtype_of(input), shape_of(input)};
  out.outputs[1] = {dtype_of_statistics(dtype_of(input)), statistics};
  fill_if_empty(input, out);
}

void norm_backward(const Call& call, Inferred& out) {
  const TensorImpl& input = checked_a(call, 1, out);
  const Dims statistics = statistics_shape(call, input, 2);
  check_part(call, 0, dtype_of(input), shape_of(input));
  check_part(call, 3, dtype_of_statistics(dtype_of(input)), statistics);
  check_part(call, 4, dtype_of_statistics(dtype_of(input)), statistics);
  check_part(call, 5, dtype_of(input), list_arg(call, 2));
  out.outputs[0] = {dtype_of(input), shape_of(input)};
}

void norm_weight_backward(const Call& call, Inferred& out) {
  const TensorImpl& input = checked_a(call, 1, out);
  const Dims statistics = statistics_shape(call, input, 2);
  check_part(call, 0, dtype_of(input), shape_of(input));
  check_part(call, 3, dtype_of_statistics(dtype_of(input)), statistics);
  check_part(call, 4, dtype_of_statistics(dtype_of(input)), statistics);
  out.outputs[0] = {dtype_of(input), Dims(list_arg(call, 2))};
  out.fills = input.abi.numel == 0;
  out.fill_value = 0;
}

void norm_gradients(const Call& call, Inferred& out) {
  norm_backward(call, out);
  const Dtype dtype = out.outputs[0].dtype;
  out.outputs[1] = {dtype, Dims(list_arg(call, 2))};
  out.outputs[2] = {dtype, is_none(call, 3) ? Dims{0} : Dims(list_arg(call, 2))};
  out.fills = impl_arg(call, 1).abi.numel == 0;
  out.fill_value = 0;
}

void batch_norm(const Call& call, Inferred& out) {
  const TensorImpl& input = checked_a(call, 0, out);
  const Dims channels = channels_of(call, input);
  check_part(call, 1, dtype_of(input), channels);
  check_part(call, 2, dtype_of(input), channels);
  out.outputs[0] = {dtype_of(input), shape_of(input)};
  out.outputs[1] = out.outputs[2] = {dtype_of_statistics(dtype_of(input)), channels};
  fill_if_empty(input, out);
}

void batch_norm_backward(const Call& call, Inferred& out) {
  const TensorImpl& input = checked_a(call, 1, out);
  const Dims channels = channels_of(call, input);
  check_part(call, 0, dtype_of(input), shape_of(input));
  check_part(call, 2, dtype_of(input), channels);
  check_part(call, 3, dtype_of_statistics(dtype_of(input)), channels);
  check_part(call, 4, dtype_of_statistics(dtype_of(input)), channels);
  out.outputs[0] = {dtype_of(input), shape_of(input)};
  out.outputs[1] = out.outputs[2] = {dtype_of(input), channels};
  out.fills = input.abi.numel == 0;
  out.fill_value = 0;
}

}  // namespace bp::rules
