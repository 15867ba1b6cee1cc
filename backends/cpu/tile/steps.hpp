// Steps of optimizers over elements in a row, as vector code for f32 and f64: the formulas of the rows _fused_*_, which
// core_ops/table/optimizer.yaml has. Each value is read before it is written.
#pragma once

#include <cstdint>

namespace bp::cpu::tile {

// What all of them have.
struct StepRow {
  void* parameter;
  const void* gradient;
  int64_t count;
  double gradient_factor;  // of a scale, and a sign
  double weight_decay;     // times the parameter, added to the gradient
};

struct SgdRow : StepRow {
  void* buffer;  // NULL without a momentum
  double lr, momentum;
  double fresh;  // the gradient's part in the buffer
  bool nesterov, is_first_step;
};
void sgd_f32(const SgdRow& row);
void sgd_f64(const SgdRow& row);

struct AdamRow : StepRow {
  void *mean, *square_mean;
  void* largest;  // NULL but for amsgrad
  double decay;   // the parameter's own factor
  double beta1, beta2, eps;
  double step_size;    // lr / (1 - beta1^step)
  double root_factor;  // 1 / sqrt(1 - beta2^step)
};
void adam_f32(const AdamRow& row);
void adam_f64(const AdamRow& row);

struct AdagradRow : StepRow {
  void* sum;
  double lr, eps;
};
void adagrad_f32(const AdagradRow& row);
void adagrad_f64(const AdagradRow& row);

}  // namespace bp::cpu::tile
