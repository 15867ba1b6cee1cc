#include "in_place.hpp"

#include <backplane/autograd/autograd.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/views.hpp>

#include "rules/rules.hpp"

namespace bp::autograd {
namespace {

// Where a view lies within a storage.
struct Geometry {
  Dims shape, strides;
  std::int64_t offset;

  explicit Geometry(const Tensor& tensor)
      : shape(tensor.shape()), strides(tensor.strides()), offset(tensor.storage_offset()) {}
  Tensor of(const Tensor& memory, std::int64_t origin) const {
    return make_view(memory, shape, strides, offset - origin + memory.storage_offset());
  }
};

Tensor zeros_laid_out(const Geometry& geometry, const Tensor& like) {
  return autograd::zeros_laid_out(geometry.shape, geometry.strides, like.dtype(), like.device());
}

// A view of a base, by its place in memory alone.
class ViewNode final : public Node, public Pooled {
 public:
  ViewNode(const Tensor& base, const Tensor& view)
      : Node(1), base_(base), view_(view), edge_(edge_of(base)) {
    take_order();
  }
  const char* name() const override { return "as_strided"; }
  std::span<Edge> edges() override { return {&edge_, 1}; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> out) override {
    if (!gradients[0].defined()) return;
    const Tensor all = zeros_laid_out(base_, gradients[0]);
    copy_into(view_.of(all, base_.offset), gradients[0]);
    out[0] = all;
  }

 private:
  void destroy() override { delete this; }
  Geometry base_, view_;
  Edge edge_;
};

// A base of which a view was written by `call`: the gradient of what the call wrote goes through it,
// and the rest to where the base came from.
class WrittenPart final : public Node, public Pooled {
 public:
  WrittenPart(const Tensor& base, const Tensor& view, NodeRef call, std::uint32_t place,
              int target_edge)
      : Node(1), base_(base), view_(view), call_(std::move(call)), place_(place),
        target_edge_(target_edge) {
    edges_.push_back(edge_of(base));
    for (const Edge& edge : call_->edges()) edges_.push_back(edge);
    // The gradient by the target's old values is part of the base's.
    if (target_edge >= 0) edges_[static_cast<std::size_t>(target_edge) + 1] = {};
    take_order();
  }
  const char* name() const override { return call_->name(); }
  std::span<Edge> edges() override { return edges_; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> out) override;
  void release_saved() override { call_->release_saved(); }

 private:
  void destroy() override { delete this; }
  Geometry base_, view_;
  NodeRef call_;
  std::uint32_t place_;
  int target_edge_;
  std::vector<Edge> edges_;
};

void WrittenPart::apply(std::span<Tensor> gradients, std::span<Tensor> out) {
  if (!gradients[0].defined()) return;
  const Tensor all = zeros_laid_out(base_, gradients[0]);
  copy_into(all, gradients[0]);
  const Tensor part = view_.of(all, base_.offset);
  std::vector<Tensor> of_results(call_->num_results());
  of_results[place_] = clone(part);
  const std::span<Tensor> of_inputs = out.subspan(1);
  call_->apply(of_results, of_inputs);
  Tensor before;
  if (target_edge_ >= 0)
    before = std::exchange(of_inputs[static_cast<std::size_t>(target_edge_)], {});
  copy_into(part, before.defined() ? before : zeros_like(part));
  out[0] = all;
}

bool wants_gradient_as_leaf(const TensorImpl& impl) {
  const Variable* variable = variable_of(impl);
  return variable && variable->edge.node && variable->edge.node->is_leaf();
}

// The tensors over the same memory that would not hear of the write: made while nothing of it took part,
// they ask for no layer.
std::uint32_t num_unaware(const TensorImpl& target) {
  const TensorImpl& whole = target.view_base ? *target.view_base : target;
  if (whole.layer_data || target.layer_data || !whole.storage) return 0;
  const std::uint32_t num_views = whole.num_views() - (target.view_base ? 1 : 0);
  return num_views + whole.storage->refs.load(std::memory_order_relaxed) - 1;
}

}  // namespace

void check_writable(const char* op, const Tensor& target) {
  const TensorImpl& impl = *target.impl();
  const TensorImpl* base = impl.view_base;
  BP_CHECK(
      !wants_gradient_as_leaf(impl) && !(base && wants_gradient_as_leaf(*base)),
      "{}: a leaf that wants its gradient, shape {}, is written in place{}; write to a copy, or "
      "under NoGrad",
      op, to_string(target.shape()), base ? " through a view" : "");
  BP_CHECK(!(impl.keys & inference_key),
           "{}: recorded values are written in place into a tensor, shape {}, that was made in "
           "inference "
           "mode; clone() it outside of inference mode, or write under NoGrad",
           op, to_string(target.shape()));
  const std::uint32_t num_others = num_unaware(impl);
  BP_CHECK(
      num_others == 0,
      "{}: recorded values are written in place into a tensor, shape {}, whose memory is shared by "
      "{} {} before it took part in derivatives; make {} afterwards, or write to a copy",
      op, to_string(target.shape()), num_others,
      num_others == 1 ? "other that was made" : "others that were made",
      num_others == 1 ? "it" : "those");
}

void set_written(const Tensor& target, NodeRef node, std::uint32_t place, int target_edge) {
  TensorImpl* base = target.impl()->view_base;
  if (!base) return set_edge(*target.impl(), {std::move(node), place});
  const Tensor whole = Tensor::share(base);
  NodeRef written =
      NodeRef::adopt(new WrittenPart(whole, target, std::move(node), place, target_edge));
  set_edge(*base, {std::move(written), 0});
  set_edge(*target.impl(), {NodeRef::adopt(new ViewNode(whole, target)), 0});
}

// A view that was made a leaf of its own stays one.
void find_way_through_base(const Tensor& view, Variable& variable) {
  const Tensor base = Tensor::share(view.impl()->view_base);
  if (edge_of(base).node && !variable.edge.node->is_leaf())
    variable.edge = {NodeRef::adopt(new ViewNode(base, view)), 0};
  variable.version = view.version();
}

}  // namespace bp::autograd
