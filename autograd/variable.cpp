#include "variable.hpp"

#include <algorithm>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/pointwise.hpp>
#include <backplane/dispatcher/transfer.hpp>
#include <backplane/runtime/device_registry.hpp>
#include <backplane/tensor/check.hpp>

#include "in_place.hpp"

namespace bp::autograd {
namespace {

constinit const Edge nowhere;

std::size_t rank_of(const TensorImpl& impl) {
  return static_cast<std::size_t>(impl.abi.dl.ndim);
}

std::uint32_t version_of(const TensorImpl& impl) {
  return impl.storage ? impl.storage->version.load(std::memory_order_relaxed) : 0;
}

// Whether nobody else sees the memory of `gradient`, whose base is forgotten if it is a view of all of one that nobody holds, as
// the transpose of a product is.
bool becomes_alone(const Tensor& gradient) {
  TensorImpl& impl = *gradient.impl();
  if (impl.refs.load() == 1 && impl.view_base && impl.view_base->abi.numel == impl.abi.numel)
    forget_lone_base(impl);
  return is_alone(impl);
}

}  // namespace

void set_edge(TensorImpl& impl, Edge edge) {
  Variable* variable = variable_of(impl);
  if (!variable) {
    variable = new Variable;
    put_autograd_data(impl, variable);
  }
  variable->edge = std::move(edge);
  if (impl.view_base) variable->version = version_of(impl);
}

void move_edge(TensorImpl& impl, Edge edge) {
  // Hooks stay where they were registered, since they belong to the old values.
  if (const Retained* retained = retained_of(impl)) [[unlikely]] {
    retain_at(variable_of(impl)->edge, nullptr);
    retain_at(edge, retained->gradient);
  }
  set_edge(impl, std::move(edge));
}

void forget_edge(TensorImpl& impl) {
  impl.keys &= ~autograd_key;
  if (!variable_of(impl)) return;
  drop_layer_data(impl, Retained::own_key);
  drop_layer_data(impl, layer_data_key(autograd_layer));
}

const Edge& edge_of(TensorImpl& impl) {
  Variable* variable = variable_of(impl);
  if (!variable) return nowhere;
  if (impl.view_base && variable->version != version_of(impl)) [[unlikely]]
    find_way_through_base(Tensor::share(&impl), *variable);
  return variable->edge;
}

std::string described(const TensorImpl& impl) {
  return fmt::format("{}{} on {}", name(static_cast<Dtype>(impl.abi.dtype)),
                     to_string({impl.shape, rank_of(impl)}), device_name({impl.abi.device}));
}

void fail_inference(const char* op, const std::string& argument, const TensorImpl& impl) {
  throw_error(
      ErrorClass::bad_argument,
      fmt::format("{}: '{}', shape {}, was made in inference mode, and the call is recorded for "
                  "derivatives; clone() it outside of inference mode, or call under NoGrad",
                  op, argument, to_string({impl.shape, rank_of(impl)})));
}

void fail_released(const char* op) {
  throw_error(ErrorClass::bad_argument,
              fmt::format("backward through {}: what the call saved was freed by an earlier "
                          "backward; pass retain_graph to that one",
                          op));
}

Tensor shape_only(const TensorImpl& from) {
  TensorImpl* impl = take_impl();
  bp_tensor abi = from.abi;
  abi.dl.shape = impl->shape;
  abi.dl.strides = impl->strides;
  impl->abi = abi;
  impl->backend = from.backend;
  impl->keys = 0;
  impl->storage = nullptr;
  if (from.storage) impl->abi.dl.byte_offset -= from.storage->offset;  // as storage_offset() counts
  std::copy_n(from.shape, from.abi.dl.ndim, impl->shape);
  std::copy_n(from.strides, from.abi.dl.ndim, impl->strides);
  return Tensor::adopt(impl);
}

Tensor alias_of(const Tensor& tensor) {
  Tensor alias = shape_only(tensor);
  if (Storage* storage = tensor.impl()->storage) {
    storage->retain();
    alias.impl()->storage = storage;
    alias.impl()->abi.dl.byte_offset += storage->offset;
  }
  return alias;
}

Tensor with_present_edge(const Tensor& tensor, const Edge& edge) {
  Tensor handle = alias_of(tensor);
  if (edge.node) set_edge(*handle.impl(), edge);
  return handle;
}

void retain_at(const Edge& edge, const std::shared_ptr<Tensor>& gradient) {
  auto& retained = edge.node->extras().retained;
  if (retained.size() <= edge.place) retained.resize(edge.place + 1);
  retained[edge.place] = gradient;
}

// Its order is the least, as it has no edges.
Leaf::Leaf() : Node(1) {
  take_order();
}

// The first gradient is kept as it is if nobody else holds it, so that most backwards copy nothing.
void Leaf::apply(std::span<Tensor> gradients, std::span<Tensor>) {
  Tensor& incoming = gradients[0];
  if (!incoming.defined()) return;
  check_fits(incoming);
  const std::lock_guard lock(mutex_);
  if (!gradient_.defined()) {
    const bool is_kept = is_grad_enabled() || (incoming.is_contiguous() && becomes_alone(incoming));
    put(is_kept ? incoming : clone(incoming));
  } else if (is_grad_enabled() || variable_of(*gradient_.impl())) {
    put(add(gradient_, incoming));  // what may be differentiated again is not written over
  } else {
    add_(gradient_, incoming);
  }
}

Tensor Leaf::gradient() const {
  const std::lock_guard lock(mutex_);
  return gradient_;
}

void Leaf::set_gradient(Tensor gradient) {
  const std::lock_guard lock(mutex_);
  put(std::move(gradient));
}

void Leaf::put(Tensor gradient) {
  gradient_ = std::move(gradient);
  shown_.store(gradient_.impl(), std::memory_order_relaxed);
}

void Leaf::expect(const Tensor& values) {
  expected_ = shape_only(values);
}

void Leaf::check_fits(const Tensor& gradient) const {
  if (!expected_.defined()) [[likely]]
    return;
  BP_CHECK(
      gradient.shape() == expected_.shape() && gradient.dtype() == expected_.dtype() &&
          gradient.device() == expected_.device(),
      "backward: the gradient of a leaf is {}, as the leaf was when the call was recorded, and "
      "set_data or Module::to has made it {} since; compute the loss again",
      described(gradient), described(expected_));
}

}  // namespace bp::autograd
