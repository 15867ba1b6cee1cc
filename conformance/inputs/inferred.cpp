#include "inputs/inferred.hpp"

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/allocator.hpp>
#include <backplane/tensor/error.hpp>

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

namespace {

void fill_arguments(const Problem& problem, InferredCall& out) {
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
      for_each_listed(argument, [&](int tensor) {
        list.push_back(tensor < 0 ? nullptr
                                  : &out.tensors[static_cast<std::size_t>(tensor)].impl()->abi);
      });
      value.aux = static_cast<std::uint32_t>(list.size());
      value.u.ptr = list.data();
    }
    if (op.schema->arguments[i].type == ArgumentType::real && value.tag == BP_INT)
      value = Scalar(static_cast<double>(value.u.i)).value();
  }
}

}  // namespace

std::size_t count_results(const Problem& problem) {
  const std::size_t num_declared = problem.op->schema->returns.size();
  if (!problem.op->count) return num_declared;
  InferredCall call;
  fill_arguments(problem, call);
  try {
    return num_results_of(*problem.op, call.args.data(),
                          static_cast<std::uint32_t>(call.args.size()));
  } catch (const Error&) {
    return num_declared;
  }
}

void infer_call(const Problem& problem, InferredCall& out) {
  fill_arguments(problem, out);
  const auto num_results = static_cast<std::uint32_t>(count_results(problem));
  std::vector<Tensor> results(num_results);
  out.inferred = Inferred(num_results);
  problem.op->infer({*problem.op, out.args.data(), static_cast<std::uint32_t>(out.args.size()),
                     results.data(), num_results},
                    out.inferred);
}

}  // namespace bp::conform
