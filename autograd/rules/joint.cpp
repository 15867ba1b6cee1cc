#include "rules/joint.hpp"

#include <algorithm>
#include <vector>

#include "variable.hpp"

namespace bp::autograd {

Operator& Joint::join_for(std::span<const bp_value> args) const {
  std::vector<ChainStep> chain;
  for (const JointStep& each : steps_) {
    ChainStep& made = chain.emplace_back(ChainStep{each.op, {}});
    for (std::uint32_t k = 0; k < each.num_inputs; ++k) {
      const ChainInput& input = each.inputs[k];
      const bool is_number =
          input.from == ChainInput::From::argument && args[input.index].tag != BP_TENSOR;
      made.inputs.push_back(is_number ? ChainInput::number_argument(input.index) : input);
    }
  }
  return join(chain);
}

Tensor Joint::call(std::span<bp_value> args, std::uint32_t are_spent) {
  const bool all_tensors = std::all_of(
      args.begin(), args.end(), [](const bp_value& value) { return value.tag == BP_TENSOR; });
  std::atomic<Operator*>& known = all_tensors ? of_tensors_ : with_numbers_;
  Operator* op = known.load(std::memory_order_acquire);
  if (!op) {
    op = &join_for(args);
    known.store(op, std::memory_order_release);
  }
  for (std::uint32_t i = 0; are_spent >> i; ++i)
    if ((are_spent >> i & 1u) && !is_alone(*TensorImpl::of(args[i].u.tensor)))
      are_spent &= ~(1u << i);
  return call_chain(*op, args.data(), static_cast<std::uint32_t>(args.size()), are_spent);
}

}  // namespace bp::autograd
