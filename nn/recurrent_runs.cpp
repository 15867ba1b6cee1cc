// Recurrent layers along their sequences: by the rows of the table where all sequences are of one length, and for packed ones by
// those for each stretch of steps that the same number of sequences reach.
#include <algorithm>

#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>

#include "recurrent.hpp"

namespace bp::nn {
namespace {

// Steps that the same number of sequences reach.
struct Stretch {
  std::int64_t first, steps, batch;  // first: among the packed elements
};

std::vector<Stretch> stretches_of(const std::vector<std::int64_t>& batch_sizes) {
  std::vector<Stretch> all;
  std::int64_t place = 0;
  for (std::int64_t batch : batch_sizes) {
    if (all.empty() || all.back().batch != batch) all.push_back({place, 0, batch});
    ++all.back().steps;
    place += batch;
  }
  return all;
}

Tensor rows_of(const Tensor& state, std::int64_t first, std::int64_t count) {
  return state.defined() ? narrow(state, 0, first, count) : state;
}

Tensor joined(const Tensor& a, const Tensor& b) {
  return a.defined() ? cat({a, b}, 0) : a;
}

}  // namespace

std::vector<Tensor> RNNBase::run_row(const Tensor& input, const std::vector<Tensor>& states,
                                     bool batch_first, std::span<const Weights> weights,
                                     std::int64_t num_layers, bool bidirectional) const {
  std::vector<Tensor> params;
  for (const Weights& each : weights) {
    params.insert(params.end(), {each.weight_ih, each.weight_hh});
    if (options_.bias) params.insert(params.end(), {each.bias_ih, each.bias_hh});
  }
  const auto with = [&](const auto& row, const auto& first) {
    return row(input, first, params, options_.bias, num_layers, options_.dropout, is_training(),
               bidirectional, batch_first);
  };
  if (kind_ == &RNNBase::lstm) {
    const LstmResult result = with(bp::lstm, TensorList(states));
    return {result.output, result.hidden, result.cell};
  }
  if (kind_ == &RNNBase::gru) {
    const GruResult result = with(bp::gru, states[0]);
    return {result.output, result.hidden};
  }
  if (options_.nonlinearity == "relu") {
    const RnnReluResult result = with(bp::rnn_relu, states[0]);
    return {result.output, result.hidden};
  }
  const RnnTanhResult result = with(bp::rnn_tanh, states[0]);
  return {result.output, result.hidden};
}

// One direction over [steps, batch, features].
RNNBase::Pass RNNBase::run_steps(const Tensor& input, const Pass& before,
                                 const Weights& weights) const {
  if (options_.proj_size == 0) {
    std::vector<Tensor> states{unsqueeze(before.hidden, 0)};
    if (before.cell.defined()) states.push_back(unsqueeze(before.cell, 0));
    const std::vector<Tensor> results = run_row(input, states, false, {&weights, 1}, 1, false);
    return {results[0], squeeze(results[1], 0),
            results.size() > 2 ? squeeze(results[2], 0) : Tensor()};
  }
  // No row of the table projects.
  const Tensor of_input = linear(input, weights.weight_ih, weights.bias_ih);
  std::vector<Tensor> outputs;
  Tensor hidden = before.hidden, cell = before.cell;
  for (std::int64_t step = 0; step < input.size(0); ++step) {
    const std::vector<Tensor> gates = chunk(
        select(of_input, 0, step) + linear(hidden, weights.weight_hh, weights.bias_hh), 4, -1);
    cell = sigmoid(gates[1]) * cell + sigmoid(gates[0]) * tanh(gates[2]);
    hidden = linear(sigmoid(gates[3]) * tanh(cell), weights.weight_hr);
    outputs.push_back(hidden);
  }
  return {stack(outputs, 0), hidden, cell};
}

// One direction over packed elements [elements, features]. The states have a row for each sequence, the longest first.
RNNBase::Pass RNNBase::run_direction(const Tensor& data,
                                     const std::vector<std::int64_t>& batch_sizes,
                                     const Pass& before, const Weights& weights,
                                     bool is_reverse) const {
  std::vector<Stretch> stretches = stretches_of(batch_sizes);
  if (is_reverse) std::reverse(stretches.begin(), stretches.end());
  std::vector<Tensor> outputs;
  Pass now{{},
           rows_of(before.hidden, 0, stretches[0].batch),
           rows_of(before.cell, 0, stretches[0].batch)};
  Pass ended;  // the last states of sequences that are over
  for (const auto& [first, steps, batch] : stretches) {
    const std::int64_t rows = now.hidden.size(0);
    if (rows > batch) {
      Pass over{
          {}, rows_of(now.hidden, batch, rows - batch), rows_of(now.cell, batch, rows - batch)};
      if (ended.hidden.defined())
        over = {{}, joined(over.hidden, ended.hidden), joined(over.cell, ended.cell)};
      ended = over;
      now = {{}, rows_of(now.hidden, 0, batch), rows_of(now.cell, 0, batch)};
    } else if (rows < batch) {
      now = {{},
             joined(now.hidden, rows_of(before.hidden, rows, batch - rows)),
             joined(now.cell, rows_of(before.cell, rows, batch - rows))};
    }
    Tensor input = reshape(narrow(data, 0, first, steps * batch), {steps, batch, data.size(1)});
    if (is_reverse) input = flip(input, {0});
    now = run_steps(input, now, weights);
    const Tensor output = is_reverse ? flip(now.output, {0}) : now.output;
    outputs.push_back(reshape(output, {steps * batch, output.size(2)}));
  }
  if (is_reverse) std::reverse(outputs.begin(), outputs.end());
  if (ended.hidden.defined())
    now = {{}, joined(now.hidden, ended.hidden), joined(now.cell, ended.cell)};
  return {outputs.size() == 1 ? outputs[0] : cat(outputs, 0), now.hidden, now.cell};
}

std::vector<Tensor> RNNBase::run_layers(const Tensor& data,
                                        const std::vector<std::int64_t>& batch_sizes,
                                        const std::vector<Tensor>& states) const {
  Tensor sequence = data;
  std::vector<Tensor> hidden, cells;
  for (std::int64_t layer = 0; layer < options_.num_layers; ++layer) {
    std::vector<Tensor> outputs;
    for (std::int64_t direction = 0; direction < num_directions(); ++direction) {
      const std::int64_t run = layer * num_directions() + direction;
      const Pass before{
          {}, select(states[0], 0, run), kind_->has_cell ? select(states[1], 0, run) : Tensor()};
      const Pass after = run_direction(sequence, batch_sizes, before,
                                       weights_[static_cast<std::size_t>(run)], direction == 1);
      outputs.push_back(after.output);
      hidden.push_back(after.hidden);
      if (kind_->has_cell) cells.push_back(after.cell);
    }
    sequence = outputs.size() == 1 ? outputs[0] : cat(outputs, 1);
    if (is_training() && options_.dropout > 0 && layer + 1 < options_.num_layers)
      sequence = dropout(sequence, options_.dropout, true);
  }
  std::vector<Tensor> results{sequence, stack(hidden, 0)};
  if (kind_->has_cell) results.push_back(stack(cells, 0));
  return results;
}

}  // namespace bp::nn
