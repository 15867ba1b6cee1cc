// Recurrent networks: the rows' own where ONNX's are the same but for the order of the gates, else step by step.
#include "networks.hpp"

namespace bp::onnx {
namespace {

// The parts of the first dimension, in another order.
Tensor reordered(const Tensor& stacked, std::initializer_list<std::int64_t> order) {
  const std::int64_t part = stacked.size(0) / static_cast<std::int64_t>(order.size());
  Tensors parts;
  for (const std::int64_t each : order) parts.push_back(narrow(stacked, 0, each * part, part));
  return cat(parts, 0);
}

// Of each direction: weight, recurrence and, if there is a bias, those of the input and of the state.
Tensors reordered_parameters(const Tensor& weight, const Tensor& recurrence, const Tensor& bias,
                             std::initializer_list<std::int64_t> order) {
  const std::int64_t rows = static_cast<std::int64_t>(order.size()) * recurrence.size(2);
  Tensors all;
  for (std::int64_t i = 0; i < weight.size(0); ++i) {
    all.push_back(reordered(select(weight, 0, i), order));
    all.push_back(reordered(select(recurrence, 0, i), order));
    if (!bias.defined()) continue;
    const Tensor both = select(bias, 0, i);
    all.push_back(reordered(narrow(both, 0, 0, rows), order));
    all.push_back(reordered(narrow(both, 0, rows, rows), order));
  }
  return all;
}

struct Layer {
  Tensor weight, recurrence, input_bias, hidden_bias;
};

struct Network {
  std::vector<Layer> layers;  // by direction
  Tensors parameters;         // of all layers, as the rows take them
  bool is_backward = false;   // its only direction
  Tensor input;               // [steps, N, input]
  std::int64_t hidden_size = 0;
  bool batch_first = false;

  Network(const NodeFacts& node, const Tensor& given, const Tensor& weight,
          const Tensor& recurrence, const Tensor& bias, std::string_view direction, bool batch,
          std::initializer_list<std::int64_t> order)
      : is_backward(direction == "reverse"), input(batch ? transpose(given, 0, 1) : given),
        hidden_size(recurrence.size(2)), batch_first(batch) {
    if (is_backward) input = flip(input, {0});
    const auto make = [&] { return reordered_parameters(weight, recurrence, bias, order); };
    const auto make_for_all = [&] {
      Tensors all = make();
      synchronize(weight.device());  // other threads read them on streams of their own
      return all;
    };
    const auto is_constant = [&](std::size_t place) {
      return !has(node, place) || node.inputs[place].is_constant;
    };
    constexpr std::size_t weight_at = 1, recurrence_at = 2, bias_at = 3;
    const bool keeps = is_constant(weight_at) && is_constant(recurrence_at) && is_constant(bias_at);
    parameters = keeps ? node.kept->get(make_for_all) : make();
    const std::size_t each = bias.defined() ? 4 : 2;
    for (std::size_t i = 0; i < parameters.size(); i += each) {
      layers.push_back({parameters[i], parameters[i + 1], {}, {}});
      if (!bias.defined()) continue;
      layers.back().input_bias = parameters[i + 2];
      layers.back().hidden_bias = parameters[i + 3];
    }
  }

