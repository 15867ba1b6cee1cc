#include "in_place.hpp"

#include <algorithm>
#include <array>

#include <backplane/autograd/autograd.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/tensor/check.hpp>
#include <backplane/tensor/views.hpp>

#include "rules/rules.hpp"

namespace bp::autograd {
namespace {

Tensor in_parts(const Tensor& input) {
  return is_complex(input.dtype()) ? view_as_real(input) : input;
}

Tensor from_parts(const Tensor& parts, bool is_wanted_complex) {
  if (!is_wanted_complex) return parts;
  return view_as_complex(views::shows_pairs(parts) ? parts : contiguous(parts));
}

// A view's place in its base, both by shape and strides alone. Where one of them is complex and the other
// is not, both are taken as real parts.
class Place {
 public:
  Place(const Tensor& base, const Tensor& view)
      : is_complex_base_(base.dtype() != view.dtype() && is_complex(base.dtype())),
        is_complex_view_(base.dtype() != view.dtype() && is_complex(view.dtype())) {
    const Tensor whole = is_complex_base_ ? views::view_as_real(base) : base;
    const Tensor part = is_complex_view_ ? views::view_as_real(view) : view;
    base_ = shape_only(whole);
    view_ = shape_only(part);
    from_ = part.storage_offset() - whole.storage_offset();
  }

  // A gradient of the base or the view as what the functions below take, and back.
  Tensor taken(const Tensor& gradient) const {
    return is_complex_base_ || is_complex_view_ ? in_parts(gradient) : gradient;
  }
  Tensor of_base(const Tensor& gradient) const { return from_parts(gradient, is_complex_base_); }
  Tensor of_view(const Tensor& gradient) const { return from_parts(gradient, is_complex_view_); }

  // Zeros of the base's shape, laid out so that the view's strides are right in them.
  Tensor zeros_for(const Tensor& gradient) const {
    const std::int64_t start = std::min<std::int64_t>(from_, 0) & ~std::int64_t{1};
    const std::int64_t end = std::max(from_ + extent_of(view_.shape(), view_.strides()),
                                      extent_of(base_.shape(), base_.strides()));
    if (fits_a_dense_base()) return zeros(base_.shape(), gradient.dtype(), gradient.device());
    const Tensor line = zeros({end - start}, gradient.dtype(), gradient.device());
    return as_strided(line, base_.shape(), base_.strides(), -start);
  }
  // A copy of the base's gradient, laid out in the same way.
  Tensor copy_of(const Tensor& gradient) const {
    if (gradient.is_contiguous() && fits_a_dense_base()) return copy(gradient);
    Tensor all = zeros_for(gradient);
    copy_into(all, gradient);
    return all;
  }
  // What the view shows of such a tensor.
  Tensor part_of(const Tensor& all) const {
    return as_strided(all, view_.shape(), view_.strides(), all.storage_offset() + from_);
  }
  bool can_show_part_of(const Tensor& gradient) const {
    return gradient.is_contiguous() && fits_a_dense_base();
  }
  // The base's gradient that comes of the view's. An element that the view shows several times has the sum.
  Tensor embedded(const Tensor& gradient) const {
    if (!names_each_once(base_) || !names_each_once(view_))
      return embed_strided(gradient, base_, view_.shape(), view_.strides(),
                           base_.storage_offset() + from_);
    Tensor all = zeros_for(gradient);
    copy_into(part_of(all), gradient);
    return all;
  }

 private:
  bool fits_a_dense_base() const {
    return base_.is_contiguous() && from_ >= 0 &&
           from_ + extent_of(view_.shape(), view_.strides()) <= base_.numel();
  }

  bool is_complex_base_, is_complex_view_;
  Tensor base_, view_;
  std::int64_t from_ = 0;
};

// A view of a base, by its place in memory alone.
class ViewNode final : public Node, public Pooled {
 public:
  ViewNode(const Tensor& base, const Tensor& view)
      : Node(1), place_(base, view), edge_(edge_of(base)) {
    take_order();
  }
  const char* name() const override { return "as_strided"; }
  std::span<Edge> edges() override { return {&edge_, 1}; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> out) override {
    if (gradients[0].defined())
      out[0] = place_.of_base(place_.embedded(place_.taken(gradients[0])));
  }

