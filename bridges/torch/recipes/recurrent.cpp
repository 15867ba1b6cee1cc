// LSTM and GRU cells.
#include "recipes/helpers.hpp"

namespace bp::bridge {
namespace {

Tensor with_bias(const Tensor& gates, const Tensor& bias) {
  return bias.defined() ? gates + bias : gates;
}

// `gates` beside one another along the last dimension, as many as `count`.
Tensor gate(const Tensor& gates, std::int64_t place, std::int64_t count) {
  const std::int64_t width = gates.size(-1) / count;
  return slice(gates, -1, place * width, (place + 1) * width);
}

}  // namespace

Triple lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cell,
                 const Tensor& input_bias, const Tensor& hidden_bias) {
  const Tensor gates = with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias);
  const Tensor in = sigmoid(gate(gates, 0, 4)), forget = sigmoid(gate(gates, 1, 4));
  const Tensor value = tanh(gate(gates, 2, 4)), out = sigmoid(gate(gates, 3, 4));
  const Tensor new_cell = forget * cell + in * value;
  return {out * tanh(new_cell), new_cell, cat({in, forget, value, out}, -1)};
}

Triple lstm_cell_gradients(const Tensor& grad_hidden, const Tensor& grad_cell, const Tensor& cell,
                           const Tensor& new_cell, const Tensor& workspace, bool has_bias) {
  const Tensor in = gate(workspace, 0, 4), forget = gate(workspace, 1, 4);
  const Tensor value = gate(workspace, 2, 4), out = gate(workspace, 3, 4);
  const Tensor squashed = tanh(new_cell);
  Tensor by_cell = grad_cell;
  Tensor by_out = zeros(out.shape(), out.dtype(), out.device());
  if (grad_hidden.defined()) {
    const Tensor through = grad_hidden * out * (1 - squashed * squashed);
    by_cell = grad_cell.defined() ? grad_cell + through : through;
    by_out = grad_hidden * squashed * out * (1 - out);
  }
  const Tensor gates = cat({by_cell * value * in * (1 - in), by_cell * cell * forget * (1 - forget),
                            by_cell * in * (1 - value * value), by_out},
                           -1);
  return {gates, by_cell * forget, has_bias ? sum(gates, 0) : Tensor()};
}

Pair gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hidden,
              const Tensor& input_bias, const Tensor& hidden_bias) {
  const Tensor from_input = with_bias(input_gates, input_bias);
  const Tensor from_hidden = with_bias(hidden_gates, hidden_bias);
  const Tensor reset = sigmoid(gate(from_input, 0, 3) + gate(from_hidden, 0, 3));
  const Tensor update = sigmoid(gate(from_input, 1, 3) + gate(from_hidden, 1, 3));
  const Tensor candidate = gate(from_hidden, 2, 3);
  const Tensor fresh = tanh(gate(from_input, 2, 3) + reset * candidate);
  return {fresh + update * (hidden - fresh), cat({reset, update, fresh, candidate, hidden}, -1)};
}

std::array<Tensor, 5> gru_cell_gradients(const Tensor& grad, const Tensor& workspace,
                                         bool has_bias) {
  const Tensor reset = gate(workspace, 0, 5), update = gate(workspace, 1, 5);
  const Tensor fresh = gate(workspace, 2, 5), candidate = gate(workspace, 3, 5);
  const Tensor hidden = gate(workspace, 4, 5);
  const Tensor by_fresh = grad * (1 - update) * (1 - fresh * fresh);
  const Tensor by_update = grad * (hidden - fresh) * update * (1 - update);
  const Tensor by_reset = by_fresh * candidate * reset * (1 - reset);
  const Tensor by_input = cat({by_reset, by_update, by_fresh}, -1);
  const Tensor by_hidden = cat({by_reset, by_update, by_fresh * reset}, -1);
  if (!has_bias) return {by_input, by_hidden, grad * update, Tensor(), Tensor()};
  return {by_input, by_hidden, grad * update, sum(by_input, 0), sum(by_hidden, 0)};
}

}  // namespace bp::bridge
