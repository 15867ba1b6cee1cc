#include "row_node.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <backplane/autograd/autograd.hpp>
#include <backplane/tensor/check.hpp>

#include "pointed_to.hpp"
#include "rules/rules.hpp"

namespace bp::autograd {
namespace {

bool has_rule(const Derivative::Input& input) {
  return input.rule || input.list_rule;
}

std::size_t num_edges_of(const Call& call, const Derivative& derivative) {
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < derivative.num_inputs; ++i) {
    const bp_value& value = call.args[derivative.inputs[i].place];
    count += value.tag == BP_TENSOR_LIST ? value.aux : 1;
  }
  return count;
}

// Lists, strings, generators, and the two parts of complex numbers: the pointers die with the call.
constexpr std::uint32_t tags_behind_a_pointer = 1u << BP_TENSOR_LIST | 1u << BP_INT_LIST |
                                                1u << BP_DOUBLE_LIST | 1u << BP_COMPLEX |
                                                1u << BP_STRING | 1u << BP_GENERATOR;
bool lies_behind_a_pointer(const bp_value& value) {
  return tags_behind_a_pointer >> value.tag & 1u;
}
bool any_behind_a_pointer(const Call& call) {
  std::uint32_t tags = 0;
  for (std::uint32_t i = 0; i < call.num_args; ++i) tags |= 1u << call.args[i].tag;
  return tags & tags_behind_a_pointer;
}
std::size_t num_words_of(const bp_value& value) {
  return (num_bytes_of(value) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
}

// Do all tensors have one shape and dtype, so that gradients need no fitting? A complex number may have
// made a complex result of real tensors.
bool all_alike(const Call& call) {
  const TensorImpl* first = nullptr;
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (call.args[i].tag == BP_COMPLEX) return false;
    if (call.args[i].tag != BP_TENSOR) continue;
    const TensorImpl* impl = TensorImpl::of(call.args[i].u.tensor);
    if (!first) first = impl;
    if (impl == first) continue;
    if (impl->abi.dtype != first->abi.dtype || impl->abi.dl.ndim != first->abi.dl.ndim)
      return false;
    for (std::int32_t d = 0; d < impl->abi.dl.ndim; ++d)
      if (impl->shape[d] != first->shape[d]) return false;
  }
  return true;
}

Tensor copy_of(const Tensor& tensor) {
  const NoGrad not_recorded;
  return copy(tensor);
}

// What a derivative that is recorded reads and does not depend on, as a step's: its gradient is zero.
class UnmovedNode final : public Node, public Pooled {
 public:
  UnmovedNode(std::vector<Edge> edges, std::vector<Tensor> shapes)
      : Node(1), edges_(std::move(edges)), shapes_(std::move(shapes)) {
    take_order();
  }
  const char* name() const override { return "constant"; }
  std::span<Edge> edges() override { return edges_; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> out) override {
    if (!gradients[0].defined()) return;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = zeros_like(shapes_[i]);
  }

 private:
  void destroy() override { delete this; }
  std::vector<Edge> edges_;
  std::vector<Tensor> shapes_;
};

bool any_leads_on(std::span<const Edge> edges) {
  return std::any_of(edges.begin(), edges.end(), [](const Edge& edge) { return bool(edge.node); });
}

}  // namespace

RowNode::Sizes RowNode::sizes_of(const Call& call, const Derivative& derivative) {
  static_assert(alignof(RowNode) <= alignof(std::max_align_t) && sizeof(RowNode) % 8 == 0 &&
                sizeof(Argument) % 8 == 0 && sizeof(Saved) % 8 == 0 && sizeof(Edge) % 8 == 0);
  std::size_t num_edges = derivative.num_inputs, num_words = 0;
  if (any_behind_a_pointer(call)) [[unlikely]] {
    num_edges = num_edges_of(call, derivative);
    for (std::uint32_t i = 0; i < call.num_args; ++i)
      if (lies_behind_a_pointer(call.args[i])) num_words += num_words_of(call.args[i]);
  }
  return {sizeof(RowNode) + call.num_args * sizeof(Argument) + call.num_results * sizeof(Saved) +
              num_edges * sizeof(Edge) + num_words * sizeof(std::uint64_t),
          static_cast<std::uint32_t>(num_edges)};
}

NodeRef RowNode::make(const Call& call, const Derivative& derivative, const TensorImpl* target) {
  const Sizes sizes = sizes_of(call, derivative);
  auto* node = new (take_block(sizes.bytes)) RowNode(call, derivative, sizes);
  NodeRef ref = NodeRef::adopt(node);
  node->fits_ = derivative.fit == Derivative::Fit::always ||
                (derivative.fit == Derivative::Fit::if_unlike && !all_alike(call));
  node->find_edges(call);
  node->take_order();
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (call.args[i].tag == BP_TENSOR)
      node->keep_tensor(i, *TensorImpl::of(call.args[i].u.tensor), target);
    else if (lies_behind_a_pointer(call.args[i]))
      node->keep_pointed_to(i, target);
  }
  return ref;
}

