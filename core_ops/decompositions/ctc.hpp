// Connectionist temporal classification, from other operators.
#pragma once

#include <cstdint>
#include <string_view>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

Tensor loss_of_alignments(const Tensor& log_probs, const Tensor& targets,
                          const Tensor& input_lengths, const Tensor& target_lengths,
                          std::int64_t blank, std::string_view reduction, bool zero_infinity);
Tensor gradient_of_alignments(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                              const Tensor& input_lengths, const Tensor& target_lengths,
                              std::int64_t blank, std::string_view reduction, bool zero_infinity);

}  // namespace bp
