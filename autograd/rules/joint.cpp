#include "rules/joint.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "variable.hpp"

namespace bp::autograd {

Chain Joint::join_for(std::span<const bp_value> args) const {
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
  std::atomic<const Chain*>& known = all_tensors ? of_tensors_ : with_numbers_;
  const Chain* chain = known.load(std::memory_order_acquire);
  if (!chain) {
    auto made = std::make_unique<Chain>(join_for(args));
    if (known.compare_exchange_strong(chain, made.get(), std::memory_order_acq_rel))
      chain = made.release();
  }
  for (std::uint32_t i = 0; are_spent >> i; ++i)
    if ((are_spent >> i & 1u) && !is_alone(*TensorImpl::of(args[i].u.tensor)))
      are_spent &= ~(1u << i);
  return call_chain(*chain, args.data(), static_cast<std::uint32_t>(args.size()), are_spent);
}

}  // namespace bp::autograd