RowNode::RowNode(const Call& call, const Derivative& derivative, Sizes sizes)
    : Node(call.num_results), op_(call.op), derivative_(derivative), sizes_(sizes),
      num_arguments_(call.num_args) {
  auto* place = reinterpret_cast<char*>(this + 1);
  arguments_ = reinterpret_cast<Argument*>(place);
  for (std::uint32_t i = 0; i < num_arguments_; ++i)
    new (&arguments_[i]) Argument{call.args[i], {}, {}};
  place += num_arguments_ * sizeof(Argument);
  results_ = reinterpret_cast<Saved*>(place);
  std::uninitialized_value_construct_n(results_, num_results());
  place += num_results() * sizeof(Saved);
  edges_ = reinterpret_cast<Edge*>(place);
  std::uninitialized_value_construct_n(edges_, sizes_.num_edges);
  words_ = reinterpret_cast<std::uint64_t*>(place + sizes_.num_edges * sizeof(Edge));
}

RowNode::~RowNode() {
  std::destroy_n(edges_, sizes_.num_edges);
  if (!keeps_) return;  // the rest is empty, and has nothing to destroy
  std::destroy_n(results_, num_results());
  std::destroy_n(arguments_, num_arguments_);
}

void RowNode::destroy() {
  const std::size_t bytes = sizes_.bytes;
  this->~RowNode();
  return_block(this, bytes);
}

void RowNode::find_edges(const Call& call) {
  Edge* edge = edges_;
  for (std::uint32_t i = 0; i < derivative_.num_inputs; ++i) {
    const Derivative::Input& input = derivative_.inputs[i];
    const bp_value& value = call.args[input.place];
    bool leads_on = false;
    const auto add_edge = [&](const bp_tensor* tensor) {
      if (tensor) *edge = edge_of(*TensorImpl::of(tensor));
      leads_on |= bool(edge->node);
      ++edge;
    };
    if (value.tag == BP_TENSOR)
      add_edge(value.u.tensor);
    else if (value.tag == BP_TENSOR_LIST)
      for (const bp_tensor* tensor : tensors_of(value)) add_edge(tensor);
    else
      ++edge;
    if (!leads_on) continue;
    needs_.reads |= input.reads;
    if (input.complex_reads != 0 && is_complex(static_cast<Dtype>(value.u.tensor->dtype)))
      needs_.reads |= input.complex_reads;
    needs_.shapes |= input.shapes;
    needs_.results |= input.results;
  }
}

void RowNode::keep_tensor(std::uint32_t place, TensorImpl& impl, const TensorImpl* target) {
  check_no_inference(name(), op_.schema->arguments[place].name, impl);
  if (!fits_ && !((needs_.reads | needs_.shapes) >> place & 1u)) return;
  keeps_ = true;
  arguments_[place].saved = keep(impl, place, target);
}

// What lies behind a pointer that dies with the call.
void RowNode::keep_pointed_to(std::uint32_t place, const TensorImpl* target) {
  Argument& argument = arguments_[place];
  if (argument.value.tag == BP_TENSOR_LIST) {
    keeps_ = true;
    argument.list = std::make_unique<KeptList>();
    for (const bp_tensor* tensor : tensors_of(argument.value)) {
      if (!tensor) {
        argument.list->emplace_back();
        continue;
      }
      TensorImpl& impl = *TensorImpl::of(tensor);
      check_no_inference(name(), op_.schema->arguments[place].name, impl);
      argument.list->push_back(keep(impl, place, target).like());
    }
  } else if (const std::size_t num_bytes = num_bytes_of(argument.value)) {
    std::memcpy(words_, argument.value.u.ptr, num_bytes);
    argument.value.u.ptr = words_;
    words_ += num_words_of(argument.value);
  }
}

// What the call is about to write over is kept as a copy, with the edge that the old values had.
Saved RowNode::keep(TensorImpl& impl, std::uint32_t place, const TensorImpl* target) const {
  if (needs_.reads >> place & 1u) {
    const Tensor argument = Tensor::share(&impl);
    if (!target || impl.storage != target->storage) return Saved::argument(argument);
    const Tensor before = copy_of(argument);
    if (Edge edge = edge_of(impl); edge.node) set_edge(*before.impl(), std::move(edge));
    return Saved::argument(before);
  }
  const bool shape_is_read = needs_.shapes >> place & 1u;
  return shape_is_read || fits_ ? Saved::shape(impl) : Saved();
}

