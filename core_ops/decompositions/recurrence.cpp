#include "decompositions/recurrence.hpp"

#include <backplane/core_ops/creation.hpp>
#include <backplane/tensor/check.hpp>

#include "rules/recurrence.hpp"

namespace bp {
namespace {

struct Weights {
  Tensor of_input, of_state, input_bias, state_bias;
};
Weights weights_of(const RecurrentNetwork& net, TensorList params, std::size_t run) {
  const Tensor* const at = params.span().data() + run * net.num_params();
  Weights weights{at[0], at[1], {}, {}};
  if (net.has_biases) {
    weights.input_bias = at[2];
    weights.state_bias = at[3];
  }
  return weights;
}

void check_network(const RecurrentNetwork& net, const Tensor& input, const Tensor& state,
                   TensorList params) {
  const std::span<const Tensor> all = params.span();
  rules::check_network(net, *input.impl(), *state.impl(), all.size(),
                       [&](std::size_t i) -> const TensorImpl& { return *all[i].impl(); });
}

Tensor part(const Tensor& gates, std::int64_t number, std::int64_t hidden) {
  return narrow(gates, -1, number * hidden, hidden);
}

// Runs all layers: `step(run, gates of the input, weights, state)` gives the next state, whose first tensor is the output.
// A state is what a step hands to the next.
template <class State, class Step>
Tensor run_layers(const RecurrentNetwork& net, const Tensor& input, TensorList params,
                  std::vector<State>& states, Step step) {
  Tensor sequence = net.batch_first ? transpose(input, 0, 1) : input;
  for (std::int64_t layer = 0; layer < net.num_layers; ++layer) {
    std::vector<Tensor> outputs;
    for (std::size_t direction = 0; direction < net.num_directions(); ++direction) {
      const std::size_t run = static_cast<std::size_t>(layer) * net.num_directions() + direction;
      const Weights weights = weights_of(net, params, run);
      const bool is_backward = direction == 1;
      // What does not wait for a state is computed for all steps at once.
      const Tensor of_input = linear(sequence, weights.of_input, weights.input_bias);
      const std::int64_t steps = sequence.size(0);
      std::vector<Tensor> each(static_cast<std::size_t>(steps));
      for (std::int64_t i = 0; i < steps; ++i) {
        const std::int64_t at = is_backward ? steps - 1 - i : i;
        states[run] = step(select(of_input, 0, at), weights, states[run]);
        each[static_cast<std::size_t>(at)] = states[run].hidden;
      }
      outputs.push_back(stack(each, 0));
    }
    sequence = outputs.size() == 1 ? outputs[0] : cat(outputs, 2);
    if (net.train && net.dropout > 0 && layer + 1 < net.num_layers)
      sequence = dropout(sequence, net.dropout, true);
  }
  return net.batch_first ? contiguous(transpose(sequence, 0, 1)) : sequence;
}

struct Hidden {
  Tensor hidden;
};
struct HiddenAndCell {
  Tensor hidden, cell;
};

template <class State> Tensor last_of(const std::vector<State>& states, Tensor State::*which) {
  std::vector<Tensor> each;
  for (const State& state : states) each.push_back(state.*which);
  return stack(each, 0);
}

std::vector<Hidden> first_states(const Tensor& hx) {
  std::vector<Hidden> states;
  for (const Tensor& each : unbind(hx)) states.push_back({each});
  return states;
}

}  // namespace

LstmResult run_lstm(const Tensor& input, TensorList hx, TensorList params, bool has_biases,
                    std::int64_t num_layers, double dropout, bool train, bool bidirectional,
                    bool batch_first) {
  BP_CHECK(hx.span().size() == 2, "lstm: {} states; pass the hidden and the cell state",
           hx.span().size());
  const Tensor &hidden = hx.span()[0], &cell = hx.span()[1];
  const RecurrentNetwork net{"lstm", has_biases,    num_layers,  dropout,
                             train,  bidirectional, batch_first, 4};
  rules::check_cell(*hidden.impl(), *cell.impl());
  check_network(net, input, hidden, params);
  const std::int64_t size = hidden.size(2);
  std::vector<HiddenAndCell> states;
  for (const Hidden& each : first_states(hidden)) states.push_back({each.hidden, {}});
  const std::vector<Tensor> cells = unbind(cell);
  for (std::size_t i = 0; i < states.size(); ++i) states[i].cell = cells[i];
  Tensor output = run_layers(
      net, input, params, states,
      [&](const Tensor& of_input, const Weights& weights, const HiddenAndCell& state) {
        const Tensor gates =
            add(of_input, linear(state.hidden, weights.of_state, weights.state_bias));
        const Tensor kept = mul(sigmoid(part(gates, 1, size)), state.cell);
        const Tensor taken = mul(sigmoid(part(gates, 0, size)), tanh(part(gates, 2, size)));
        const Tensor next = add(kept, taken);
        return HiddenAndCell{mul(sigmoid(part(gates, 3, size)), tanh(next)), next};
      });
  return {std::move(output), last_of(states, &HiddenAndCell::hidden),
          last_of(states, &HiddenAndCell::cell)};
}

GruResult run_gru(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                  std::int64_t num_layers, double dropout, bool train, bool bidirectional,
                  bool batch_first) {
  const RecurrentNetwork net{"gru", has_biases,    num_layers,  dropout,
                             train, bidirectional, batch_first, 3};
  check_network(net, input, hx, params);
  const std::int64_t size = hx.size(2);
  std::vector<Hidden> states = first_states(hx);
  Tensor output = run_layers(
      net, input, params, states,
      [&](const Tensor& of_input, const Weights& weights, const Hidden& state) {
        const Tensor of_state = linear(state.hidden, weights.of_state, weights.state_bias);
        const Tensor reset = sigmoid(add(part(of_input, 0, size), part(of_state, 0, size)));
        const Tensor update = sigmoid(add(part(of_input, 1, size), part(of_state, 1, size)));
        const Tensor fresh =
            tanh(add(part(of_input, 2, size), mul(reset, part(of_state, 2, size))));
        return Hidden{add(fresh, mul(update, sub(state.hidden, fresh)))};
      });
  return {std::move(output), last_of(states, &Hidden::hidden)};
}

PlainResult run_plain(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                      std::int64_t num_layers, double dropout, bool train, bool bidirectional,
                      bool batch_first, Tensor (*activate)(const Tensor&)) {
  const RecurrentNetwork net{"rnn", has_biases,    num_layers,  dropout,
                             train, bidirectional, batch_first, 1};
  check_network(net, input, hx, params);
  std::vector<Hidden> states = first_states(hx);
  Tensor output = run_layers(
      net, input, params, states,
      [&](const Tensor& of_input, const Weights& weights, const Hidden& state) {
        const Tensor of_state = linear(state.hidden, weights.of_state, weights.state_bias);
        return Hidden{activate(add(of_input, of_state))};
      });
  return {std::move(output), last_of(states, &Hidden::hidden)};
}

}  // namespace bp
