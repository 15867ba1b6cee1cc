#include <algorithm>

#include <backplane/autograd/autograd.hpp>
#include <backplane/autograd/function.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/tensor/check.hpp>

#include "in_place.hpp"
#include "saved.hpp"

namespace bp::autograd {

class FunctionNode final : public Node, public Pooled {
 public:
  FunctionNode(const Function& function, FunctionContext context, std::vector<Edge> edges,
               std::span<const Tensor> inputs, std::span<const Tensor> results);
  const char* name() const override { return name_.c_str(); }
  std::span<Edge> edges() override { return edges_; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> out) override;
  void release_saved() override {
    released_ = true;
    saved_.clear();
  }
  std::vector<Tensor> saved() const;

 private:
  struct Entry {
    Saved saved;
    int result;  // which of the results it is, or -1
  };
  void destroy() override { delete this; }
  Tensor checked(const Tensor& gradient, std::size_t input) const;

  std::string name_;
  decltype(Function::backward) backward_;
  FunctionContext context_;
  std::vector<Edge> edges_;
  std::vector<Tensor> input_shapes_, result_shapes_;
  std::vector<Entry> saved_;
  bool released_ = false;
};

FunctionNode::FunctionNode(const Function& function, FunctionContext context,
                           std::vector<Edge> edges, std::span<const Tensor> inputs,
                           std::span<const Tensor> results)
    : Node(static_cast<std::uint32_t>(results.size())), name_(function.name),
      backward_(function.backward), context_(std::move(context)), edges_(std::move(edges)) {
  take_order();
  for (const Tensor& input : inputs) input_shapes_.push_back(shape_only(input));
  for (const Tensor& result : results) result_shapes_.push_back(shape_only(result));
  for (const Tensor& tensor : std::exchange(context_.to_save_, {})) {
    const auto found = std::find_if(results.begin(), results.end(),
                                    [&](const Tensor& result) { return result.is_same(tensor); });
    const bool is_result = found != results.end();
    saved_.push_back({is_result ? Saved::result(tensor) : Saved::argument(tensor),
                      is_result ? static_cast<int>(found - results.begin()) : -1});
  }
  context_.not_differentiable_.clear();
  context_.dirty_.clear();
  context_.node_ = this;
}

std::vector<Tensor> FunctionNode::saved() const {
  if (released_) fail_released(name());
  std::vector<Tensor> tensors;
  for (const Entry& entry : saved_) {
    Tensor tensor = entry.saved.get(
        name(), [&] { return fmt::format("saved tensor {}", &entry - saved_.data()); });
    if (entry.result >= 0 && is_grad_enabled()) {
      tensor = alias_of(tensor);
      set_edge(*tensor.impl(), {NodeRef::share(const_cast<FunctionNode*>(this)),
                                static_cast<std::uint32_t>(entry.result)});
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

void FunctionNode::apply(std::span<Tensor> gradients, std::span<Tensor> out) {
  std::vector<Tensor> given(gradients.begin(), gradients.end());
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!given[i].defined()) given[i] = zeros_like(result_shapes_[i]);
  std::vector<Tensor> found = backward_(context_, given);
  BP_CHECK(
      found.size() == out.size(),
      "{}: backward gave {} gradients, and there are {} inputs; give one for each, undefined where "
      "there is none",
      name_, found.size(), out.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    if (edges_[i].node && found[i].defined()) out[i] = checked(found[i], i);
}

Tensor FunctionNode::checked(const Tensor& gradient, std::size_t input) const {
  const Tensor& like = input_shapes_[input];
  BP_CHECK(gradient.shape() == like.shape() && gradient.device() == like.device(),
           "{}: backward gave a gradient {} for input {}, which is {}; give one like it", name_,
           described(gradient), input, described(like));
  return gradient.dtype() == like.dtype() ? gradient : to(gradient, like.dtype());
}

void FunctionContext::save(std::vector<Tensor> tensors) {
  BP_CHECK(!node_, "FunctionContext: save() is for forward; keep what backward makes in `data`");
  for (const Tensor& tensor : tensors)
    BP_CHECK(tensor.defined(), "FunctionContext: an undefined tensor is saved; leave it out");
  to_save_ = std::move(tensors);
}

std::vector<Tensor> FunctionContext::saved() const {
  BP_CHECK(node_, "FunctionContext: saved() is for backward; forward has the tensors themselves");
  return node_->saved();
}

void FunctionContext::mark_non_differentiable(const Tensor& result) {
  not_differentiable_.push_back(result);
}

void FunctionContext::mark_dirty(const Tensor& input) {
  dirty_.push_back(input);
}

bool FunctionContext::needs_gradient(std::size_t input) const {
  return input < needed_.size() && needed_[input];
}

namespace {

std::vector<std::uint32_t> versions_of(std::span<const Tensor> inputs) {
  std::vector<std::uint32_t> versions;
  for (const Tensor& input : inputs) versions.push_back(input.version());
  return versions;
}

void check_inputs(const Function& function, std::span<const Tensor> inputs) {
  BP_CHECK(function.forward && function.backward,
           "apply: the function '{}' lacks forward or backward; give both", function.name);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    BP_CHECK(inputs[i].defined(), "{}: input {} is undefined; give it a value first", function.name,
             i);
}

bool contains(std::span<const Tensor> tensors, const Tensor& one) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const Tensor& each) { return each.is_same(one); });
}

void check_forward(const std::string& name, std::span<const Tensor> inputs,
                   std::span<const std::uint32_t> versions, std::span<const Tensor> dirty,
                   std::span<const Tensor> results) {
  for (const Tensor& each : dirty)
    BP_CHECK(contains(inputs, each) && contains(results, each),
             "{}: forward marked as dirty a tensor, shape {}, that is not both an input and a "
             "result; mark inputs that are written in place, and return them",
             name, to_string(each.shape()));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    BP_CHECK(inputs[i].version() == versions[i] || contains(dirty, inputs[i]),
             "{}: forward wrote input {}, shape {}, in place; write to a copy of it", name, i,
             to_string(inputs[i].shape()));
  for (std::size_t i = 0; i < results.size(); ++i)
    BP_CHECK(results[i].defined(), "{}: forward gave an undefined result {}; leave it out", name,
             i);
}

// A result's gradient goes to the new node, so it must be a tensor of its own.
void separate(std::span<const Tensor> inputs, std::span<const Tensor> dirty,
              std::vector<Tensor>& results) {
  const NoGrad not_recorded;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (contains(dirty, results[i])) continue;
    const auto shares = [&](const Tensor& other) { return other.shares_storage(results[i]); };
    const TensorImpl& impl = *results[i].impl();
    if (variable_of(impl) || impl.view_base || std::any_of(inputs.begin(), inputs.end(), shares) ||
        std::any_of(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(i), shares))
      results[i] = clone(results[i]);
  }
}

}  // namespace

