#include "hooks.hpp"

#include <algorithm>

#include <backplane/tensor/check.hpp>

#include "engine.hpp"
#include "variable.hpp"

namespace bp::autograd {
namespace {

constinit std::atomic<HookId> last_hook{0};

// What a hook gave takes the place of what is there; none given leaves it.
void put_in_place(const std::string& what, std::span<Tensor> gradients,
                  std::vector<Tensor> changed) {
  if (changed.empty()) return;
  BP_CHECK(changed.size() == gradients.size(),
           "{}: it gave {} gradients, and there are {}; give one for each, or none", what,
           changed.size(), gradients.size());
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (changed[i].defined() && gradients[i].defined())
      check_gradient_like(what, changed[i], gradients[i]);
    gradients[i] = std::move(changed[i]);
  }
}

NodeExtras& extras_of(const char* function, const Tensor& tensor, std::uint32_t& place) {
  BP_CHECK(tensor.defined(), "{}: the tensor is undefined; give it a value first", function);
  const Edge& edge = edge_of(tensor);
  BP_CHECK(edge.node,
           "{}: the tensor, shape {}, does not require grad, so nothing would call the hook; call "
           "set_requires_grad on the tensors that it is computed from",
           function, to_string(tensor.shape()));
  place = edge.place;
  return edge.node->extras();
}

template <class Function>
HookId add_hook(const char* name, const Tensor& tensor, Function function,
                std::vector<NodeExtras::Hook<Function>> NodeExtras::*list) {
  BP_CHECK(function, "{}: the hook is empty; give a function", name);
  std::uint32_t place = 0;
  NodeExtras& extras = extras_of(name, tensor, place);
  (extras.*list).push_back({++last_hook, place, std::move(function)});
  return (extras.*list).back().id;
}

}  // namespace

void check_gradient_like(const std::string& what, const Tensor& gradient, const Tensor& like) {
  BP_CHECK(gradient.shape() == like.shape() && gradient.dtype() == like.dtype() &&
               gradient.device() == like.device(),
           "{}: it gave a gradient {}, and {} is needed; give one like it", what,
           described(gradient), described(like));
}

void call_tensor_hooks(Node& node, std::span<Tensor> gradients) {
  const NodeExtras* extras = node.extras_or_null();
  const auto hooks = extras->tensor_hooks;  // one may remove itself
  for (const auto& hook : hooks) {
    Tensor& gradient = gradients[hook.place];
    if (!gradient.defined()) continue;
    Tensor changed = hook.function(gradient);
    if (!changed.defined()) continue;
    check_gradient_like(fmt::format("a hook on a result of {}", node.name()), changed, gradient);
    gradient = std::move(changed);
  }
  for (std::size_t i = 0; i < extras->retained.size(); ++i)
    if (const std::shared_ptr<Tensor> kept = extras->retained[i].lock();
        kept && gradients[i].defined())
      accumulate(*kept, gradients[i]);
}

void call_pre_hooks(Node& node, std::span<Tensor> gradients) {
  const NodeExtras* extras = node.extras_or_null();
  const auto hooks = extras->pre_hooks;
  for (const auto& hook : hooks)
    put_in_place(fmt::format("a hook before {}", node.name()), gradients, hook.function(gradients));
}

void call_node_hooks(Node& node, std::span<Tensor> by_inputs, std::span<const Tensor> gradients) {
  const NodeExtras* extras = node.extras_or_null();
  const auto hooks = extras->hooks;
  for (const auto& hook : hooks)
    put_in_place(fmt::format("a hook after {}", node.name()), by_inputs,
                 hook.function(by_inputs, gradients));
}

HookId register_hook(const Tensor& tensor, TensorHook hook) {
  return add_hook("register_hook", tensor, std::move(hook), &NodeExtras::tensor_hooks);
}

HookId register_node_pre_hook(const Tensor& result, NodePreHook hook) {
  return add_hook("register_node_pre_hook", result, std::move(hook), &NodeExtras::pre_hooks);
}

HookId register_node_hook(const Tensor& result, NodeHook hook) {
  return add_hook("register_node_hook", result, std::move(hook), &NodeExtras::hooks);
}

void remove_hook(const Tensor& tensor, HookId id) {
  std::uint32_t place = 0;
  NodeExtras& extras = extras_of("remove_hook", tensor, place);
  const auto is_it = [id](const auto& hook) { return hook.id == id; };
  std::erase_if(extras.tensor_hooks, is_it);
  std::erase_if(extras.pre_hooks, is_it);
  std::erase_if(extras.hooks, is_it);
}

}  // namespace bp::autograd
