// Recurrent networks, step by step from other operators.
#pragma once

#include <cstdint>

#include <backplane/core_ops/generated/all.hpp>

namespace bp {

LstmResult run_lstm(const Tensor& input, TensorList hx, TensorList params, bool has_biases,
                    std::int64_t num_layers, double dropout, bool train, bool bidirectional,
                    bool batch_first);
GruResult run_gru(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                  std::int64_t num_layers, double dropout, bool train, bool bidirectional,
                  bool batch_first);

// Both rows have the same results.
struct PlainResult {
  Tensor output, hidden;
  operator RnnTanhResult() && { return {std::move(output), std::move(hidden)}; }
  operator RnnReluResult() && { return {std::move(output), std::move(hidden)}; }
};
PlainResult run_plain(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                      std::int64_t num_layers, double dropout, bool train, bool bidirectional,
                      bool batch_first, Tensor (*activate)(const Tensor&));

}  // namespace bp
