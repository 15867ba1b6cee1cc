// Networks that carry a state along a sequence, and their single steps.
#pragma once

#include <cstdint>
#include <string>

#include <backplane/loading/loader.hpp>
#include <backplane/nn/module.hpp>
#include <backplane/nn/packed_sequence.hpp>
#include <backplane/runtime/settings.hpp>

namespace bp::nn {

struct RNNOptions {
  std::int64_t num_layers = 1;
  std::string nonlinearity = "tanh";  // or "relu"; of RNN alone
  bool bias = true;
  bool batch_first = false;
  double dropout = 0;  // in training, of what passes from layer to layer
  bool bidirectional = false;
  std::int64_t proj_size = 0;  // of LSTM alone: outputs are projected to so many features
  Dtype dtype = default_dtype();
  Device device = default_device();
};

struct RNNResult {
  Tensor
      output;  // [steps, batch, directions * features], [batch, steps, ...] with batch_first, or [steps, ...]
  Tensor
      hidden;  // after the last step: [layers * directions, batch, features], or [layers * directions, features]
};
struct LSTMResult {
  Tensor output, hidden, cell;
};
struct PackedRNNResult {
  PackedSequence output;
  Tensor hidden;
};
struct PackedLSTMResult {
  PackedSequence output;
  Tensor hidden, cell;
};

// The base of RNN, LSTM and GRU. Weights and biases begin uniform in +-1 / sqrt(hidden_size). Their names are
// "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0" (the projection), and the same with "_reverse".
class BP_API RNNBase : public Module {
 public:
  void list_parts(Parts& parts) override;
  std::string extra_repr() const override;
  using Module::forward;
  // The output and the last states, for the input and, optionally, the first states.
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;

  struct Weights {
    Parameter weight_ih;         // [gates * hidden_size, features of the input]
    Parameter weight_hh;         // [gates * hidden_size, features of the output]
    Parameter bias_ih, bias_hh;  // [gates * hidden_size], or absent
    Parameter weight_hr;         // [proj_size, hidden_size], or absent
  };
  // Throws bad_argument if there is no such layer.
  Weights& weights(std::int64_t layer, bool is_reverse = false);

 protected:
  struct Kind;
  RNNBase(const Kind& kind, std::int64_t input_size, std::int64_t hidden_size,
          const RNNOptions& options);
  static const Kind rnn, lstm, gru;

  // Undefined first states are zeros. Gives output, hidden state and, of an LSTM, cell state.
  std::vector<Tensor> run(const Tensor& input, std::vector<Tensor> states) const;
  std::vector<Tensor> run_packed(const PackedSequence& input, std::vector<Tensor> states) const;
  std::vector<Tensor> call_padded(const Tensor& input, const Tensor& hidden,
                                  const Tensor& cell) const;
  std::vector<Tensor> call_packed(const PackedSequence& input, const Tensor& hidden,
                                  const Tensor& cell) const;

 private:
  struct Pass;
  std::int64_t num_directions() const { return options_.bidirectional ? 2 : 1; }
  std::int64_t output_size() const {
    return options_.proj_size > 0 ? options_.proj_size : hidden_size_;
  }
  std::vector<Tensor> first_states(std::vector<Tensor> states, const Tensor& input,
                                   std::int64_t batch, bool is_batched) const;
  std::vector<Tensor> run_row(const Tensor& input, const std::vector<Tensor>& states,
                              bool batch_first, std::span<const Weights> weights,
                              std::int64_t num_layers, bool bidirectional) const;
  Pass run_steps(const Tensor& input, const Pass& before, const Weights& weights) const;
  Pass run_direction(const Tensor& data, const std::vector<std::int64_t>& batch_sizes,
                     const Pass& before, const Weights& weights, bool is_reverse) const;
  std::vector<Tensor> run_layers(const Tensor& data, const std::vector<std::int64_t>& batch_sizes,
                                 const std::vector<Tensor>& states) const;

  const Kind* kind_;
  std::int64_t input_size_, hidden_size_;
  RNNOptions options_;
  std::vector<Weights> weights_;  // of layer 0, its reverse direction, of layer 1, ...
};

// h' = tanh(W_ih x + b_ih + W_hh h + b_hh) (Elman, Finding structure in time, 1990).
class BP_API RNN : public RNNBase {
 public:
  RNN(std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& options = {})
      : RNNBase(rnn, input_size, hidden_size, options) {}
  RNNResult operator()(const Tensor& input, const Tensor& hx = {}) const;
  PackedRNNResult operator()(const PackedSequence& input, const Tensor& hx = {}) const;
};

// Gates i, f, g, o (Hochreiter and Schmidhuber, Long short-term memory, 1997).
class BP_API LSTM : public RNNBase {
 public:
  LSTM(std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& options = {})
      : RNNBase(lstm, input_size, hidden_size, options) {}
  LSTMResult operator()(const Tensor& input, const Tensor& hx = {}, const Tensor& cx = {}) const;
  PackedLSTMResult operator()(const PackedSequence& input, const Tensor& hx = {},
                              const Tensor& cx = {}) const;
};

// Gates r, z, n (Cho et al., Learning phrase representations using RNN encoder-decoder, 2014).
class BP_API GRU : public RNNBase {
 public:
  GRU(std::int64_t input_size, std::int64_t hidden_size, const RNNOptions& options = {})
      : RNNBase(gru, input_size, hidden_size, options) {}
  RNNResult operator()(const Tensor& input, const Tensor& hx = {}) const;
  PackedRNNResult operator()(const PackedSequence& input, const Tensor& hx = {}) const;
};

struct RNNCellOptions {
  bool bias = true;
  std::string nonlinearity = "tanh";  // or "relu"; of RNNCell alone
  Dtype dtype = default_dtype();
  Device device = default_device();
};

// One step. Inputs are [batch, input_size], or [input_size]; a first state that is not given is zeros.
class BP_API RNNCellBase : public Module {
 public:
  void list_parts(Parts& parts) override;
  std::string extra_repr() const override;
  using Module::forward;

  Parameter weight_ih;         // [gates * hidden_size, input_size]
  Parameter weight_hh;         // [gates * hidden_size, hidden_size]
  Parameter bias_ih, bias_hh;  // [gates * hidden_size], or absent

 protected:
  RNNCellBase(std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size,
              const RNNCellOptions& options);
  // The state, or zeros. Throws bad_argument, naming the class, for sizes that do not fit.
  Tensor checked_state(const Tensor& input, const Tensor& state) const;

  std::int64_t input_size_, hidden_size_;
  RNNCellOptions options_;
};

class BP_API RNNCell : public RNNCellBase {
 public:
  RNNCell(std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& options = {});
  Tensor operator()(const Tensor& input, const Tensor& hx = {}) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
};

class BP_API LSTMCell : public RNNCellBase {
 public:
  LSTMCell(std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& options = {})
      : RNNCellBase(4, input_size, hidden_size, options) {}
  // The hidden and the cell state.
  std::pair<Tensor, Tensor> operator()(const Tensor& input, const Tensor& hx = {},
                                       const Tensor& cx = {}) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
};

class BP_API GRUCell : public RNNCellBase {
 public:
  GRUCell(std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& options = {})
      : RNNCellBase(3, input_size, hidden_size, options) {}
  Tensor operator()(const Tensor& input, const Tensor& hx = {}) const;
  std::vector<Tensor> forward_all(std::span<const Tensor> inputs) const override;
};

}  // namespace bp::nn
