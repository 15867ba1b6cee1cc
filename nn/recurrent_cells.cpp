// Single steps of recurrent layers.
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/core_ops/operators.hpp>
#include <backplane/nn/recurrent.hpp>
#include <backplane/tensor/check.hpp>

#include "initial.hpp"

namespace bp::nn {

RNNCellBase::RNNCellBase(std::int64_t gates, std::int64_t input_size, std::int64_t hidden_size,
                         const RNNCellOptions& options)
    : input_size_(input_size), hidden_size_(hidden_size), options_(options) {
  BP_CHECK(input_size >= 0 && hidden_size > 0,
           "RNNCell: input_size {} and hidden_size {}; pass sizes above 0", input_size,
           hidden_size);
  check_size("RNNCell", "input_size", input_size);
  check_size("RNNCell", "hidden_size", hidden_size);
  const auto made = [&](IntList shape) {
    return uniform_parameter(shape, bound_of(static_cast<double>(hidden_size)), options);
  };
  weight_ih = made({gates * hidden_size, input_size});
  weight_hh = made({gates * hidden_size, hidden_size});
  if (!options.bias) return;
  bias_ih = made({gates * hidden_size});
  bias_hh = made({gates * hidden_size});
}

void RNNCellBase::list_parts(Parts& parts) {
  parts.parameter("weight_ih", weight_ih);
  parts.parameter("weight_hh", weight_hh);
  parts.parameter("bias_ih", bias_ih);
  parts.parameter("bias_hh", bias_hh);
}

std::string RNNCellBase::extra_repr() const {
  return fmt::format(
      "{}, {}{}{}", input_size_, hidden_size_, options_.bias ? "" : ", bias=False",
      options_.nonlinearity == "tanh" ? "" : ", nonlinearity=" + options_.nonlinearity);
}

Tensor RNNCellBase::checked_state(const Tensor& input, const Tensor& state) const {
  BP_CHECK((input.ndim() == 1 || input.ndim() == 2) && input.size(-1) == input_size_,
           "{}: the input has shape {}; pass [batch, {}], or [{}]", type_name(),
           bp::to_string(input.shape()), input_size_, input_size_);
  std::vector<std::int64_t> wanted(input.shape().begin(), input.shape().end());
  wanted.back() = hidden_size_;
  if (!state.defined()) return zeros(wanted, input.dtype(), input.device());
  BP_CHECK(state.shape() == IntList(wanted), "{}: the state has shape {}; pass one of {}",
           type_name(), bp::to_string(state.shape()), bp::to_string(IntList(wanted)));
  return state;
}

namespace {

Tensor input_at(std::span<const Tensor> inputs, std::size_t index) {
  return index < inputs.size() ? inputs[index] : Tensor();
}

void check_count(const Module& cell, std::span<const Tensor> inputs, std::size_t most) {
  BP_CHECK(!inputs.empty() && inputs.size() <= most,
           "{}: got {} tensors; pass the input and the first state", cell.type_name(),
           inputs.size());
}

}  // namespace

RNNCell::RNNCell(std::int64_t input_size, std::int64_t hidden_size, const RNNCellOptions& options)
    : RNNCellBase(1, input_size, hidden_size, options) {
  BP_CHECK(options.nonlinearity == "tanh" || options.nonlinearity == "relu",
           "RNNCell: the nonlinearity is '{}'; use 'tanh' or 'relu'", options.nonlinearity);
}

Tensor RNNCell::operator()(const Tensor& input, const Tensor& hx) const {
  return call_all({input, hx})[0];
}

std::vector<Tensor> RNNCell::forward_all(std::span<const Tensor> inputs) const {
  check_count(*this, inputs, 2);
  const Tensor state = checked_state(inputs[0], input_at(inputs, 1));
  const Tensor sum = linear(inputs[0], weight_ih, bias_ih) + linear(state, weight_hh, bias_hh);
  return {options_.nonlinearity == "relu" ? relu(sum) : tanh(sum)};
}

std::pair<Tensor, Tensor> LSTMCell::operator()(const Tensor& input, const Tensor& hx,
                                               const Tensor& cx) const {
  const std::vector<Tensor> results = call_all({input, hx, cx});
  return {results[0], results[1]};
}

std::vector<Tensor> LSTMCell::forward_all(std::span<const Tensor> inputs) const {
  check_count(*this, inputs, 3);
  BP_CHECK(input_at(inputs, 1).defined() == input_at(inputs, 2).defined(),
           "LSTMCell: one of the two states is missing; pass both, or none");
  const Tensor hidden = checked_state(inputs[0], input_at(inputs, 1));
  const Tensor cell = checked_state(inputs[0], input_at(inputs, 2));
  const std::vector<Tensor> gates =
      chunk(linear(inputs[0], weight_ih, bias_ih) + linear(hidden, weight_hh, bias_hh), 4, -1);
  const Tensor next = sigmoid(gates[1]) * cell + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(next), next};
}

Tensor GRUCell::operator()(const Tensor& input, const Tensor& hx) const {
  return call_all({input, hx})[0];
}

std::vector<Tensor> GRUCell::forward_all(std::span<const Tensor> inputs) const {
  check_count(*this, inputs, 2);
  const Tensor state = checked_state(inputs[0], input_at(inputs, 1));
  const std::vector<Tensor> of_input = chunk(linear(inputs[0], weight_ih, bias_ih), 3, -1);
  const std::vector<Tensor> of_state = chunk(linear(state, weight_hh, bias_hh), 3, -1);
  const Tensor reset = sigmoid(of_input[0] + of_state[0]);
  const Tensor update = sigmoid(of_input[1] + of_state[1]);
  const Tensor fresh = tanh(of_input[2] + reset * of_state[2]);
  return {fresh + update * (state - fresh)};
}

}  // namespace bp::nn
