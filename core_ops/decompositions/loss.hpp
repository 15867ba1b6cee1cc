// Losses, from other operators.
#pragma once

#include <cstdint>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

// Throws unless it is 'mean', 'sum' or 'none'.
void check_reduction(std::string_view op, std::string_view reduction);
// 'mean', 'sum' or 'none' of a loss for each element.
Tensor reduced_loss(std::string_view op, const Tensor& loss, std::string_view reduction);

Tensor smooth_l1_by_parts_of(const Tensor& input, const Tensor& target, std::string_view reduction,
                             double beta);
Tensor binary_cross_entropy_of_logits(const Tensor& input, const Tensor& target,
                                      const Tensor& weight, std::string_view reduction,
                                      const Tensor& pos_weight);
Tensor divergence_from_logs(const Tensor& input, const Tensor& target, std::string_view reduction,
                            bool log_target);
Tensor negative_log_likelihood(const Tensor& input, const Tensor& target, const Tensor& weight,
                               std::int64_t ignore_index, std::string_view reduction);
Tensor cross_entropy_by_logs(const Tensor& input, const Tensor& target, const Tensor& weight,
                             std::int64_t ignore_index, std::string_view reduction,
                             double label_smoothing);

// Of margins and likelihoods: pair_loss.cpp.
Tensor huber_by_parts_of(const Tensor& input, const Tensor& target, std::string_view reduction,
                         double delta);
Tensor soft_margin_by_softplus(const Tensor& input, const Tensor& target,
                               std::string_view reduction);
Tensor hinge_embedding_by_sides(const Tensor& input, const Tensor& target, double margin,
                                std::string_view reduction);
Tensor margin_ranking_by_differences(const Tensor& input1, const Tensor& input2,
                                     const Tensor& target, double margin,
                                     std::string_view reduction);
Tensor poisson_likelihood(const Tensor& input, const Tensor& target, bool log_input, bool full,
                          double eps, std::string_view reduction);
Tensor binary_cross_entropy_of_parts(const Tensor& input, const Tensor& target,
                                     const Tensor& weight, std::string_view reduction);

}  // namespace bp