void RowNode::keep_results(const Call& call) {
  for (std::uint32_t i = 0; needs_.results >> i; ++i)
    if (needs_.results >> i & 1u) {
      keeps_ = true;
      results_[i] = Saved::result(call.results[i]);
    }
}

// A call that saved no values can be gone through again.
void RowNode::release_saved() {
  for (std::uint32_t i = 0; needs_.reads >> i; ++i) {
    if (!(needs_.reads >> i & 1u) || arguments_[i].value.tag != BP_TENSOR) continue;
    arguments_[i].saved = {};
    released_ = true;
  }
  for (std::uint32_t i = 0; needs_.results >> i; ++i) {
    results_[i] = {};
    released_ = true;
  }
}

Tensor RowNode::tensor(std::uint32_t place) const {
  return arguments_[place].saved.get(
      name(), [&] { return fmt::format("argument '{}'", op_.schema->arguments[place].name); });
}

// Kept without its edge; a derivative that is recorded gets it back.
Tensor RowNode::result(std::uint32_t place) const {
  Tensor kept = results_[place].get(name(), [] { return std::string("its result"); });
  if (!is_grad_enabled()) return kept;
  Tensor with_edge = alias_of(kept);
  set_edge(*with_edge.impl(), {NodeRef::share(const_cast<RowNode*>(this)), place});
  return with_edge;
}

std::span<const Tensor> RowNode::list(std::uint32_t place) const {
  return *arguments_[place].list;
}

// A rule may take the gradients' handles, and then their memory: other rules that still come keep theirs.
Tensor RowNode::apply_rule(Derivative::Rule rule, std::span<Tensor> gradients,
                           bool others_come) const {
  if (!others_come) return rule(*this, gradients);
  PerResult<Tensor> taken(static_cast<std::uint32_t>(gradients.size()));
  std::copy(gradients.begin(), gradients.end(), taken.data());
  return rule(*this, {taken.data(), gradients.size()});
}

void RowNode::apply(std::span<Tensor> gradients, std::span<Tensor> out) {
  if (released_) [[unlikely]]
    fail_released(name());
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < derivative_.num_inputs; ++i) {
    const Derivative::Input& input = derivative_.inputs[i];
    const Argument& argument = arguments_[input.place];
    std::size_t count = argument.value.tag == BP_TENSOR_LIST ? argument.value.aux : 1;
    for (; i + 1 < derivative_.num_inputs && !has_rule(derivative_.inputs[i + 1]); ++i) ++count;
    const std::span<Edge> wanted{edges_ + at, count};
    const bool any = any_leads_on(wanted);
    if (any && input.list_rule)
      input.list_rule(*this, gradients, out.subspan(at, count));
    else if (any)
      out[at] = fitted(apply_rule(input.rule, gradients, any_leads_on(edges().subspan(at + count))),
                       argument.saved.like());
    for (std::size_t k = at; any && input.reads + input.results != 0 && k < at + count; ++k)
      out[k] = taking_part(std::move(out[k]), input);
    at += count;
  }
}

// A recorded derivative takes part in what its rule has read, even where that moves nothing, so that it can be
// asked for the next one.
Tensor RowNode::taking_part(Tensor gradient, const Derivative::Input& input) const {
  if (!is_grad_enabled() || !gradient.defined() || variable_of(*gradient.impl())) return gradient;
  std::vector<Edge> edges;
  std::vector<Tensor> shapes;
  const auto add = [&](const Tensor& read) {
    if (const Edge& edge = edge_of(read); edge.node) {
      edges.push_back(edge);
      shapes.push_back(shape_only(read));
    }
  };
  for (std::uint32_t i = 0; input.reads >> i; ++i)
    if ((input.reads >> i & 1u) && is_tensor(i)) add(tensor(i));
  for (std::uint32_t i = 0; input.results >> i; ++i)
    if (input.results >> i & 1u) add(result(i));
  if (edges.empty()) return gradient;
  Tensor own = alias_of(gradient);  // others may hold this one
  set_edge(*own.impl(), {NodeRef::adopt(new UnmovedNode(std::move(edges), std::move(shapes))), 0});
  return own;
}

// A gradient has its tensor's shape and dtype: broadcasting and conversion are taken back.
Tensor RowNode::fitted(Tensor gradient, const Tensor& like) const {
  if (!fits_ || !gradient.defined() || !like.defined()) return gradient;
  if (gradient.shape() != like.shape()) gradient = sum_to(gradient, like.shape());
  if (gradient.dtype() != like.dtype()) gradient = cast(gradient, like.dtype());
  return gradient;
}

}  // namespace bp::autograd
