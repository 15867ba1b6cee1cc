// Application functions that are called during backward, or when a call saves a tensor.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp::autograd {

// Hooks run on the thread that called backward, in the order of their registration; an exception
// from one leaves backward. Registering throws bad_argument for a tensor that does not take part in
// derivatives.
using HookId = std::uint64_t;

// Sees the gradient of a tensor as soon as it is complete. It may return a replacement of the same
// shape, dtype and device, or an undefined tensor to keep it.
using TensorHook = std::function<Tensor(const Tensor& gradient)>;
BP_API HookId register_hook(const Tensor& tensor, TensorHook hook);

// Sees the derivatives for the results of the recorded call that made `result`, before the call's
// own derivative is computed, and may return as many replacements, or none. Undefined: no gradient
// arrived.
using NodePreHook = std::function<std::vector<Tensor>(std::span<const Tensor> by_results)>;
BP_API HookId register_node_pre_hook(const Tensor& result, NodePreHook hook);

// Sees them afterwards, with the derivatives for the call's differentiable inputs, and may return
// as many replacements, or none. Of a leaf, which has no inputs: runs once its gradient is
// accumulated.
using NodeHook = std::function<std::vector<Tensor>(std::span<const Tensor> by_inputs,
                                                   std::span<const Tensor> by_results)>;
BP_API HookId register_node_hook(const Tensor& result, NodeHook hook);

// Removes a hook of any of the three kinds. Does nothing if it was removed before.
BP_API void remove_hook(const Tensor& tensor, HookId hook);

// While one lives, this thread's recorded calls keep what `pack` makes of a tensor instead of the tensor,
// and `unpack` gives it back when backward needs it: on another device, in a file, as fewer bits.
// `unpack` may run on any thread that calls backward, and returns shape, dtype and device as they were.
// The innermost one is used.
class BP_API SavedTensorHooks {
 public:
  using Pack = std::function<std::any(const Tensor& tensor)>;
  using Unpack = std::function<Tensor(const std::any& packed)>;
  SavedTensorHooks(Pack pack, Unpack unpack);
  ~SavedTensorHooks();
  SavedTensorHooks(const SavedTensorHooks&) = delete;
  SavedTensorHooks& operator=(const SavedTensorHooks&) = delete;

  struct Functions {
    Pack pack;
    Unpack unpack;
  };

 private:
  std::shared_ptr<const Functions> functions_;
  const std::shared_ptr<const Functions>* before_;
};

}  // namespace bp::autograd
