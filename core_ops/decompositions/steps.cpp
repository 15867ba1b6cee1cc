#include "decompositions/steps.hpp"

#include <cmath>

#include <backplane/dispatcher/transfer.hpp>

#include "rules/decompositions.hpp"

namespace bp {
namespace {

// What the steps of all optimizers share. Values are in float32 where tensors have 16 bits.
class Stepping {
 public:
  Stepping(const StepScaling& scaling, bool maximize) : maximize_(maximize) {
    if (scaling.grad_scale.defined()) scale_ = reshape(scaling.grad_scale, IntList{});
    if (scaling.found_inf.defined()) skips_ = eq(reshape(scaling.found_inf, IntList{}), 1);
  }

  Tensor gradient(const Tensor& grad) const {
    Tensor value = widened(grad);
    if (scale_.defined()) value = div(value, in_dtype(scale_, value.dtype()));
    return maximize_ ? neg(value) : value;
  }

  // All values of a tensor's step are there before the first is written.
  void write(const Tensor& target, const Tensor& value) const {
    if (target.device() == meta_device) return;
    const Tensor fresh = in_dtype(value, target.dtype());
    copy_into(target, skips_.defined() ? where(skips_, target, fresh) : fresh);
  }

 private:
  Tensor scale_, skips_;
  bool maximize_;
};

// The number of the step, 0-dim, in the dtype that is computed in.
Tensor step_of(TensorList steps, std::size_t i, const Tensor& computed) {
  return in_dtype(reshape(steps.span()[i], IntList{}), computed.dtype());
}

// 1 - beta^step, which a power would lose in float32.
Tensor bias_correction(double beta, const Tensor& step) {
  return neg(expm1(mul(step, std::log(beta))));
}

}  // namespace

void sgd_step(TensorList self, TensorList grads, TensorList momentum_buffer_list,
              double weight_decay, double momentum, double lr, double dampening, bool nesterov,
              bool maximize, bool is_first_step, const StepScaling& scaling) {
  const Stepping stepping(scaling, maximize);
  for (std::size_t i = 0; i < self.span().size(); ++i) {
    const Tensor& target = self.span()[i];
    const Tensor parameter = widened(target);
    Tensor gradient = stepping.gradient(grads.span()[i]);
    if (weight_decay != 0) gradient = add(gradient, parameter, weight_decay);
    if (momentum == 0) {
      stepping.write(target, sub(parameter, gradient, lr));
      continue;
    }
    const Tensor& buffer = momentum_buffer_list.span()[i];
    const Tensor velocity =
        is_first_step ? gradient : add(mul(widened(buffer), momentum), gradient, 1 - dampening);
    const Tensor direction = nesterov ? add(gradient, velocity, momentum) : velocity;
    stepping.write(target, sub(parameter, direction, lr));
    stepping.write(buffer, velocity);
  }
}

void adam_step(TensorList self, TensorList grads, const AdamLists& lists,
               const AdamOptions& options, const StepScaling& scaling) {
  const Stepping stepping(scaling, options.maximize);
  const bool decays = options.weight_decay != 0;
  for (std::size_t i = 0; i < self.span().size(); ++i) {
    const Tensor& target = self.span()[i];
    Tensor parameter = widened(target);
    Tensor gradient = stepping.gradient(grads.span()[i]);
    if (decays && !options.is_decoupled) gradient = add(gradient, parameter, options.weight_decay);
    if (decays && options.is_decoupled)
      parameter = mul(parameter, 1 - options.lr * options.weight_decay);
    const Tensor mean =
        lerp(widened(lists.exp_avgs.span()[i]), gradient, Scalar(1 - options.beta1));
    const Tensor square_mean = add(mul(widened(lists.exp_avg_sqs.span()[i]), options.beta2),
                                   square(gradient), 1 - options.beta2);
    Tensor largest = square_mean;
    if (options.amsgrad) largest = maximum(widened(lists.max_exp_avg_sqs.span()[i]), square_mean);
    const Tensor step = step_of(lists.state_steps, i, parameter);
    const Tensor root = sqrt(bias_correction(options.beta2, step));
    const Tensor factor = div(options.lr, bias_correction(options.beta1, step));
    const Tensor denominator = add(div(sqrt(largest), root), options.eps);
    stepping.write(target, sub(parameter, mul(div(mean, denominator), factor)));
    stepping.write(lists.exp_avgs.span()[i], mean);
    stepping.write(lists.exp_avg_sqs.span()[i], square_mean);
    if (options.amsgrad) stepping.write(lists.max_exp_avg_sqs.span()[i], largest);
  }
}

void adagrad_step(TensorList self, TensorList grads, TensorList state_sums, TensorList state_steps,
                  double lr, double lr_decay, double weight_decay, double eps, bool maximize,
                  const StepScaling& scaling) {
  const Stepping stepping(scaling, maximize);
  for (std::size_t i = 0; i < self.span().size(); ++i) {
    const Tensor& target = self.span()[i];
    const Tensor& state = state_sums.span()[i];
    const Tensor parameter = widened(target);
    Tensor gradient = stepping.gradient(grads.span()[i]);
    if (weight_decay != 0) gradient = add(gradient, parameter, weight_decay);
    const Tensor sum = add(widened(state), square(gradient));
    const Tensor step = step_of(state_steps, i, parameter);
    const Tensor factor = div(lr, add(mul(sub(step, 1), lr_decay), 1));
    stepping.write(target, sub(parameter, mul(div(gradient, add(sqrt(sum), eps)), factor)));
    stepping.write(state, sum);
  }
}

}  // namespace bp
