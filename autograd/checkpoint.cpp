// Checkpoints are made of hooks for saved tensors: packing forgets the tensor and counts, and the first
// unpacking computes the region once more, counting in the same order.
#include <mutex>

#include <backplane/autograd/autograd.hpp>
#include <backplane/autograd/function.hpp>
#include <backplane/autograd/hooks.hpp>
#include <backplane/loading/loader.hpp>
#include <backplane/runtime/generator.hpp>
#include <backplane/tensor/check.hpp>

#include "variable.hpp"

namespace bp::autograd {
namespace {

// The random numbers of some devices, as they stand now.
class RandomStates {
 public:
  explicit RandomStates(std::span<const Tensor> tensors) {
    keep(default_device());
    for (const Tensor& tensor : tensors) keep(tensor.device());
  }
  void restore() const {
    for (const auto& [device, state] : states_) default_generator(device).set_state(state);
  }
  // The same devices, now.
  RandomStates now() const {
    RandomStates states = *this;
    for (auto& [device, state] : states.states_) state = default_generator(device).state();
    return states;
  }

 private:
  void keep(Device device) {
    if (device != meta_device) states_.emplace_back(device, default_generator(device).state());
  }
  std::vector<std::pair<Device, PhiloxState>> states_;
};

// Puts back the random numbers that a computation once more has disturbed.
class RandomScope {
 public:
  explicit RandomScope(const RandomStates& states) : before_(states.now()) { states.restore(); }
  ~RandomScope() { before_.restore(); }
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  RandomStates before_;
};

// One call of a checkpoint, shared by the records of what ran in it.
class Frame {
 public:
  Frame(Region function, std::span<const Tensor> inputs)
      : function_(std::move(function)), inputs_(inputs.begin(), inputs.end()), random_(inputs) {}

  std::vector<Tensor> run() { return function_(inputs_); }
  // What is not kept of a tensor: its place among those that are saved.
  std::size_t count_one(const Tensor& tensor) {
    saved_.emplace_back(tensor.dtype(), tensor.shape());
    return saved_.size() - 1;
  }
  // The tensor that was counted as this; computes all of them if it is not there. Each is given once.
  Tensor take(std::size_t index);

 private:
  std::vector<Tensor> compute_again();

  const Region function_;
  const std::vector<Tensor> inputs_;
  const RandomStates random_;
  std::vector<std::pair<Dtype, Dims>> saved_;
  std::mutex mutex_;  // guards what follows; nothing is computed under it
  std::vector<Tensor> computed_;
};

Tensor Frame::take(std::size_t index) {
  {
    const std::lock_guard lock(mutex_);
    if (index < computed_.size() && computed_[index].defined())
      return std::exchange(computed_[index], {});
  }
  std::vector<Tensor> again = compute_again();
  Tensor wanted = std::exchange(again[index], {});
  const std::lock_guard lock(mutex_);
  computed_ = std::move(again);
  return wanted;
}

std::vector<Tensor> Frame::compute_again() {
  const RandomScope random(random_);
  const EnableGrad recorded;
  std::vector<Tensor> saved;
  const SavedTensorHooks collecting(
      [&](const Tensor& tensor) -> std::any {
        saved.push_back(tensor);
        return {};
      },
      [](const std::any&) { return Tensor(); });
  static_cast<void>(function_(inputs_));
  BP_CHECK(
      saved.size() == saved_.size(),
      "checkpoint: the region saved {} tensors when it was computed again, and {} at first; "
      "it must do the same both times (under Autocast: checkpoint(amp::carried(region), inputs))",
      saved.size(), saved_.size());
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const auto& [dtype, shape] = saved_[i];
    BP_CHECK(saved[i].dtype() == dtype && saved[i].shape() == IntList(shape),
             "checkpoint: the region saved {} of shape {} when it was computed again, and {} of "
             "shape {} at first; it must do the same both times (under Autocast: "
             "checkpoint(amp::carried(region), inputs))",
             name(saved[i].dtype()), to_string(saved[i].shape()), name(dtype),
             to_string(IntList(shape)));
  }
  return saved;
}

}  // namespace

std::vector<Tensor> checkpoint(Region function, TensorList inputs) {
  BP_CHECK(function, "checkpoint: the function is empty; give one");
  const auto frame = std::make_shared<Frame>(std::move(function), inputs.span());
  if (!is_grad_enabled()) return frame->run();
  const SavedTensorHooks forgetting(
      [frame](const Tensor& tensor) -> std::any { return frame->count_one(tensor); },
      [frame](const std::any& index) { return frame->take(std::any_cast<std::size_t>(index)); });
  return frame->run();
}

}  // namespace bp::autograd
