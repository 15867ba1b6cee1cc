// A call as a kernel gets it, from the call that an application makes.
#include <algorithm>

#include "inputs/problem.hpp"
#include "judge/bounds.hpp"
#include "judge/calls.hpp"

namespace bp::conform {
namespace {

// Would the core cast one of the arguments first?
bool needs_a_cast(const InferredCall& call, const Operator& op) {
  if (!call.inferred.converts) return false;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (!(op.promoted >> i & 1u)) continue;
    const bp_value& value = call.args[i];
    if (value.tag == BP_TENSOR && value.u.tensor->dtype != index(call.inferred.compute_dtype))
      return true;
    if (value.tag != BP_TENSOR_LIST) continue;
    auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
    for (std::uint32_t k = 0; k < value.aux; ++k)
      if (elements[k] && elements[k]->dtype != index(call.inferred.compute_dtype)) return true;
  }
  return false;
}

bool gives_nothing(const InferredCall& call, std::size_t num_outputs) {
  for (std::size_t i = 0; i < num_outputs; ++i) {
    const Dims& shape = call.inferred.outputs[i].shape;
    if (std::find(shape.begin(), shape.end(), 0) == shape.end()) return false;
  }
  return true;
}

Laid expanded(const Laid& laid, const Dims& shape) {
  Laid wide = laid;
  const std::size_t more = shape.size() - laid.shape.size();
  wide.shape.assign(shape.begin(), shape.end());
  wide.strides.assign(shape.size(), 0);
  for (std::size_t i = 0; i < laid.shape.size(); ++i)
    if (laid.shape[i] == shape[more + i]) wide.strides[more + i] = laid.strides[i];
  return wide;
}

Argument canonical_argument(const bp_value& value, const InferredCall& call, Problem& out) {
  Argument argument;
  argument.value = value;
  if (value.tag == BP_TENSOR) {
    argument.tensors = {call.position_of(value.u.tensor)};
  } else if (value.tag == BP_TENSOR_LIST) {
    auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
    for (std::uint32_t k = 0; k < value.aux; ++k) {
      if (elements[k])
        argument.tensors.push_back(call.position_of(elements[k]));
      else
        argument.holes.push_back(k);
    }
  } else if (value.tag == BP_INT_LIST) {
    auto* list = static_cast<const std::int64_t*>(value.u.ptr);
    argument.value.u.ptr = out.lists.emplace_back(list, list + value.aux).data();
  } else if (value.tag == BP_STRING) {
    argument.value.u.ptr =
        out.strings.emplace_back(static_cast<const char*>(value.u.ptr), value.aux).c_str();
  }
  return argument;
}

// Of results whose shape only the values tell.
void take_shapes_from_values(const Problem& problem, Problem& out) {
  const std::vector<Tensor> results = call_as_given(problem, 1);
  for (std::size_t i = 0; i < out.outputs.size(); ++i) {
    out.outputs[i] = {results[i].dtype(), {}};
    for (const std::int64_t size : results[i].shape()) out.outputs[i].shape.push_back(size);
  }
}

}  // namespace

bool canonical(const Problem& problem, Problem& out) {
  const Operator& op = *problem.op;
  // Nobody but the core tells what a kernel wrote into its arguments from what it must not touch.
  if (!has_rule(op) || op.is_view() || op.mutates) return false;
  const bool reads_values = (op.flags & BP_OP_SHAPE_DATA) != 0;
  InferredCall call;
  infer_call(problem, call);
  const std::size_t num_outputs = count_results(problem);
  if (call.inferred.fills || needs_a_cast(call, op)) return false;
  if (!reads_values && gives_nothing(call, num_outputs)) return false;
  out = Problem();
  out.op = problem.op;
  for (const Laid& laid : problem.tensors)
    out.tensors.push_back(call.inferred.broadcasts ? expanded(laid, call.inferred.outputs[0].shape)
                                                   : laid);
  for (const bp_value& value : call.args)
    out.arguments.push_back(canonical_argument(value, call, out));
  for (std::size_t i = 0; i < num_outputs; ++i) out.outputs.push_back(call.inferred.outputs[i]);
  if (reads_values) take_shapes_from_values(problem, out);
  return true;
}

}  // namespace bp::conform
