#include "record.hpp"

#include <algorithm>
#include <atomic>

#include <backplane/dispatcher/call.hpp>
#include <backplane/dispatcher/decomposition.hpp>
#include <backplane/dispatcher/layers.hpp>
#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/tensor/check.hpp>

#include "anomaly.hpp"
#include "in_place.hpp"
#include "plugin_node.hpp"
#include "row_derivatives.hpp"
#include "row_node.hpp"

namespace bp::autograd {
namespace {

bool takes_part(const bp_tensor* tensor) {
  return tensor && TensorImpl::of(tensor)->has_autograd_data;
}

bool takes_part(const bp_value& value) {
  if (value.tag == BP_TENSOR) return takes_part(value.u.tensor);
  if (value.tag != BP_TENSOR_LIST) return false;
  auto* elements = static_cast<const bp_tensor* const*>(value.u.ptr);
  return std::any_of(elements, elements + value.aux, [](auto* t) { return takes_part(t); });
}

// A view that was made under NoGrad is a constant, and shows what was recorded once its base was written. Of one that
// came with others, nobody could say any more which part of the base it is.
void check_up_to_date(const Call& call, std::uint32_t place, const TensorImpl& view) {
  const Variable* variable = variable_of(view);
  BP_CHECK(!variable || !variable->is_one_of_several || !view.storage ||
               variable->version == view.storage->version.load(std::memory_order_relaxed),
           "{}: '{}', shape {}, is output {} of {}, and its memory was written since; split the "
           "tensor again afterwards, or write to a copy",
           call.op.name(), call.op.schema->arguments[place].name,
           to_string({view.shape, static_cast<std::size_t>(view.abi.dl.ndim)}),
           variable->edge.place, variable->edge.node->name());
  if (variable || !variable_of(*view.view_base)) return;
  BP_CHECK(!view.storage ||
               view.view_version == static_cast<std::uint16_t>(
                                        view.storage->version.load(std::memory_order_relaxed)),
           "{}: '{}', shape {}, is a view that was made under NoGrad, and its base was written "
           "since; make the view afterwards, or outside of NoGrad, or detach() it",
           call.op.name(), call.op.schema->arguments[place].name,
           to_string({view.shape, static_cast<std::size_t>(view.abi.dl.ndim)}));
}

void check_views(const Call& call) {
  for (std::uint32_t i = 0; i < call.num_args; ++i) {
    if (call.args[i].tag == BP_TENSOR) {
      const TensorImpl& impl = *TensorImpl::of(call.args[i].u.tensor);
      if (impl.view_base) [[unlikely]]
        check_up_to_date(call, i, impl);
    } else if (call.args[i].tag == BP_TENSOR_LIST) {
      auto* elements = static_cast<const bp_tensor* const*>(call.args[i].u.ptr);
      for (std::uint32_t k = 0; k < call.args[i].aux; ++k)
        if (elements[k] && TensorImpl::of(elements[k])->view_base)
          check_up_to_date(call, i, *TensorImpl::of(elements[k]));
    }
  }
}

bool any_takes_part(const Call& call, const Derivative& derivative) {
  for (std::uint32_t i = 0; i < derivative.num_inputs; ++i)
    if (takes_part(call.args[derivative.inputs[i].place])) return true;
  return false;
}

// Runs the call without this layer, by the shortest way.
void run_below(const Call& call) {
  ExcludeLayers excluded(~0ull << static_cast<unsigned>(Layer::autograd));
  if (call.op.kind == BP_KIND_POINTWISE && call.num_results == 1 && !call.results[0].defined())
    call.results[0] = call_pointwise(call.op, call.args, call.num_args);
  else
    dispatch(call);
}

// A view carries its base's keys; one that takes no part must not ask for this layer, unless its base does: a write
// would be one into the base.
void run_unrecorded(const Call& call) {
  run_below(call);
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    TensorImpl* impl = call.results[i].impl();
    if (!variable_of(*impl) && !(impl->view_base && variable_of(*impl->view_base)))
      impl->keys &= ~autograd_key;
  }
}

// Does the call write a tensor that takes part, so that its old gradient must go another way?
bool writes_what_takes_part(const Call& call) {
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    if (!call.results[i].defined()) continue;
    const TensorImpl& impl = *call.results[i].impl();
    if (variable_of(impl) || (impl.view_base && variable_of(*impl.view_base))) return true;
  }
  return false;
}

bool is_first_argument(const Call& call, const Tensor& tensor) {
  return call.args[0].tag == BP_TENSOR && call.args[0].u.tensor == &tensor.impl()->abi;
}

// The tensor that the call writes in place; null if its results are new.
const Tensor* written_in_place(const Call& call) {
  if (!call.results[0].defined()) return nullptr;
  BP_CHECK(is_first_argument(call, call.results[0]) || call.op.kind == BP_KIND_COPY,
           "{}: an output was given for a call that is recorded for derivatives; use the form that "
           "returns its result, or NoGrad",
           call.op.name());
  check_writable(call.op.name(), call.results[0]);
  return &call.results[0];
}

