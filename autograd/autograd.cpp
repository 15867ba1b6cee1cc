#include <algorithm>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/generated/factory.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensor/check.hpp>

#include "engine.hpp"
#include "record.hpp"
#include "variable.hpp"

namespace bp {
namespace {

using autograd::Edge;
using autograd::Leaf;

void check_defined(const char* function, const Tensor& tensor) {
  BP_CHECK(tensor.defined(), "{}: the tensor is undefined; give it a value first", function);
}

Leaf* leaf_of(const Tensor& tensor) {
  const Edge& edge = autograd::edge_of(tensor);  // not counted: the tensor holds it
  return edge.node && edge.node->is_leaf() ? static_cast<Leaf*>(edge.node.get()) : nullptr;
}

// Where the tensor's gradient goes; throws if nowhere.
Edge checked_edge(const char* function, const Tensor& tensor) {
  check_defined(function, tensor);
  Edge edge = autograd::edge_of(tensor);
  BP_CHECK(edge.node,
           "{}: the tensor, shape {}, does not require grad; call set_requires_grad on the tensors "
           "that it is computed from, and compute it outside of NoGrad",
           function, to_string(tensor.shape()));
  return edge;
}

void check_gradient(const char* function, const Tensor& gradient, const Tensor& like) {
  BP_CHECK(gradient.shape() == like.shape() && gradient.dtype() == like.dtype() &&
               gradient.device() == like.device(),
           "{}: the gradient is {}{} on {}, and its tensor {}{} on {}; give one like the tensor",
           function, name(gradient.dtype()), to_string(gradient.shape()),
           device_name(gradient.device()), name(like.dtype()), to_string(like.shape()),
           device_name(like.device()));
}

// The given gradient, or 1 for a tensor of one element.
Tensor first_gradient(const char* function, const Tensor& tensor, const Tensor& given) {
  if (given.defined()) {
    check_gradient(function, given, tensor);
    return given;
  }
  BP_CHECK(tensor.numel() == 1,
           "{}: the tensor has shape {}, and only a single element needs no gradient; pass a "
           "gradient, or reduce the tensor first",
           function, to_string(tensor.shape()));
  BP_CHECK(!is_complex(tensor.dtype()),
           "{}: the tensor is {}, and only a real tensor needs no gradient; pass a gradient, or "
           "make it real",
           function, name(tensor.dtype()));
  const NoGrad constant;
  return ones_like(tensor);
}

struct Roots {
  std::vector<Edge> edges;
  std::vector<Tensor> gradients;
};

Roots roots_of(const char* function, std::span<const Tensor> tensors,
               std::span<const Tensor> gradients) {
  BP_CHECK(!tensors.empty(), "{}: no tensors; give at least one", function);
  BP_CHECK(!(thread_state().new_tensor_keys & key_of(Layer::inference)),
           "{}: called in inference mode, where gradients could not be used again; leave it first",
           function);
  BP_CHECK(gradients.empty() || gradients.size() == tensors.size(),
           "{}: {} tensors and {} gradients; give one for each, or none", function, tensors.size(),
           gradients.size());
  Roots roots;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    roots.edges.push_back(checked_edge(function, tensors[i]));
    roots.gradients.push_back(
        first_gradient(function, tensors[i], gradients.empty() ? Tensor() : gradients[i]));
  }
  return roots;
}

}  // namespace

bool requires_grad(const Tensor& tensor) {
  check_defined("requires_grad", tensor);
  return autograd::edge_of(tensor).node.get() != nullptr;
}

const Tensor& set_requires_grad(const Tensor& tensor, bool wanted) {
  check_defined("set_requires_grad", tensor);
  autograd::ensure_layer();
  const Edge edge = autograd::edge_of(tensor);
  BP_CHECK(!edge.node || edge.node->is_leaf(),
           "set_requires_grad: the tensor, shape {}, is a result of {}; detach() it first",
           to_string(tensor.shape()), edge.node->name());
  if (!wanted) {
    autograd::forget_edge(*tensor.impl());
  } else if (!edge.node) {
    BP_CHECK(is_floating(tensor.dtype()) || is_complex(tensor.dtype()),
             "set_requires_grad: the tensor is {}, and only floating-point and complex tensors "
             "have derivatives; cast it first",
             name(tensor.dtype()));
    BP_CHECK(
        !is_inference(tensor),
        "set_requires_grad: the tensor, shape {}, was made in inference mode; clone() it outside",
        to_string(tensor.shape()));
    autograd::set_edge(*tensor.impl(), {autograd::NodeRef::adopt(new Leaf), 0});
  }
  return tensor;
}

bool is_leaf(const Tensor& tensor) {
  check_defined("is_leaf", tensor);
  const Edge& edge = autograd::edge_of(tensor);
  return !edge.node || edge.node->is_leaf();
}

Tensor grad(const Tensor& tensor) {
  check_defined("grad", tensor);
  if (const Leaf* leaf = leaf_of(tensor)) return leaf->gradient();
  const autograd::Retained* retained = autograd::retained_of(*tensor.impl());
  return retained ? *retained->gradient : Tensor();
}