  bool has_biases() const { return layers[0].input_bias.defined(); }
  bool is_bidirectional() const { return layers.size() == 2; }
  // [directions, N, hidden]
  Tensor first_state(const Tensor& given) const {
    if (given.defined()) return batch_first ? contiguous(transpose(given, 0, 1)) : given;
    return zeros({static_cast<std::int64_t>(layers.size()), input.size(1), hidden_size},
                 {.dtype = input.dtype(), .device = input.device()});
  }
  // [steps, N, directions * hidden] as ONNX has it.
  Tensor outputs(const Tensor& rows) const {
    const Tensor forward = is_backward ? flip(rows, {0}) : rows;
    const Tensor split = reshape(forward, {rows.size(0), rows.size(1),
                                           static_cast<std::int64_t>(layers.size()), hidden_size});
    return batch_first ? transpose(split, 0, 1) : transpose(split, 1, 2);
  }
  Tensor last_state(const Tensor& state) const {
    return batch_first ? transpose(state, 0, 1) : state;
  }
};

}  // namespace

bool has(const NodeFacts& node, std::size_t input) {
  return input < node.inputs.size() && node.inputs[input].exists;
}

bool are_usual(std::string_view activations, std::string_view usual) {
  return activations.empty() || activations == usual ||
         activations == std::string(usual) + "," + std::string(usual);
}

Tensors lstm_steps(const NodeFacts& node, const Tensor& input, const Tensor& weight,
                   const Tensor& recurrence, const Tensor& bias, const Tensor& hidden,
                   const Tensor& cell, const Tensor& peepholes, std::string_view direction,
                   bool batch_first) {
  const Network net(node, input, weight, recurrence, bias, direction, batch_first,
                    {0, 2, 3, 1});  // iofc as ifgo
  const Tensors states{net.first_state(hidden), net.first_state(cell)};
  if (!peepholes.defined()) {
    const LstmResult found = lstm(net.input, states, net.parameters, net.has_biases(), 1, 0, false,
                                  net.is_bidirectional(), false);
    return {net.outputs(found.output), net.last_state(found.hidden), net.last_state(found.cell)};
  }
  Tensors rows, last_hidden, last_cell;
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    const Layer& layer = net.layers[i];
    const auto dim = static_cast<std::int64_t>(i);
    const Tensors peeps = split(select(peepholes, 0, dim), net.hidden_size, 0);  // i, o, f
    Tensor h = select(states[0], 0, dim), c = select(states[1], 0, dim);
    const Tensor data = i == 1 ? flip(net.input, {0}) : net.input;
    Tensors outputs;
    for (std::int64_t step = 0; step < data.size(0); ++step) {
      const Tensor gates = linear(select(data, 0, step), layer.weight, layer.input_bias) +
                           linear(h, layer.recurrence, layer.hidden_bias);
      const Tensors parts = split(gates, net.hidden_size, 1);
      const Tensor in = sigmoid(parts[0] + peeps[0] * c), forget = sigmoid(parts[1] + peeps[2] * c);
      c = forget * c + in * tanh(parts[2]);
      h = sigmoid(parts[3] + peeps[1] * c) * tanh(c);
      outputs.push_back(h);
    }
    const Tensor stacked = stack(outputs, 0);
    rows.push_back(i == 1 ? flip(stacked, {0}) : stacked);
    last_hidden.push_back(h);
    last_cell.push_back(c);
  }
  return {net.outputs(cat(rows, 2)), net.last_state(stack(last_hidden, 0)),
          net.last_state(stack(last_cell, 0))};
}

Tensors gru_steps(const NodeFacts& node, const Tensor& input, const Tensor& weight,
                  const Tensor& recurrence, const Tensor& bias, const Tensor& hidden,
                  std::string_view direction, bool batch_first, bool linear_before_reset) {
  const Network net(node, input, weight, recurrence, bias, direction, batch_first,
                    {1, 0, 2});  // zrh as rzn
  const Tensor first = net.first_state(hidden);
  if (linear_before_reset) {
    const GruResult found = gru(net.input, first, net.parameters, net.has_biases(), 1, 0, false,
                                net.is_bidirectional(), false);
    return {net.outputs(found.output), net.last_state(found.hidden)};
  }
  Tensors rows, last;
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    const Layer& layer = net.layers[i];
    const std::int64_t size = net.hidden_size;
    Tensor h = select(first, 0, static_cast<std::int64_t>(i));
    const Tensor data = i == 1 ? flip(net.input, {0}) : net.input;
    const auto part = [&](const Tensor& tensor, std::int64_t begin, std::int64_t count) {
      return tensor.defined() ? narrow(tensor, 0, begin * size, count * size) : tensor;
    };
    const Tensor reset_rows = part(layer.recurrence, 0, 2), new_rows = part(layer.recurrence, 2, 1);
    const Tensor reset_bias = part(layer.hidden_bias, 0, 2),
                 new_bias = part(layer.hidden_bias, 2, 1);
    Tensors outputs;
    for (std::int64_t step = 0; step < data.size(0); ++step) {
      const Tensors in =
          split(linear(select(data, 0, step), layer.weight, layer.input_bias), size, 1);
      const Tensors of_state = split(linear(h, reset_rows, reset_bias), size, 1);
      const Tensor reset = sigmoid(in[0] + of_state[0]), update = sigmoid(in[1] + of_state[1]);
      const Tensor fresh = tanh(in[2] + linear(reset * h, new_rows, new_bias));
      h = (1 - update) * fresh + update * h;
      outputs.push_back(h);
    }
    const Tensor stacked = stack(outputs, 0);
    rows.push_back(i == 1 ? flip(stacked, {0}) : stacked);
    last.push_back(h);
  }
  return {net.outputs(cat(rows, 2)), net.last_state(stack(last, 0))};
}

Tensors rnn_steps(const NodeFacts& node, const Tensor& input, const Tensor& weight,
                  const Tensor& recurrence, const Tensor& bias, const Tensor& hidden,
                  std::string_view direction, bool batch_first) {
  const Network net(node, input, weight, recurrence, bias, direction, batch_first, {0});
  const RnnTanhResult found =
      rnn_tanh(net.input, net.first_state(hidden), net.parameters, net.has_biases(), 1, 0, false,
               net.is_bidirectional(), false);
  return {net.outputs(found.output), net.last_state(found.hidden)};
}

}  // namespace bp::onnx
