// Normalizations and their gradients, from other operators.
#pragma once

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// The distance from 1 to the next number of the dtype that `input`'s statistics have.
double smallest_step(const Tensor& input);

NativeLayerNormResult layer_norm_by_moments(const Tensor& input, IntList normalized_shape,
                                            const Tensor& weight, const Tensor& bias, double eps);
NativeRmsNormResult rms_norm_by_moments(const Tensor& input, IntList normalized_shape,
                                        const Tensor& weight, double eps);
Tensor norm_backward_by_means(const Tensor& grad, const Tensor& input, IntList normalized_shape,
                              const Tensor& mean, const Tensor& rstd, const Tensor& weight);
Tensor norm_weight_backward_by_sum(const Tensor& grad, const Tensor& input,
                                   IntList normalized_shape, const Tensor& mean,
                                   const Tensor& rstd);
NormGradientsResult norm_gradients_one_by_one(const Tensor& grad, const Tensor& input,
                                              IntList normalized_shape, const Tensor& mean,
                                              const Tensor& rstd, const Tensor& weight);

Tensor group_norm_by_rows(const Tensor& input, std::int64_t num_groups, const Tensor& weight,
                          const Tensor& bias, double eps);
Tensor batch_norm_by_moments(const Tensor& input, const Tensor& weight, const Tensor& bias,
                             const Tensor& running_mean, const Tensor& running_var, bool training,
                             double momentum, double eps);
NativeBatchNormResult native_batch_norm_by_moments(const Tensor& input, const Tensor& weight,
                                                   const Tensor& bias, double eps);
BatchNormBackwardResult batch_norm_backward_by_sums(const Tensor& grad, const Tensor& input,
                                                    const Tensor& weight, const Tensor& mean,
                                                    const Tensor& variance, double eps);
Tensor instance_norm_by_groups(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor& running_mean, const Tensor& running_var,
                               bool use_input_stats, double momentum, double eps);

}  // namespace bp
