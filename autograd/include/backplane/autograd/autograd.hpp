// Derivatives: which tensors require grad, whose calls are recorded, and backward through the record.
#pragma once

#include <optional>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/dispatcher/layers.hpp>
#include <backplane/tensor/tensor.hpp>

namespace bp {

// Does the tensor take part in derivatives: was it marked so, or computed from one that was?
BP_API bool requires_grad(const Tensor& tensor);
// Requests derivatives with respect to this tensor, or stops requesting them. Returns the tensor.
// Throws bad_argument unless it is a leaf of floating or complex numbers, made outside of inference
// mode.
BP_API const Tensor& set_requires_grad(const Tensor& tensor, bool wanted = true);
// A tensor that no recorded call has made.
BP_API bool is_leaf(const Tensor& tensor);
// The gradient that backward() has accumulated in a leaf (or, after retain_grad, in another tensor); undefined
// before that. Shape, dtype and device are the tensor's. Of a complex tensor it is the direction of steepest
// ascent of a real loss: d/dre + i d/dim.
BP_API Tensor grad(const Tensor& tensor);
// Replaces the gradient; an undefined one removes it, also from a tensor that keeps none.
BP_API void set_grad(const Tensor& tensor, const Tensor& gradient);
// Is `gradient` the same tensor as grad() of this leaf? Waits for no backward that another thread runs.
BP_API bool is_grad(const Tensor& leaf, const Tensor& gradient);
// From now on, backward() keeps the gradient of this tensor, which is not a leaf, as it does for leaves.
BP_API void retain_grad(const Tensor& tensor);
// The same values in the same memory, outside of every record.
BP_API Tensor detach(const Tensor& tensor);
// Takes the tensor itself out of every record; a leaf stops requiring grad. Throws bad_argument for a recorded view.
BP_API void detach_(const Tensor& tensor);
// Gives the tensor the memory of `data`, and with it its shape, dtype and device; PyTorch's `tensor.data = data`. It
// stays the same tensor: all handles see the change, and whether it requires grad stays as it was. Not recorded; if it
// requires grad this counts as a write, after which a backward that needs the old values throws, and so does one that
// brings the leaf a gradient of the old shape, dtype or device. Threads: no other thread uses the tensor meanwhile.
// Throws bad_argument for a tensor that is not a leaf, that has views, or whose gradient does not fit `data`.
BP_API void set_data(const Tensor& tensor, const Tensor& data);

// While one lives, this thread's calls are not recorded (or are recorded again).
class NoGrad {
 public:
  NoGrad() : excluded_(key_of(Layer::autograd)) {}

 private:
  ExcludeLayers excluded_;
};
class EnableGrad {
 public:
  EnableGrad() : before_(thread_state().excluded_layers) {
    thread_state().excluded_layers &= ~key_of(Layer::autograd);
  }
  ~EnableGrad() { thread_state().excluded_layers = before_; }
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  std::uint64_t before_;
};
BP_API bool is_grad_enabled();

// Like NoGrad, but permanent: tensors made while one lives can never be part of a record; recorded
// calls refuse them. clone() one outside to get an ordinary tensor.
class InferenceMode {
 public:
  InferenceMode()
      : excluded_(key_of(Layer::autograd) | key_of(Layer::inference)),
        before_(thread_state().new_tensor_keys) {
    thread_state().new_tensor_keys |= key_of(Layer::inference);
  }
  ~InferenceMode() { thread_state().new_tensor_keys = before_; }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  ExcludeLayers excluded_;
  std::uint64_t before_;
};
// Was it made in inference mode?
BP_API bool is_inference(const Tensor& tensor);

namespace autograd {

struct BackwardOptions {
  // Keeps what the calls saved, so that backward can run through the same record again. By default,
  // the same as create_graph.
  std::optional<bool> retain_graph = {};
  // Records the derivative's own calls, for derivatives of derivatives.
  bool create_graph = false;
};

// Adds the derivatives of all `tensors`, each weighted by its entry of `gradients`, to the leaves from
// which they were computed. An undefined gradient, or none given, stands for 1 and is right for real
// tensors of one element. Threads: any, also concurrently over shared leaves and shared records; runs
// on the calling thread. Throws bad_argument for a tensor that needs no derivative, a gradient of
// another shape, dtype or device, and for a saved tensor that was written since or whose record was
// freed. If it throws, leaves keep the gradients added so far.
BP_API void backward(TensorList tensors, TensorList gradients = {},
                     const BackwardOptions& options = {});

// The derivatives with respect to `inputs` only, returned instead of accumulated. Throws
// bad_argument for an input that `outputs` do not depend on, unless `allow_unused` is set: then its
// entry is undefined.
BP_API std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList gradients = {},
                                const BackwardOptions& options = {}, bool allow_unused = false);

}  // namespace autograd

// For one tensor, the usual case: backward(loss).
BP_API void backward(const Tensor& tensor, const Tensor& gradient = {},
                     const autograd::BackwardOptions& options = {});

}  // namespace bp
