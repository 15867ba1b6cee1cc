// oneDNN's primitives for a layer of a recurrent network, in one direction.
#pragma once

#include "onednn.hpp"

namespace bp::cpu {

enum Cell : int64_t { lstm_cell, gru_cell, tanh_cell };

constexpr int64_t num_gates_of(Cell cell) {
  return cell == lstm_cell ? 4 : cell == gru_cell ? 3 : 1;
}
// The gate n of a gru has two, one of them inside the product with r.
constexpr int64_t num_biases_of(Cell cell) {
  return cell == gru_cell ? 4 : num_gates_of(cell);
}

// What a primitive is made for. Its tensors are row-major: sequences [steps, batch, size], states [batch, hidden], weights
// [gates, hidden, size].
struct LayerKey {
  int64_t cell, num_threads, is_backward, steps, batch, size, hidden;
};

struct LayerPrimitive {
  dnnl::primitive run;
  Operand of_input, of_state;  // the weights
  dnnl::memory input, state, cell, bias, output, last_state, last_cell, scratch;
  uint64_t scratch_bytes = 0;
};

// Throws dnnl::error where oneDNN has none.
LayerPrimitive make_layer(const LayerKey& key);

}  // namespace bp::cpu
