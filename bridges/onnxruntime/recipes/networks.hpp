// Products, normalizations, losses, attention, recurrent networks.
#pragma once

#include "helpers.hpp"

namespace bp::onnx {

DimList dims_from(const Tensor& input,
                  std::int64_t first);  // to the last; points into a thread's memory

Tensor multiplied(const Tensor& a, const Tensor& b);  // vectors count as rows and columns
Tensor product(const Tensor& a, const Tensor& b, const Tensor& c, double alpha, double beta);
Tensors batch_normalized(const Tensor& input, const Tensor& scale, const Tensor& bias,
                         const Tensor& mean, const Tensor& variance, double eps, double momentum,
                         bool training);
Tensors layer_normalized(const Tensor& input, const Tensor& scale, const Tensor& bias,
                         std::int64_t axis, double eps);
Tensor rms_normalized(const Tensor& input, const Tensor& scale, std::int64_t axis, double eps);
Tensor unit_length(const Tensor& input, double power, std::int64_t axis);
Tensor likelihood_loss(const Tensor& input, const Tensor& target, const Tensor& weight,
                       std::optional<std::int64_t> ignore_index, std::string_view reduction);

struct AttentionTensors {
  Tensor query, key, value, mask, past_key, past_value, num_keys;
};
struct AttentionOptions {
  bool is_causal;
  std::optional<std::int64_t> query_heads, key_heads;
  std::int64_t products;  // which of the steps the fourth result is
  std::optional<double> scale;
  double softcap;
};
Tensors attended(const AttentionTensors& tensors, const AttentionOptions& options,
                 const NodeFacts& node);
struct LinearAttentionTensors {
  Tensor query, key, value, state, decay, beta;
};
Tensors linearly_attended(const LinearAttentionTensors& tensors, std::int64_t query_heads,
                          std::int64_t key_heads, double scale);
Tensors causally_convolved(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Tensor& state, bool with_silu);
Tensor rotated(const Tensor& input, const Tensor& cosines, const Tensor& sines,
               const Tensor& positions, bool interleaved, std::int64_t num_heads,
               std::int64_t rotary_dim);

bool has(const NodeFacts& node, std::size_t input);
// Are the activations, joined by commas, those of one direction, or for each?
bool are_usual(std::string_view activations, std::string_view usual);
Tensors lstm_steps(const NodeFacts& node, const Tensor& input, const Tensor& weight,
                   const Tensor& recurrence, const Tensor& bias, const Tensor& hidden,
                   const Tensor& cell, const Tensor& peepholes, std::string_view direction,
                   bool batch_first);
Tensors gru_steps(const NodeFacts& node, const Tensor& input, const Tensor& weight,
                  const Tensor& recurrence, const Tensor& bias, const Tensor& hidden,
                  std::string_view direction, bool batch_first, bool linear_before_reset);
Tensors rnn_steps(const NodeFacts& node, const Tensor& input, const Tensor& weight,
                  const Tensor& recurrence, const Tensor& bias, const Tensor& hidden,
                  std::string_view direction, bool batch_first);

}  // namespace bp::onnx
