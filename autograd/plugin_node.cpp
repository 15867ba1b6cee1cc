#include "plugin_node.hpp"

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/registry.hpp>
#include <backplane/tensor/check.hpp>

#include "saved.hpp"

namespace bp::autograd {
namespace {

// A saved argument, with the memory of what its value points to.
struct KeptArgument {
  bp_value value{};
  Saved saved;
  std::string bytes;
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
  void keep(const Call& call, std::uint32_t place);

  const Operator& op_;
  DeclaredDerivative declared_;
  std::vector<Edge> edges_;  // of the tensor arguments
  std::vector<KeptArgument> arguments_;
  std::vector<std::pair<std::uint32_t, Saved>> results_;
  std::vector<Tensor> shapes_;  // of all results
  bool released_ = false;
};

PluginNode::PluginNode(const Call& call, const DeclaredDerivative& declared)
    : Node(call.num_results), op_(call.op), declared_(declared) {
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (call.args[i].tag != BP_TENSOR) continue;
    TensorImpl& impl = *TensorImpl::of(call.args[i].u.tensor);
    check_no_inference(name(), op_.schema->arguments[i].name, impl);
    edges_.push_back(edge_of(impl));
  }
  take_order();
  for (std::uint32_t i = 0; i < call.num_args; ++i)
    if (declared_.backward && (declared_.saved_args >> i & 1u)) keep(call, i);
}

void PluginNode::keep(const Call& call, std::uint32_t place) {
  const bp_value& value = call.args[place];
  BP_CHECK(value.tag != BP_TENSOR_LIST,
           "{}: its derivative saves the list '{}'; only single tensors can be saved", name(),
           op_.schema->arguments[place].name);
  KeptArgument& kept = arguments_.emplace_back();
  kept.value = value;
  if (value.tag == BP_TENSOR)
    kept.saved = Saved::argument(Tensor::share(TensorImpl::of(value.u.tensor)));
  const std::size_t bytes = value.tag == BP_STRING     ? value.aux
                            : value.tag == BP_INT_LIST ? value.aux * sizeof(std::int64_t)
                            : value.tag == BP_COMPLEX  ? 2 * sizeof(double)
                                                       : 0;
  if (bytes) kept.bytes.assign(static_cast<const char*>(value.u.ptr), bytes);
}

void PluginNode::keep_results(const Call& call) {
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    shapes_.push_back(shape_only(call.results[i]));
    if (declared_.backward && (declared_.saved_results >> i & 1u))
      results_.emplace_back(i, Saved::result(call.results[i]));
  }
}

void PluginNode::apply(std::span<Tensor> gradients, std::span<Tensor> out) {
  if (!declared_.backward)
    throw_error(ErrorClass::unsupported,
                fmt::format("backward through {}: its derivative is not known; detach() what it "
                            "takes, or call it in a custom function",
                            name()));
  if (released_) fail_released(name());
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    tensors.push_back(gradients[i].defined() ? gradients[i] : zeros_like(shapes_[i]));
  std::vector<bp_value> values;
  values.reserve(tensors.size() + arguments_.size() + results_.size());
  for (const Tensor& gradient : tensors) values.push_back(value_of(gradient));
  tensors.reserve(tensors.size() + arguments_.size() + results_.size());
  for (const KeptArgument& kept : arguments_) {
    bp_value value = kept.value;
    if (value.tag == BP_TENSOR)
      value = value_of(tensors.emplace_back(
          kept.saved.get(name(), [] { return std::string("a saved argument"); })));
    else if (!kept.bytes.empty())
      value.u.ptr = kept.bytes.data();
    values.push_back(value);
  }
  for (const auto& [place, saved] : results_) {
    Tensor result = saved.get(name(), [] { return std::string("its result"); });
    if (is_grad_enabled()) {
      result = alias_of(result);
      set_edge(*result.impl(), {NodeRef::share(this), place});
    }
    values.push_back(value_of(tensors.emplace_back(std::move(result))));
  }
  std::vector<Tensor> found = call_boxed(*declared_.backward, values);
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
