// Averages of weights over a training: of all steps equally (SWA), or with more weight on recent
// steps (EMA).
#pragma once

#include <functional>
#include <vector>

#include <backplane/core_ops/arguments.hpp>
#include <backplane/state/state.hpp>

namespace bp::optim {

struct AveragedModelOptions {
  // Absent: the mean of all updates (Izmailov et al., 2018). Else averages = decay * averages + (1 - decay) * weights.
  std::optional<double> ema_decay = {};
  // Averages buffers as well; else they are copied.
  bool use_buffers = false;
};

// Averages that live in tensors of the caller, mostly those of a clone of the model:
//
//   Net averaged = nn::clone(net);
//   optim::AveragedModel average(averaged.parameters(), averaged.buffers(), {.ema_decay = 0.999});
//   ... after each step: average.update_parameters(net.parameters(), net.buffers());
//
// The first update copies. Tensors may be on another device than the model's. Not recorded. A few calls for each device and
// dtype. Running statistics of batch norms are not those of the averaged weights: nn::update_bn computes them again.
class BP_API AveragedModel {
 public:
  // Throws bad_argument for no tensors and for a decay outside [0, 1].
  explicit AveragedModel(std::vector<Tensor> parameters, std::vector<Tensor> buffers = {},
                         const AveragedModelOptions& options = {});

  // The model's, in the order of the averages. Throws bad_argument, and changes nothing, for other numbers or shapes.
  void update_parameters(TensorList parameters, TensorList buffers = {});
  std::int64_t n_averaged() const { return n_averaged_; }
  const std::vector<Tensor>& parameters() const { return parameters_; }

  // {"n_averaged": n}; the averages themselves are in the state_dict of the module that they belong to.
  State state_dict() const;
  void load_state_dict(const State& dict);

 private:
  void average(const std::vector<Tensor>& averages, const std::vector<Tensor>& current) const;

  std::vector<Tensor> parameters_, buffers_;
  AveragedModelOptions options_;
  std::int64_t n_averaged_ = 0;
};

}  // namespace bp::optim
