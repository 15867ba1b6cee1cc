// RNN, LSTM and GRU: what they hold and how they are called.
#include "recurrent.hpp"

#include <backplane/core_ops/creation.hpp>
#include <backplane/core_ops/generated/all.hpp>
#include <backplane/nn/sizes.hpp>
#include <backplane/tensor/check.hpp>

#include "initial.hpp"

namespace bp::nn {
namespace {

void check_options(const char* layer, bool has_cell, const RNNOptions& options,
                   std::int64_t input_size, std::int64_t hidden_size) {
  BP_CHECK(input_size >= 0 && hidden_size > 0 && options.num_layers > 0,
           "{}: input_size {}, hidden_size {}, num_layers {}; pass sizes above 0", layer,
           input_size, hidden_size, options.num_layers);
  check_size(layer, "input_size", input_size);
  check_size(layer, "hidden_size", hidden_size);
  check_size(layer, "num_layers", options.num_layers, 1 << 16);
  BP_CHECK(options.dropout >= 0 && options.dropout <= 1,
           "{}: dropout is {}; pass a probability from 0 to 1", layer, options.dropout);
  BP_CHECK(options.proj_size == 0 ||
               (has_cell && options.proj_size > 0 && options.proj_size < hidden_size),
           "{}: proj_size is {} and hidden_size {}; only an LSTM projects, to fewer features",
           layer, options.proj_size, hidden_size);
  BP_CHECK(options.nonlinearity == "tanh" || options.nonlinearity == "relu",
           "{}: the nonlinearity is '{}'; use 'tanh' or 'relu'", layer, options.nonlinearity);
}

}  // namespace

const RNNBase::Kind RNNBase::rnn{"RNN", 1, false};
const RNNBase::Kind RNNBase::lstm{"LSTM", 4, true};
const RNNBase::Kind RNNBase::gru{"GRU", 3, false};

RNNBase::RNNBase(const Kind& kind, std::int64_t input_size, std::int64_t hidden_size,
                 const RNNOptions& options)
    : kind_(&kind), input_size_(input_size), hidden_size_(hidden_size), options_(options) {
  check_options(kind.name, kind.has_cell, options, input_size, hidden_size);
  const std::int64_t rows = kind.num_gates * hidden_size;
  for (std::int64_t run = 0; run < options.num_layers * num_directions(); ++run) {
    const bool is_first = run < num_directions();
    Weights& weights = weights_.emplace_back();
    const auto made = [&](IntList shape) {
      return uniform_parameter(shape, bound_of(static_cast<double>(hidden_size)), options);
    };
    weights.weight_ih = made({rows, is_first ? input_size : output_size() * num_directions()});
    weights.weight_hh = made({rows, output_size()});
    if (options.bias) {
      weights.bias_ih = made({rows});
      weights.bias_hh = made({rows});
    }
    if (options.proj_size > 0) weights.weight_hr = made({options.proj_size, hidden_size});
  }
}

void RNNBase::list_parts(Parts& parts) {
  for (std::size_t run = 0; run < weights_.size(); ++run) {
    const auto directions = static_cast<std::size_t>(num_directions());
    const std::string suffix =
        fmt::format("_l{}{}", run / directions, run % directions ? "_reverse" : "");
    Weights& weights = weights_[run];
    parts.parameter("weight_ih" + suffix, weights.weight_ih);
    parts.parameter("weight_hh" + suffix, weights.weight_hh);
    parts.parameter("bias_ih" + suffix, weights.bias_ih);
    parts.parameter("bias_hh" + suffix, weights.bias_hh);
    parts.parameter("weight_hr" + suffix, weights.weight_hr);
  }
}

std::string RNNBase::extra_repr() const {
  const RNNOptions& o = options_;
  std::string text = fmt::format("{}, {}", input_size_, hidden_size_);
  if (o.proj_size != 0) text += fmt::format(", proj_size={}", o.proj_size);
  if (o.num_layers != 1) text += fmt::format(", num_layers={}", o.num_layers);
  if (!o.bias) text += ", bias=False";
  if (o.batch_first) text += ", batch_first=True";
  if (o.dropout != 0) text += ", dropout=" + repr(o.dropout);
  if (o.bidirectional) text += ", bidirectional=True";
  return text;
}

RNNBase::Weights& RNNBase::weights(std::int64_t layer, bool is_reverse) {
  BP_CHECK(layer >= 0 && layer < options_.num_layers && (!is_reverse || options_.bidirectional),
           "{}: no {} direction of layer {}; there are {} layers, {}", kind_->name,
           is_reverse ? "reverse" : "forward", layer, options_.num_layers,
           options_.bidirectional ? "of both directions" : "of the forward direction");
  return weights_[static_cast<std::size_t>(layer * num_directions() + (is_reverse ? 1 : 0))];
}

// The first states [layers * directions, batch, features], zeros where none are given.
std::vector<Tensor> RNNBase::first_states(std::vector<Tensor> states, const Tensor& input,
                                          std::int64_t batch, bool is_batched) const {
  const std::int64_t runs = options_.num_layers * num_directions();
  states.resize(kind_->has_cell ? 2 : 1);
  BP_CHECK(!kind_->has_cell || states[0].defined() == states[1].defined(),
           "{}: one of the two states is missing; pass both, or none", kind_->name);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::int64_t size = i == 0 ? output_size() : hidden_size_;
    Tensor& state = states[i];
    if (!state.defined()) {
      state = zeros({runs, batch, size}, input.dtype(), input.device());
      continue;
    }
    const Dims wanted = is_batched ? Dims({runs, batch, size}) : Dims({runs, size});
    BP_CHECK(state.shape() == IntList(wanted), "{}: the {} state has shape {}; pass one of {}",
             kind_->name, i == 0 ? "hidden" : "cell", bp::to_string(state.shape()),
             bp::to_string(IntList(wanted)));
    if (!is_batched) state = unsqueeze(state, 1);
  }
  return states;
}

