// Steps of optimizers, tensor by tensor, by public operators.
#pragma once

#include <backplane/core_ops/arguments.hpp>

namespace bp {

// What a scaler of gradients hands to a step; either may be undefined.
struct StepScaling {
  const Tensor& grad_scale;  // gradients are divided by it
  const Tensor& found_inf;   // 1: nothing is written
};

struct AdamLists {
  TensorList exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps;
};

struct AdamOptions {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize;
  bool is_decoupled;  // the decay is not part of the gradient: AdamW
};

void sgd_step(TensorList self, TensorList grads, TensorList momentum_buffer_list,
              double weight_decay, double momentum, double lr, double dampening, bool nesterov,
              bool maximize, bool is_first_step, const StepScaling& scaling);
void adam_step(TensorList self, TensorList grads, const AdamLists& lists,
               const AdamOptions& options, const StepScaling& scaling);
void adagrad_step(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                  double lr, double lr_decay, double weight_decay, double eps, bool maximize,
                  const StepScaling& scaling);

}  // namespace bp