bool is_differentiable(const TensorImpl& impl) {
  const auto dtype = static_cast<Dtype>(impl.abi.dtype);
  return is_floating(dtype) || is_complex(dtype);
}

// Does the view, or one that it is seen through, come from a call that gave several?
bool shows_one_of_several(const Call& call) {
  if (call.op.views) return true;
  const Variable* seen =
      call.args[0].tag == BP_TENSOR ? variable_of(*TensorImpl::of(call.args[0].u.tensor)) : nullptr;
  return seen && seen->is_one_of_several;
}

// From now on the gradients of the call's results go to the node.
void set_results(const Call& call, NodeRef node) {
  const bool is_one_of_several = call.op.is_view() && shows_one_of_several(call);
  for (std::uint32_t i = 0; i < call.num_results; ++i) {
    TensorImpl& impl = *call.results[i].impl();
    if (!is_differentiable(impl)) {
      forget_edge(impl);
      continue;
    }
    const bool is_last = i + 1 == call.num_results;
    set_edge(impl, {is_last ? std::exchange(node, {}) : node, i});
    if (is_one_of_several && impl.view_base) [[unlikely]]
      variable_of(impl)->is_one_of_several = true;
  }
}

void record_with(const Call& call, const Derivative& derivative) {
  const Tensor* target = written_in_place(call);
  NodeRef node = RowNode::make(call, derivative, target ? target->impl() : nullptr);
  if (modes.anomaly_depth) [[unlikely]]
    node->extras().forward_call = describe_call(call);
  run_below(call);
  static_cast<RowNode&>(*node.get()).keep_results(call);
  if (target) return set_written(*target, std::move(node), 0);
  set_results(call, std::move(node));
}

// Operators without a rule that could not be decomposed either: a plugin's with its derivative as data,
// or a node that says in backward that it knows none.
void record_custom(const Call& call) {
  bool any = writes_what_takes_part(call);
  for (std::uint32_t i = 0; i < call.num_args; ++i) any |= takes_part(call.args[i]);
  if (!any) return run_unrecorded(call);
  const Tensor* target = written_in_place(call);
  NodeRef node = make_plugin_node(call, target != nullptr);
  if (modes.anomaly_depth) [[unlikely]]
    node->extras().forward_call = describe_call(call);
  run_below(call);
  keep_plugin_results(*node.get(), call);
  if (target) return set_written(*target, std::move(node), 0);
  set_results(call, std::move(node));
}

// The operators inside are recorded, whose results depend on the arguments even where there is nothing to compute.
void record_decomposed(const Call& call) {
  Inferred inferred(call.num_results);
  if (!run_rule_and_decomposition(call, inferred)) run_decomposition(call.op, call);
}

// The layer's handler, for every operator.
void record(const Call& call, const Level*) {
  check_views(call);
  if (const Derivative* derivative = derivative_of(call.op)) {
    if (any_takes_part(call, *derivative) || writes_what_takes_part(call))
      record_with(call, *derivative);
    else
      run_unrecorded(call);
  } else if (call.op.decompose) {
    record_decomposed(call);
  } else {
    record_custom(call);
  }
}

// A tensor goes to another device or memory, and its gradient comes back from there.
class TransferNode final : public Node, public Pooled {
 public:
  explicit TransferNode(const Tensor& tensor)
      : Node(1), place_(place_of(tensor)), edge_(edge_of(tensor)) {
    take_order();
  }
  const char* name() const override { return "to"; }
  std::span<Edge> edges() override { return {&edge_, 1}; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> out) override {
    if (gradients[0].defined()) out[0] = to_place(gradients[0], place_);
  }

 private:
  void destroy() override { delete this; }
  MemoryPlace place_;
  Edge edge_;
};

Tensor record_transfer(const Tensor& tensor, MemoryPlace place, const Level*) {
  const ExcludeLayers excluded(~0ull << static_cast<unsigned>(Layer::autograd));
  Tensor moved = to_place(tensor, place);
  if (edge_of(tensor).node) set_edge(*moved.impl(), {NodeRef::adopt(new TransferNode(tensor)), 0});
  return moved;
}

}  // namespace

void ensure_layer() {
  static constinit std::atomic<bool> is_there{false};
  if (is_there.load(std::memory_order_acquire)) return;
  // Two threads may do all this at once: it is the same twice, and no lock is left held by a fork.
  ensure_operators();
  register_row_derivatives();
  set_layer_fallback(Layer::autograd, record);
  set_layer_transfer(Layer::autograd, record_transfer);
  set_layer_write_check(Layer::autograd, check_writable);
  is_there.store(true, std::memory_order_release);
}

}  // namespace bp::autograd
