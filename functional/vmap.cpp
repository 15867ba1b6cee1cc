#include <backplane/core_ops/batch.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/functional/vmap.hpp>
#include <backplane/tensor/check.hpp>

#include "batched.hpp"

namespace bp {
namespace {

using functional::BatchState;

Tensor move_batched(const Tensor& tensor, MemoryPlace place, const Level* level) {
  return functional::batched(*level, to_place(functional::whole_of(*level, tensor), place));
}

void know_layer() {
  static const bool known = [] {
    set_layer_fallback(Layer::vmap, functional::call_batched);
    // Their decompositions wait for data.
    for (const BatchRule& rule : batch_rules())
      if (rule.how == Batch::loop)
        set_layer_handler(*rule.op, Layer::vmap, functional::call_batched);
    set_layer_transfer(Layer::vmap, move_batched);
    return true;
  }();
  static_cast<void>(known);
}

// All inputs with their batch in front; the size of the batch.
std::int64_t put_in_front(std::vector<Tensor>& inputs,
                          std::span<const std::optional<std::int64_t>> in_dims) {
  BP_CHECK(inputs.size() == in_dims.size(),
           "vmap: {} inputs and {} in_dims; give one for each input", inputs.size(),
           in_dims.size());
  std::optional<std::int64_t> size;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!in_dims[i]) continue;
    BP_CHECK(inputs[i].defined() && inputs[i].ndim() > 0,
             "vmap: input {} has no dimension {}; give it one, or no in_dim", i, *in_dims[i]);
    if (*in_dims[i] != 0) inputs[i] = movedim(inputs[i], {*in_dims[i]}, {0});
    const std::int64_t own = inputs[i].size(0);
    BP_CHECK(
        own == size.value_or(own),
        "vmap: the batch has {} elements in input {} and {} in an earlier one; make them equal",
        own, i, *size);
    size = own;
  }
  BP_CHECK(size && *size > 0, "vmap: {}; pass an in_dim for an input with elements",
           size ? "the batch is empty" : "no input has a batch");
  return *size;
}

}  // namespace

std::vector<Tensor> vmap(const BatchedFunction& function, std::span<const Tensor> inputs,
                         std::span<const std::optional<std::int64_t>> in_dims) {
  know_layer();
  std::vector<Tensor> given(inputs.begin(), inputs.end());
  BatchState state{put_in_front(given, in_dims), thread_state().new_tensor_keys};
  const functional::NewTensorKeys inside(functional::keys_inside(state));
  const Level level(Layer::vmap, &state, Sees::all);
  for (std::size_t i = 0; i < given.size(); ++i)
    if (in_dims[i]) given[i] = functional::batched(level, given[i]);
  std::vector<Tensor> results = function(given);
  for (Tensor& result : results) {
    if (!result.defined()) continue;
    const Tensor whole = functional::whole_of(level, result);
    result = whole.defined() ? whole : functional::repeated(result, state.size);
    result.impl()->keys &= ~key_of(Layer::vmap) | state.keys_outside;
  }
  return results;
}

}  // namespace bp
