// Application functions that a module calls around its forward, in backward, and when its values are saved or loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <backplane/tensor/tensor.hpp>

namespace bp::nn {

class Module;
class StateDict;

// Hooks run in the order of their registration, and an exception from one leaves the call, with the module's path, like
// any other error of its forward. Those that return tensors may return as many others in place of what they got, or
// none ({}) to leave it as it is; another number is a bad_argument. Optional arguments that were left out are
// undefined.

// Before forward; may change the inputs.
using ForwardPreHook =
    std::function<std::vector<Tensor>(const Module& module, std::span<const Tensor> inputs)>;
// After it; may change the outputs.
using ForwardHook = std::function<std::vector<Tensor>(
    const Module& module, std::span<const Tensor> inputs, std::span<const Tensor> outputs)>;

// In backward, with the gradients for outputs and inputs: undefined for those that take no part in
// a derivative. A hook gets no module, since that may have been moved or destroyed by then: capture
// what you need. They run on the thread that called backward. Inputs and outputs of a module with
// such hooks are copied, so that forward may write its own in place. Derivatives of derivatives,
// which reach the inputs without coming through the outputs, call none.
using FullBackwardPreHook = std::function<std::vector<Tensor>(std::span<const Tensor> by_outputs)>;
// If no input takes part, it runs once the gradients for the outputs are known, and may change
// nothing.
using FullBackwardHook = std::function<std::vector<Tensor>(std::span<const Tensor> by_inputs,
                                                           std::span<const Tensor> by_outputs)>;

// Before the module's values go into a dict, and once they and those of the modules that it holds are in it: may add, rename
// and erase entries. The prefix is "" or ends with a dot.
using StateDictPreHook = std::function<void(const Module& module, const std::string& prefix)>;
using StateDictHook =
    std::function<void(const Module& module, StateDict& dict, const std::string& prefix)>;
// Before a dict is compared with the module: may bring it into the module's form. It is the load's own copy of the dict,
// which shares the tensors. The outer modules' hooks come first.
using LoadStateDictPreHook = StateDictHook;

namespace detail {
struct Extras;
struct Materializing;
struct Parametrizing;

// A module's hooks and parametrizations, made by the first of them. A copy has its own.
class BP_API ExtrasHolder {
 public:
  ExtrasHolder() = default;
  ExtrasHolder(const ExtrasHolder& other) : extras_(other.extras_ ? copied(other) : nullptr) {}
  ExtrasHolder(ExtrasHolder&& other) noexcept = default;
  ExtrasHolder& operator=(ExtrasHolder other) noexcept {
    extras_.swap(other.extras_);
    return *this;
  }
  ~ExtrasHolder() = default;

  explicit operator bool() const { return extras_ != nullptr; }
  const std::shared_ptr<Extras>& get() const { return extras_; }
  const std::shared_ptr<Extras>& get_or_make();

 private:
  static std::shared_ptr<Extras> copied(const ExtrasHolder& other);

  std::shared_ptr<Extras> extras_;
};
}  // namespace detail

// Removes a hook from the module on which it was registered, wherever that has moved; copies and
// clones of the module have hooks of their own, those of the original at that time. Destroying a
// handle removes nothing.
class BP_API HookHandle {
 public:
  HookHandle() = default;
  // Does nothing if the hook or the module no longer exists. Threads: any; calls that have begun still run the
  // hook.
  void remove();

 private:
  friend class Module;
  HookHandle(std::weak_ptr<detail::Extras> extras, std::uint64_t id)
      : extras_(std::move(extras)), id_(id) {}

  std::weak_ptr<detail::Extras> extras_;
  std::uint64_t id_ = 0;
};

}  // namespace bp::nn