std::vector<Tensor> RNNBase::run(const Tensor& input, std::vector<Tensor> states) const {
  BP_CHECK(input.ndim() == 2 || input.ndim() == 3,
           "{}: the input has shape {}; pass [steps, batch, {}], or [steps, {}] without a batch",
           kind_->name, bp::to_string(input.shape()), input_size_, input_size_);
  BP_CHECK(input.size(-1) == input_size_, "{}: the input has {} features, input_size is {}",
           kind_->name, input.size(-1), input_size_);
  const bool is_batched = input.ndim() == 3;
  const bool batch_first = is_batched && options_.batch_first;
  const Tensor batched = is_batched ? input : unsqueeze(input, 1);
  const std::int64_t batch = batched.size(batch_first ? 0 : 1);
  const std::int64_t steps = batched.size(batch_first ? 1 : 0);
  BP_CHECK(steps > 0, "{}: the input has shape {}, and no step; pass one at least", kind_->name,
           bp::to_string(input.shape()));
  states = first_states(std::move(states), input, batch, is_batched);
  std::vector<Tensor> results;
  if (options_.proj_size == 0) {
    results = run_row(batched, states, batch_first, weights_, options_.num_layers,
                      options_.bidirectional);
  } else {
    const Tensor in_steps = batch_first ? transpose(batched, 0, 1) : batched;
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(steps), batch);
    results = run_layers(reshape(in_steps, {steps * batch, input_size_}), sizes, states);
    results[0] = reshape(results[0], {steps, batch, -1});
    if (batch_first) results[0] = transpose(results[0], 0, 1);
  }
  if (!is_batched)
    for (Tensor& each : results) each = squeeze(each, 1);
  return results;
}

namespace {

void check_batch_sizes(const char* layer, const std::vector<std::int64_t>& sizes,
                       std::int64_t num_elements) {
  BP_CHECK(!sizes.empty(), "{}: the packed input has no step; pass one at least", layer);
  std::int64_t left = num_elements;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    BP_CHECK(sizes[i] > 0 && (i == 0 || sizes[i] <= sizes[i - 1]),
             "{}: batch_sizes has {} at step {}{}; they are above 0 and never rise", layer,
             sizes[i], i, i == 0 ? "" : fmt::format(" after {}", sizes[i - 1]));
    left = sizes[i] > left ? -1 : left - sizes[i];
    if (left < 0) break;
  }
  BP_CHECK(
      left == 0,
      "{}: batch_sizes do not add up to the {} elements that are packed; pass what packing gave",
      layer, num_elements);
}

}  // namespace

