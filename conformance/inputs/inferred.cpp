#include "inputs/inferred.hpp"

#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>

#include "inputs/layouts.hpp"
#include "judge/expected.hpp"

namespace bp::conform {
namespace {

// Classes are counted where nobody says how many there are, and rows whose shape depends on data refuse what has no values.
bool rule_reads_values(const Problem& problem) {
  if (const int place = problem.op->schema->find("num_classes"); place >= 0) {
    const auto at = static_cast<std::size_t>(place);
    return at >= problem.arguments.size() || problem.arguments[at].value.u.i == -1;
  }
  return (problem.op->flags & BP_OP_SHAPE_DATA) != 0;
}

Tensor without_memory(const Laid& laid) {
  // Strides decide layouts alone, and rules do not look at these.
  return empty_tensor(laid.shape, laid.dtype, meta_device);
}

}  // namespace

int InferredCall::position_of(const bp_tensor* tensor) const {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (&tensors[i].impl()->abi == tensor) return static_cast<int>(i);
  return -1;
}

bool has_rule(const Operator& op) {
  return op.infer != nullptr;
}

void infer_call(const Problem& problem, InferredCall& out) {
  Operator& op = *problem.op;
  const bool reads = rule_reads_values(problem);
  for (const Laid& laid : problem.tensors)
    out.tensors.push_back(reads ? values_of(laid, oracle()) : without_memory(laid));
  for (const SchemaArgument& argument : op.schema->arguments)
    out.args.push_back(argument.default_value);
  for (std::size_t i = 0; i < problem.arguments.size(); ++i) {
    const Argument& argument = problem.arguments[i];
    bp_value& value = out.args[i];
    value = argument.value;
    if (value.tag == BP_TENSOR) {
      value.u.tensor = &out.tensors[static_cast<std::size_t>(argument.tensors[0])].impl()->abi;
    } else if (value.tag == BP_TENSOR_LIST) {
      std::vector<const bp_tensor*>& list = out.lists.emplace_back();
      for (const int tensor : argument.tensors)
        list.push_back(&out.tensors[static_cast<std::size_t>(tensor)].impl()->abi);
      value.aux = static_cast<std::uint32_t>(list.size());
      value.u.ptr = list.data();
    }
    if (op.schema->arguments[i].type == ArgumentType::real && value.tag == BP_INT)
      value = Scalar(static_cast<double>(value.u.i)).value();
  }
  Tensor results[max_results];
  const Call call{op, out.args.data(), static_cast<std::uint32_t>(out.args.size()), results,
                  static_cast<std::uint32_t>(op.schema->returns.size())};
  op.infer(call, out.inferred);
}

}  // namespace bp::conform
