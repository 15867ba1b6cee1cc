#include "plugin_node.hpp"

#include <algorithm>
#include <deque>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/check.hpp>

#include "pointed_to.hpp"
#include "saved.hpp"

namespace bp::autograd {
namespace {

// A saved argument, with the memory of what its value points to.
struct KeptArgument {
  bp_value value{};
  std::vector<Saved> saved;  // of tensors; of a list's holes, empty ones
  std::vector<bool> is_there;
  std::string bytes;
};

// The arguments of a backward call, with what they point to.
class BackwardArguments {
 public:
  void add(Tensor tensor) { values_.push_back(value_of(kept_.emplace_back(std::move(tensor)))); }
  void add(std::vector<Tensor> tensors) {
    const std::vector<Tensor>& kept = kept_lists_.emplace_back(std::move(tensors));
    values_.push_back(lists_.emplace_back(kept).value());
  }
  void add(const bp_value& value) { values_.push_back(value); }
  std::span<const bp_value> values() const { return values_; }

 private:
  std::vector<bp_value> values_;
  std::deque<Tensor> kept_;
  std::deque<std::vector<Tensor>> kept_lists_;
  std::deque<TensorListValue> lists_;
};

class PluginNode final : public Node, public Pooled {
 public:
  PluginNode(const Call& call, const DeclaredDerivative& declared);
  const char* name() const override { return op_.name(); }
  std::span<Edge> edges() override { return edges_; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> out) override;
  void release_saved() override {
    released_ = true;
    arguments_.clear();
    results_.clear();
  }
  void keep_results(const Call& call);

 private:
  void destroy() override { delete this; }
  void add_edges(const Call& call, std::uint32_t tag);
  void keep(const bp_value& value);
  void add_gradients(std::span<Tensor> gradients, BackwardArguments& out) const;
  void add_argument(const KeptArgument& kept, BackwardArguments& out) const;
  void add_results(BackwardArguments& out);
  Tensor result(std::uint32_t place, const Saved& saved);
  // Where a Tensor[] at the end of the results begins.
  std::size_t num_plain() const {
    return op_.schema->returns.size() - (op_.schema->returns_list() ? 1 : 0);
  }

  const Operator& op_;
  DeclaredDerivative declared_;
  std::vector<Edge> edges_;  // of the tensor arguments, then of the tensors of lists
  std::vector<KeptArgument> arguments_;
  std::vector<std::pair<std::uint32_t, Saved>> results_;
  std::vector<Tensor> shapes_;  // of all results
  bool released_ = false;
};

PluginNode::PluginNode(const Call& call, const DeclaredDerivative& declared)
    : Node(call.num_results), op_(call.op), declared_(declared) {
  add_edges(call, BP_TENSOR);
  add_edges(call, BP_TENSOR_LIST);
  take_order();
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    if (declared_.backward && (declared_.saved_args >> i & 1u)) keep(call.args[i]);
}

void PluginNode::add_edges(const Call& call, std::uint32_t tag) {
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (call.args[i].tag != tag) continue;
    for (const bp_tensor* tensor : tensors_of(call.args[i])) {
      if (!tensor) continue;
      TensorImpl& impl = *TensorImpl::of(tensor);
      check_no_inference(name(), op_.schema->arguments[i].name, impl);
      edges_.push_back(edge_of(impl));
    }
  }
}

void PluginNode::keep(const bp_value& value) {
  KeptArgument& kept = arguments_.emplace_back();
  kept.value = value;
  for (const bp_tensor* tensor : tensors_of(value)) {
    kept.is_there.push_back(tensor);
    kept.saved.push_back(tensor ? Saved::argument(Tensor::share(TensorImpl::of(tensor))) : Saved());
  }
  if (const std::size_t bytes = num_bytes_of(value))
    kept.bytes.assign(static_cast<const char*>(value.u.ptr), bytes);
}

void PluginNode::keep_results(const Call& call) {
  const std::size_t list = num_plain();
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    shapes_.push_back(shape_only(call.results[i]));
    if (declared_.backward && (declared_.saved_results >> std::min<std::size_t>(i, list) & 1u))
      results_.emplace_back(i, Saved::result(call.results[i]));
  }
}

// One for each result; those of a Tensor[] come as one.
void PluginNode::add_gradients(std::span<Tensor> gradients, BackwardArguments& out) const {
  std::vector<Tensor> list;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Tensor gradient = gradients[i].defined() ? gradients[i] : zeros_like(shapes_[i]);
    if (i < num_plain())
      out.add(std::move(gradient));
    else
      list.push_back(std::move(gradient));
  }
  if (op_.schema->returns_list()) out.add(std::move(list));
}

void PluginNode::add_argument(const KeptArgument& kept, BackwardArguments& out) const {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < kept.saved.size(); ++i)
    tensors.push_back(
        kept.is_there[i] ? kept.saved[i].get(name(), [] { return std::string("a saved argument"); })
                         : Tensor());
  if (kept.value.tag == BP_TENSOR) return out.add(std::move(tensors[0]));
  if (kept.value.tag == BP_TENSOR_LIST) return out.add(std::move(tensors));
  bp_value value = kept.value;
  if (!kept.bytes.empty()) value.u.ptr = kept.bytes.data();
  out.add(value);
}

Tensor PluginNode::result(std::uint32_t place, const Saved& saved) {
  Tensor result = saved.get(name(), [] { return std::string("its result"); });
  if (!is_grad_enabled()) return result;
  result = alias_of(result);
  set_edge(*result.impl(), {NodeRef::share(this), place});
  return result;
}

void PluginNode::add_results(BackwardArguments& out) {
  std::vector<Tensor> list;
  for (const auto& [place, saved] : results_) {
    if (place < num_plain())
      out.add(result(place, saved));
    else
      list.push_back(result(place, saved));
  }
  if (op_.schema->returns_list() && (declared_.saved_results >> num_plain() & 1u))
    out.add(std::move(list));
}

void PluginNode::apply(std::span<Tensor> gradients, std::span<Tensor> out) {
  if (!declared_.backward)
    throw_error(ErrorClass::unsupported,
                fmt::format("backward through {}: its derivative is not known; detach() what it "
                            "takes, or call it in a custom function",
                            name()));
  if (released_) fail_released(name());
  BackwardArguments arguments;
  add_gradients(gradients, arguments);
  for (const KeptArgument& kept : arguments_) add_argument(kept, arguments);
  add_results(arguments);
  std::vector<Tensor> found = call_boxed(*declared_.backward, arguments.values());
  BP_CHECK(
      found.size() == out.size(),
      "backward through {}: {} gave {} gradients, and the operator takes {} tensors; give one for "
      "each",
      name(), declared_.backward->name(), found.size(), out.size());
  std::move(found.begin(), found.end(), out.begin());
}

}  // namespace

NodeRef make_plugin_node(const Call& call, bool in_place) {
  return NodeRef::adopt(
      new PluginNode(call, in_place ? DeclaredDerivative() : declared_derivative(call.op)));
}

void keep_plugin_results(Node& node, const Call& call) {
  static_cast<PluginNode&>(node).keep_results(call);
}

}  // namespace bp::autograd