 private:
  void destroy() override { delete this; }
  Place place_;
  Edge edge_;
};

// A base of which a view was written: that part came from the write, the rest from where the base came
// from. All that it does are calls that can be recorded, for second derivatives.
class WrittenPart final : public Node, public Pooled {
 public:
  WrittenPart(const Tensor& base, const Tensor& view, Edge written)
      : Node(1), place_(base, view), edges_{edge_of(base), std::move(written)} {
    take_order();
  }
  const char* name() const override { return "copy_slices"; }
  std::span<Edge> edges() override { return edges_; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> out) override {
    if (!gradients[0].defined()) return;
    const Tensor gradient = place_.taken(gradients[0]);
    if (!edges_[0].node && place_.can_show_part_of(gradient)) {
      out[1] = place_.of_view(copy(place_.part_of(gradient)));
      return;
    }
    const Tensor all = place_.copy_of(gradient), part = place_.part_of(all);
    out[1] = place_.of_view(copy(part));
    if (!edges_[0].node) return;
    fill_(part, 0);
    out[0] = place_.of_base(all);
  }

 private:
  void destroy() override { delete this; }
  Place place_;
  std::array<Edge, 2> edges_;
};

void lead_through_base(const Tensor& view) {
  const Tensor base = Tensor::share(view.impl()->view_base);
  move_edge(*view.impl(), {NodeRef::adopt(new ViewNode(base, view)), 0});
}

bool wants_gradient_as_leaf(const TensorImpl& impl) {
  const Variable* variable = variable_of(impl);
  return variable && variable->edge.node && variable->edge.node->is_leaf();
}

// The tensors over the same memory that would not hear of the write: made while nothing of it took part,
// they ask for no layer.
std::uint32_t num_unaware(const TensorImpl& target) {
  const TensorImpl& whole = target.view_base ? *target.view_base : target;
  if (variable_of(whole) || variable_of(target) || !whole.storage) return 0;
  return whole.num_views() - (target.view_base ? 1 : 0);
}

}  // namespace

void check_writable(const char* op, const Tensor& target) {
  const TensorImpl& impl = *target.impl();
  const TensorImpl* base = impl.view_base;
  BP_CHECK(!wants_gradient_as_leaf(impl) && !(base && wants_gradient_as_leaf(*base)),
           "{}: a leaf that requires grad, shape {}, is written in place{}; write to a copy, or "
           "under NoGrad",
           op, to_string(target.shape()), base ? " through a view" : "");
  const Variable* variable = variable_of(impl);
  BP_CHECK(
      !variable || !variable->is_one_of_several,
      "{}: output {} of {}, shape {}, is one of several views that one call returned, and these "
      "cannot be written in place; write to a copy of it, or make the view with narrow or select",
      op, variable->edge.place, variable->edge.node->name(), to_string(target.shape()));
  BP_CHECK(!(impl.keys & inference_key),
           "{}: recorded values are written in place into a tensor, shape {}, that was made in "
           "inference "
           "mode; clone() it outside of inference mode, or write under NoGrad",
           op, to_string(target.shape()));
  BP_CHECK(!base || !variable_of(*base) || variable_of(impl),
           "{}: a view, shape {}, that was made under NoGrad is written in place while derivatives "
           "are recorded, and its base takes part in them; make the view outside of NoGrad, or "
           "write under NoGrad",
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

void set_written(const Tensor& target, NodeRef node, std::uint32_t place) {
  const Edge written{std::move(node), place};
  if (TensorImpl* base = target.impl()->view_base) {
    const Tensor whole = Tensor::share(base);
    move_edge(*base, {NodeRef::adopt(new WrittenPart(whole, target, written)), 0});
  }
  // Through the base, where retain_grad and hooks of the base see the gradient.
  if (target.impl()->view_base) return lead_through_base(target);
  move_edge(*target.impl(), written);
}

// A view that was made a leaf of its own stays one.
void find_way_through_base(const Tensor& view, Variable& variable) {
  if (edge_of(*view.impl()->view_base).node && !variable.edge.node->is_leaf())
    lead_through_base(view);
  variable.version = view.version();
}

}  // namespace bp::autograd
