#include <deque>

#include <backplane/autograd/autograd.hpp>
#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/nn/normalization.hpp>
#include <backplane/nn/update_bn.hpp>
#include <backplane/tensor/check.hpp>

#include "training_modes.hpp"

namespace bp::nn {
namespace {

// A batch norm without momentum; its own comes back in the end.
class Averaging {
 public:
  explicit Averaging(BatchNorm& norm) : norm_(norm), momentum_(norm.momentum()) {
    for (const Tensor& each : {norm.running_mean, norm.running_var, norm.num_batches_tracked})
      if (each.defined()) statistics_.emplace_back(each, clone(each));
    norm.set_momentum(std::nullopt);
  }
  Averaging(const Averaging&) = delete;
  Averaging& operator=(const Averaging&) = delete;
  ~Averaging() { norm_.set_momentum(momentum_); }

  void begin() { norm_.reset_running_stats(); }
  void take_back() {
    for (const auto& [statistic, before] : statistics_) copy_(statistic, before);
  }

 private:
  BatchNorm& norm_;
  std::optional<double> momentum_;
  std::vector<std::pair<Tensor, Tensor>> statistics_;  // and what they were
};

}  // namespace

void detail::check_batch_size(std::size_t num_parts) {
  BP_CHECK(num_parts > 0,
           "update_bn: a batch is an empty list; its first tensor must be the model's input");
}

void detail::update_bn(const std::function<void(const UseInput&)>& visit, Module& model,
                       std::optional<Device> device) {
  const NoGrad no_grad;
  std::deque<Averaging> norms;  // at places that stay
  for (const auto& [path, module] : model.named_modules())
    if (auto* norm = dynamic_cast<BatchNorm*>(module)) norms.emplace_back(*norm);
  if (norms.empty()) return;
  const TrainingModes training(model, true);
  bool has_batch = false;
  try {
    for (Averaging& each : norms) each.begin();
    visit([&](const Tensor& input) {
      has_batch = true;
      model.call_all({device ? to(input, *device) : input});
    });
    BP_CHECK(has_batch,
             "update_bn: there is no batch to take statistics from; if the loader or range was "
             "read to its end, pass a new one");
  } catch (...) {
    for (Averaging& each : norms) each.take_back();
    throw;
  }
}

}  // namespace bp::nn