std::vector<Tensor> apply(const Function& function, TensorList list) {
  const std::span<const Tensor> inputs = list.span();
  check_inputs(function, inputs);
  FunctionContext context;
  std::vector<Edge> edges;
  for (const Tensor& input : inputs) {
    edges.push_back(is_grad_enabled() ? edge_of(input) : Edge());
    context.needed_.push_back(bool(edges.back().node));
  }
  const auto& needed = context.needed_;
  const bool is_recorded = std::find(needed.begin(), needed.end(), true) != needed.end();
  for (std::size_t i = 0; i < inputs.size() && is_recorded; ++i)
    check_no_inference(function.name.c_str(), fmt::format("input {}", i), *inputs[i].impl());
  const std::vector<std::uint32_t> versions = versions_of(inputs);
  std::vector<Tensor> results;
  {
    const NoGrad not_recorded;
    results = function.forward(context, inputs);
  }
  const std::vector<Tensor> dirty = context.dirty_;
  check_forward(function.name, inputs, versions, dirty, results);
  if (!is_recorded) return results;
  for (const Tensor& each : dirty) check_writable(function.name.c_str(), each);
  const std::vector<Tensor> constants = context.not_differentiable_;
  const auto is_constant = [&](const Tensor& result) {
    return contains(constants, result) ||
           !(is_floating(result.dtype()) || is_complex(result.dtype()));
  };
  std::vector<bool> constant;
  constant.reserve(results.size());
  for (const Tensor& result : results) constant.push_back(is_constant(result));
  separate(inputs, dirty, results);
  const NodeRef node = NodeRef::adopt(
      new FunctionNode(function, std::move(context), std::move(edges), inputs, results));
  for (std::uint32_t i = 0; i < results.size(); ++i)
    if (!constant[i]) {
      if (contains(dirty, results[i]))
        set_written(results[i], node, i);
      else
        set_edge(*results[i].impl(), {node, i});
    }
  return results;
}

}  // namespace bp::autograd
