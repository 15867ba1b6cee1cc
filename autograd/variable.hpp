// What a tensor that takes part in derivatives carries: where its gradient goes.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include <backplane/dispatcher/layers.hpp>

#include "node.hpp"

namespace bp::autograd {

constexpr std::uint64_t autograd_key = key_of(Layer::autograd);
constexpr std::uint64_t inference_key = key_of(Layer::inference);

// What this layer keeps of a tensor.
struct Variable final : LayerData, Pooled {
  Variable() : LayerData(layer_data_key(autograd_layer)) {}

  Edge edge;
  std::uint32_t version = 0;  // of the storage when `edge` was right; asked of views
  bool is_one_of_several =
      false;  // a view from a call that gave several of them, or seen through one
};

// What retain_grad asked for, a second entry of few tensors; a node that held it might hold itself.
struct Retained final : LayerData {
  static constexpr std::uint64_t own_key = layer_data_key(autograd_layer, ~0ull >> 8);
  Retained() : LayerData(own_key) {}

  std::shared_ptr<Tensor> gradient = std::make_shared<Tensor>();
};

// Null: the tensor needs no derivative.
inline Variable* variable_of(const TensorImpl& impl) {
  return static_cast<Variable*>(autograd_data(impl));
}

// Null: retain_grad was not called.
inline Retained* retained_of(const TensorImpl& impl) {
  const Variable* variable = variable_of(impl);
  if (!variable || !variable->next) return nullptr;
  return static_cast<Retained*>(find_layer_data(impl, Retained::own_key));
}

// The gradient of this tensor goes to `edge` from now on.
void set_edge(TensorImpl& impl, Edge edge);
// The same for a tensor whose values are new, as after a write in place: what retain_grad asked for
// follows it.
void move_edge(TensorImpl& impl, Edge edge);
// It goes nowhere.
void forget_edge(TensorImpl& impl);
// Where it goes; an edge without a node if nowhere. Of a view whose base was written since, the way
// leads through the base again.
const Edge& edge_of(TensorImpl& impl);
inline const Edge& edge_of(const Tensor& tensor) {
  return edge_of(*tensor.impl());
}

// Throws bad_argument for a tensor that was made in inference mode.
void fail_inference(const char* op, const std::string& argument, const TensorImpl& impl);
inline void check_no_inference(const char* op, const std::string& argument,
                               const TensorImpl& impl) {
  if (impl.keys & inference_key) [[unlikely]]
    fail_inference(op, argument, impl);
}
// Throws bad_argument: the node's saved tensors are gone.
[[noreturn]] void fail_released(const char* op);

// "f32[2, 3] on cpu:0".
std::string described(const TensorImpl& impl);
inline std::string described(const Tensor& tensor) {
  return described(*tensor.impl());
}

// A tensor's shape, dtype and device without its memory: enough for what rules ask of an input that
// they do not read.
Tensor shape_only(const TensorImpl& from);
inline Tensor shape_only(const Tensor& tensor) {
  return shape_only(*tensor.impl());
}
// The tensor's memory under another handle, outside of every record.
Tensor alias_of(const Tensor& tensor);
// What a node keeps of an argument: a handle with the present edge, if any. The application's own may get a later one by
// a write in place, which leads back to the node.
Tensor with_present_edge(const Tensor& tensor, const Edge& edge);
// Backward adds the gradient that arrives at `edge` to this from now on.
void retain_at(const Edge& edge, const std::shared_ptr<Tensor>& gradient);

// Does nobody but the holder of this handle see the memory, so that it may be written over?
inline bool is_alone(const TensorImpl& impl) {
  return impl.refs.load() == 1 && !impl.view_base && impl.storage && impl.storage->refs.load() == 1;
}
inline bool is_alone(const Tensor& tensor) {
  return is_alone(*tensor.impl());
}

// The end of the way: keeps what arrives. Also the place of the gradient that an application reads.
class Leaf final : public Node, public Pooled {
 public:
  Leaf();
  const char* name() const override { return "leaf"; }
  std::span<Edge> edges() override { return {}; }
  void apply(std::span<Tensor> gradients, std::span<Tensor> out) override;
  bool is_leaf() const override { return true; }

  Tensor gradient() const;
  void set_gradient(Tensor gradient);
  bool has_gradient(const Tensor& gradient) const {
    return shown_.load(std::memory_order_relaxed) == gradient.impl();
  }
  // set_data has given the tensor another shape, dtype or device: what was recorded before has no gradient for it.
  void expect(const Tensor& values);
  // Throws bad_argument for such a gradient.
  void check_fits(const Tensor& gradient) const;

 private:
  void destroy() override { delete this; }
  void put(Tensor gradient);
  // Guards the gradient, held over the addition: that is a call which comes back to no leaf, and an
  // error in it must leave the sum so far where it was.
  mutable std::mutex mutex_;
  Tensor gradient_;
  std::atomic<const TensorImpl*> shown_ = nullptr;  // that of gradient_, for those who only compare
  Tensor expected_;  // without memory; undefined before the first set_data
};

}  // namespace bp::autograd
