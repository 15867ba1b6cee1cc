// Hooks on the way back through a module.
#include <map>
#include <mutex>
#include <thread>

#include <backplane/autograd/autograd.hpp>
#include <backplane/autograd/function.hpp>
#include <backplane/tensor/check.hpp>

#include "extras.hpp"

namespace bp::nn::detail {
namespace {

// Inputs and outputs go through a function each that computes nothing. On the way back that of the outputs comes first, and
// leaves their gradients here for that of the inputs.
class Watch final : public BackwardWatch, public std::enable_shared_from_this<Watch> {
 public:
  explicit Watch(const HookLists& hooks) : pre_(hooks.backward_pre), hooks_(hooks.backward) {}

  std::vector<Tensor> inputs(std::vector<Tensor> tensors) override {
    num_inputs_ = tensors.size();
    return pass(std::move(tensors), watched_inputs_,
                [self = shared_from_this()](std::vector<Tensor> by_inputs) {
                  return self->at_inputs(std::move(by_inputs));
                });
  }

  std::vector<Tensor> outputs(std::vector<Tensor> tensors) override {
    num_outputs_ = tensors.size();
    return pass(std::move(tensors), watched_outputs_,
                [self = shared_from_this()](std::vector<Tensor> by_outputs) {
                  return self->at_outputs(std::move(by_outputs));
                });
  }

 private:
  using Places = std::vector<std::size_t>;

  // The tensors that take part in a derivative, copied by a recorded call whose derivative is `back`.
  template <class Back>
  static std::vector<Tensor> pass(std::vector<Tensor> tensors, Places& watched, const Back& back) {
    std::vector<Tensor> taking_part;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (is_grad_enabled() && tensors[i].defined() && requires_grad(tensors[i])) {
        watched.push_back(i);
        taking_part.push_back(tensors[i]);
      }
    if (watched.empty()) return tensors;
    const autograd::Function function{
        "full_backward_hook",
        [](autograd::FunctionContext&, std::span<const Tensor> all) {
          return std::vector<Tensor>(all.begin(), all.end());
        },
        [back](autograd::FunctionContext&, std::span<const Tensor> gradients) {
          return back({gradients.begin(), gradients.end()});
        }};
    const std::vector<Tensor> passed = autograd::apply(function, taking_part);
    for (std::size_t i = 0; i < watched.size(); ++i) tensors[watched[i]] = passed[i];
    return tensors;
  }

  std::vector<Tensor> at_outputs(std::vector<Tensor> gradients) {
    std::vector<Tensor> all = spread(gradients, watched_outputs_, num_outputs_);
    for (const auto& [id, hook] : pre_) replace(all, hook(all), "full backward pre-hook");
    if (watched_inputs_.empty()) {
      const std::vector<Tensor> none(num_inputs_);
      for (const auto& [id, hook] : hooks_)
        BP_CHECK(hook(none, all).empty(),
                 "full backward hook: no input of the module requires grad, so there is no "
                 "gradient to replace; return none");
    } else {
      const std::lock_guard lock(mutex_);
      by_outputs_[std::this_thread::get_id()] = all;
    }
    return gathered(all, watched_outputs_);
  }

  std::vector<Tensor> at_inputs(std::vector<Tensor> gradients) {
    std::vector<Tensor> by_outputs;
    {
      const std::lock_guard lock(mutex_);
      auto kept = by_outputs_.extract(std::this_thread::get_id());
      // It did not come through the outputs: a derivative of a derivative.
      if (kept.empty()) return gradients;
      by_outputs = std::move(kept.mapped());
    }
    std::vector<Tensor> all = spread(gradients, watched_inputs_, num_inputs_);
    for (const auto& [id, hook] : hooks_) replace(all, hook(all, by_outputs), "full backward hook");
    return gathered(all, watched_inputs_);
  }

  static std::vector<Tensor> spread(const std::vector<Tensor>& tensors, const Places& places,
                                    std::size_t size) {
    std::vector<Tensor> all(size);
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = tensors[i];
    return all;
  }
  static std::vector<Tensor> gathered(const std::vector<Tensor>& all, const Places& places) {
    std::vector<Tensor> tensors;
    for (std::size_t place : places) tensors.push_back(all[place]);
    return tensors;
  }

  const Hooks<FullBackwardPreHook> pre_;
  const Hooks<FullBackwardHook> hooks_;
  std::size_t num_inputs_ = 0, num_outputs_ = 0;
  Places watched_inputs_, watched_outputs_;
  std::mutex mutex_;
  // By thread, since several may go back through one record at once.
  std::map<std::thread::id, std::vector<Tensor>> by_outputs_;
};

}  // namespace

std::shared_ptr<BackwardWatch> BackwardWatch::of(const HookLists& hooks) {
  if (hooks.backward.empty() && hooks.backward_pre.empty()) return nullptr;
  return std::make_shared<Watch>(hooks);
}

}  // namespace bp::nn::detail