std::vector<Tensor> RNNBase::run_packed(const PackedSequence& input,
                                        std::vector<Tensor> states) const {
  BP_CHECK(input.data.ndim() == 2 && input.data.size(1) == input_size_,
           "{}: the packed input has shape {}; pass [elements, {}]", kind_->name,
           bp::to_string(input.data.shape()), input_size_);
  BP_CHECK(input.batch_sizes.ndim() == 1 && input.batch_sizes.dtype() == i64,
           "{}: batch_sizes is {} of shape {}; pass what packing gave", kind_->name,
           bp::name(input.batch_sizes.dtype()), bp::to_string(input.batch_sizes.shape()));
  const std::vector<std::int64_t> sizes = to_vector<std::int64_t>(cpu(input.batch_sizes));
  check_batch_sizes(kind_->name, sizes, input.data.size(0));
  check_order(kind_->name, input, sizes[0]);
  const auto in_order = [](std::vector<Tensor>& all, std::size_t first, const Tensor& order) {
    for (std::size_t i = first; order.defined() && i < all.size(); ++i)
      if (all[i].defined()) all[i] = index_select(all[i], 1, order);
  };
  states = first_states(std::move(states), input.data, sizes[0], true);
  in_order(states, 0, input.sorted_indices);
  std::vector<Tensor> results = run_layers(input.data, sizes, states);
  in_order(results, 1, input.unsorted_indices);
  return results;
}

std::vector<Tensor> RNNBase::forward_all(std::span<const Tensor> inputs) const {
  BP_CHECK(!inputs.empty() && inputs.size() <= (kind_->has_cell ? 3 : 2),
           "{}: got {} tensors; pass the input and the first states", kind_->name, inputs.size());
  return run(inputs[0], {inputs.begin() + 1, inputs.end()});
}

std::vector<Tensor> RNNBase::call_padded(const Tensor& input, const Tensor& hidden,
                                         const Tensor& cell) const {
  return call({input, hidden, cell}, [](const Module& self, std::span<const Tensor> in) {
    return static_cast<const RNNBase&>(self).run(in[0], {in[1], in[2]});
  });
}

std::vector<Tensor> RNNBase::call_packed(const PackedSequence& input, const Tensor& hidden,
                                         const Tensor& cell) const {
  return call({input.data, hidden, cell}, [&](const Module& self, std::span<const Tensor> in) {
    PackedSequence packed = input;
    packed.data = in[0];
    return static_cast<const RNNBase&>(self).run_packed(packed, {in[1], in[2]});
  });
}

namespace {

PackedSequence with_data(const PackedSequence& like, const Tensor& data) {
  return {data, like.batch_sizes, like.sorted_indices, like.unsorted_indices};
}

}  // namespace

RNNResult RNN::operator()(const Tensor& input, const Tensor& hx) const {
  const std::vector<Tensor> results = call_padded(input, hx, {});
  return {results[0], results[1]};
}

PackedRNNResult RNN::operator()(const PackedSequence& input, const Tensor& hx) const {
  const std::vector<Tensor> results = call_packed(input, hx, {});
  return {with_data(input, results[0]), results[1]};
}

LSTMResult LSTM::operator()(const Tensor& input, const Tensor& hx, const Tensor& cx) const {
  const std::vector<Tensor> results = call_padded(input, hx, cx);
  return {results[0], results[1], results[2]};
}

PackedLSTMResult LSTM::operator()(const PackedSequence& input, const Tensor& hx,
                                  const Tensor& cx) const {
  const std::vector<Tensor> results = call_packed(input, hx, cx);
  return {with_data(input, results[0]), results[1], results[2]};
}

RNNResult GRU::operator()(const Tensor& input, const Tensor& hx) const {
  const std::vector<Tensor> results = call_padded(input, hx, {});
  return {results[0], results[1]};
}

PackedRNNResult GRU::operator()(const PackedSequence& input, const Tensor& hx) const {
  const std::vector<Tensor> results = call_packed(input, hx, {});
  return {with_data(input, results[0]), results[1]};
}

}  // namespace bp::nn