void set_grad(const Tensor& tensor, const Tensor& gradient) {
  check_defined("set_grad", tensor);
  Leaf* leaf = leaf_of(tensor);
  if (!leaf &&
      !gradient.defined()) {  // a frozen parameter keeps none; what was retained is forgotten
    if (const autograd::Retained* retained = autograd::retained_of(*tensor.impl()))
      *retained->gradient = Tensor();
    return;
  }
  BP_CHECK(leaf,
           "set_grad: the tensor, shape {}, is not a leaf that requires grad; call "
           "set_requires_grad first",
           to_string(tensor.shape()));
  if (gradient.defined()) check_gradient("set_grad", gradient, tensor);
  leaf->set_gradient(gradient);
}

bool is_grad(const Tensor& leaf, const Tensor& gradient) {
  check_defined("is_grad", leaf);
  const Leaf* place = leaf_of(leaf);
  return place && gradient.defined() && place->has_gradient(gradient);
}

void retain_grad(const Tensor& tensor) {
  const Edge edge = checked_edge("retain_grad", tensor);
  if (edge.node->is_leaf()) return;
  if (!autograd::retained_of(*tensor.impl()))
    set_layer_data(*tensor.impl(), std::make_unique<autograd::Retained>());
  autograd::retain_at(edge, autograd::retained_of(*tensor.impl())->gradient);
}

Tensor detach(const Tensor& tensor) {
  check_defined("detach", tensor);
  return autograd::alias_of(tensor);
}

void detach_(const Tensor& tensor) {
  check_defined("detach_", tensor);
  BP_CHECK(!tensor.impl()->view_base || !requires_grad(tensor),
           "detach_: the tensor, shape {}, is a view of one that takes part in derivatives; use "
           "detach()",
           to_string(tensor.shape()));
  autograd::forget_edge(*tensor.impl());
}

void set_data(const Tensor& tensor, const Tensor& data) {
  check_defined("set_data", tensor);
  check_defined("set_data", data);
  const Edge edge = autograd::edge_of(tensor);
  BP_CHECK(!edge.node || edge.node->is_leaf(),
           "set_data: the tensor, shape {}, is a result of {}; detach() it first",
           to_string(tensor.shape()), edge.node->name());
  BP_CHECK(!edge.node || is_floating(data.dtype()) || is_complex(data.dtype()),
           "set_data: the tensor requires grad and its new values are {}; cast them to a "
           "floating-point dtype, or set_requires_grad(tensor, false) first",
           name(data.dtype()));
  if (const Tensor gradient = grad(tensor); gradient.defined())
    check_gradient("set_data", gradient, data);
  const std::uint32_t num_views = tensor.impl()->num_views();
  BP_CHECK(num_views == 0,
           "set_data: {} view{} of the tensor, shape {}, would lose their memory; drop the views, "
           "and what was recorded with them, first",
           num_views, num_views == 1 ? "" : "s", to_string(tensor.shape()));
  const Tensor held = autograd::alias_of(data);
  exchange_memory(*tensor.impl(), *held.impl());
  if (Leaf* leaf = leaf_of(tensor)) leaf->expect(tensor);
  // Nodes keep leaves as they are, and know by the version that these are not what they saved.
  if (Storage* storage = tensor.impl()->storage; edge.node && storage && held.impl()->storage)
    storage->version = std::max(storage->version.load(), held.version() + 1);
}

bool is_inference(const Tensor& tensor) {
  check_defined("is_inference", tensor);
  return (tensor.impl()->keys & autograd::inference_key) != 0;
}

bool is_grad_enabled() {
  return (thread_state().excluded_layers & key_of(Layer::autograd)) == 0;
}

void backward(const Tensor& tensor, const Tensor& gradient,
              const autograd::BackwardOptions& options) {
  autograd::backward({tensor}, {gradient}, options);
}

namespace autograd {

void backward(TensorList tensors, TensorList gradients, const BackwardOptions& options) {
  const Roots roots = roots_of("backward", tensors.span(), gradients.span());
  go_back(roots.edges, roots.gradients, {}, options);
}

std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList gradients,
                         const BackwardOptions& options, bool allow_unused) {
  const Roots roots = roots_of("grad", outputs.span(), gradients.span());
  BP_CHECK(!inputs.span().empty(), "grad: no inputs; give at least one");
  std::vector<Edge> edges;
  for (const Tensor& input : inputs.span()) edges.push_back(checked_edge("grad", input));
  std::vector<Tensor> found = go_back(roots.edges, roots.gradients, edges, options);
  for (std::size_t i = 0; i < found.size(); ++i)
    BP_CHECK(allow_unused || found[i].defined(),
             "grad: the outputs do not depend on input {}, shape {}; leave it out, or allow_unused",
             i, to_string(inputs.span()[i].shape()));
  return found;
}

}  // namespace autograd
}  // namespace bp
