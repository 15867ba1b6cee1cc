// Steps of optimizers: all tensors of a list as one range of elements, which the threads share.
#include "tile/steps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "../constants.hpp"
#include "kernels.hpp"
#include "tensor_view.hpp"
#include "threads.hpp"

namespace bp::cpu {
namespace {

// Calls body(tensor, first, count) for pieces that cover all elements of all tensors.
template <class F> void over_elements(InList tensors, F&& body) {
  std::vector<int64_t> ends;
  ends.reserve(tensors.size());
  int64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) ends.push_back(total += tensors[i].numel());
  parallel_for(total, constants::optimizer_elements, [&](int64_t begin, int64_t end) {
    auto at = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    for (; begin < end; ++at) {
      const int64_t count = std::min(end, ends[at]) - begin;
      if (count <= 0) continue;
      body(at, begin - (ends[at] - tensors[at].numel()), count);
      begin += count;
    }
  });
}

// What the row writes stays the caller's argument: the schema says `mutates`, and no tensor of it is an output.
char* element(In tensor, int64_t index) {
  return address(tensor.abi()) + index * tensor.itemsize();
}

double number_in(In tensor) {
  return tensor.dtype() == f64 ? *tensor.data<double>() : *tensor.data<float>();
}

// The call's scaling of gradients, and whether it is to do nothing.
struct StepScale {
  StepScale(const std::optional<In>& grad_scale, const std::optional<In>& found_inf, bool maximize)
      : factor((maximize ? -1 : 1) / (grad_scale ? number_in(*grad_scale) : 1.0)),
        skips(found_inf && number_in(*found_inf) == 1) {}
  double factor;
  bool skips;
};

template <class Row>
void begin_row(Row& row, In parameter, In gradient, int64_t first, int64_t count) {
  row.parameter = element(parameter, first);
  row.gradient = element(gradient, first);
  row.count = count;
}

bool is_of_doubles(InList tensors) {
  return tensors.size() != 0 && tensors[0].dtype() == f64;
}

Status sgd(Stream, InList self, InList grads, InList buffers, double weight_decay, double momentum,
           double lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
           std::optional<In> grad_scale, std::optional<In> found_inf) {
  const StepScale scale(grad_scale, found_inf, maximize);
  if (scale.skips) return ok;
  const auto run = is_of_doubles(self) ? tile::sgd_f64 : tile::sgd_f32;
  over_elements(self, [&](size_t i, int64_t first, int64_t count) {
    tile::SgdRow row{};
    begin_row(row, self[i], grads[i], first, count);
    row.gradient_factor = scale.factor;
    row.weight_decay = weight_decay;
    row.buffer = momentum != 0 ? element(buffers[i], first) : nullptr;
    row.lr = lr;
    row.momentum = momentum;
    row.fresh = 1 - dampening;
    row.nesterov = nesterov;
    row.is_first_step = is_first_step;
    run(row);
  });
  return ok;
}

struct AdamCall {
  InList self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps;
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, is_decoupled;
};

// The factors that depend on the step, which neighbours mostly share.
struct StepFactors {
  double step = -1, step_size = 0, root_factor = 0;
  void take(const AdamCall& call, double now) {
    if (now == step) return;
    step = now;
    step_size = call.lr / (1 - std::pow(call.beta1, now));
    root_factor = 1 / std::sqrt(1 - std::pow(call.beta2, now));
  }
};

Status run_adam(const AdamCall& call, const StepScale& scale) {
  if (scale.skips) return ok;
  const auto run = is_of_doubles(call.self) ? tile::adam_f64 : tile::adam_f32;
  std::vector<StepFactors> factors(call.self.size());
  for (size_t i = 0; i < factors.size(); ++i) {
    if (i != 0) factors[i] = factors[i - 1];
    factors[i].take(call, number_in(call.state_steps[i]));
  }
  over_elements(call.self, [&](size_t i, int64_t first, int64_t count) {
    tile::AdamRow row{};
    begin_row(row, call.self[i], call.grads[i], first, count);
    row.gradient_factor = scale.factor;
    row.weight_decay = call.is_decoupled ? 0 : call.weight_decay;
    row.decay = call.is_decoupled ? 1 - call.lr * call.weight_decay : 1;
    row.mean = element(call.exp_avgs[i], first);
    row.square_mean = element(call.exp_avg_sqs[i], first);
    row.largest = call.amsgrad ? element(call.max_exp_avg_sqs[i], first) : nullptr;
    row.beta1 = call.beta1;
    row.beta2 = call.beta2;
    row.eps = call.eps;
    row.step_size = factors[i].step_size;
    row.root_factor = factors[i].root_factor;
    run(row);
  });
  return ok;
}

template <bool is_decoupled>
Status adam(Stream, InList self, InList grads, InList exp_avgs, InList exp_avg_sqs,
            InList max_exp_avg_sqs, InList state_steps, double lr, double beta1, double beta2,
            double weight_decay, double eps, bool amsgrad, bool maximize,
            std::optional<In> grad_scale, std::optional<In> found_inf) {
  return run_adam({self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1,
                   beta2, weight_decay, eps, amsgrad, is_decoupled},
                  StepScale(grad_scale, found_inf, maximize));
}

Status adagrad(Stream, InList self, InList grads, InList state_sums, InList state_steps, double lr,
               double lr_decay, double weight_decay, double eps, bool maximize,
               std::optional<In> grad_scale, std::optional<In> found_inf) {
  const StepScale scale(grad_scale, found_inf, maximize);
  if (scale.skips) return ok;
  const auto run = is_of_doubles(self) ? tile::adagrad_f64 : tile::adagrad_f32;
  over_elements(self, [&](size_t i, int64_t first, int64_t count) {
    tile::AdagradRow row{};
    begin_row(row, self[i], grads[i], first, count);
    row.gradient_factor = scale.factor;
    row.weight_decay = weight_decay;
    row.sum = element(state_sums[i], first);
    row.lr = lr / (1 + (number_in(state_steps[i]) - 1) * lr_decay);
    row.eps = eps;
    run(row);
  });
  return ok;
}

template <class Op, class F> void add_step_kernel(Kernels& k, F function) {
  using Place = typename Op::place;
  k.add<Op>(function)
      .dtypes(f32, f64)
      .dtypes(Place::grad_scale, f32, f64)
      .dtypes(Place::found_inf, f32, f64)
      .layouts(contiguous)
      .deterministic();
}

}  // namespace

void add_step_kernels(Kernels& k) {
  add_step_kernel<op::_fused_sgd_>(k, sgd);
  add_step_kernel<op::_fused_adam_>(k, adam<false>);
  add_step_kernel<op::_fused_adamw_>(k, adam<true>);
  add_step_kernel<op::_fused_adagrad_>(k, adagrad);
}

}  // namespace bp::cpu
