#include "recurrence.hpp"

#include "checks.hpp"
#include "rules.hpp"

namespace bp::rules {
namespace {

void check_like_input(const RecurrentNetwork& net, const TensorImpl& input, const char* what,
                      const TensorImpl& other) {
  BP_CHECK(dtype_of(other) == dtype_of(input), "{}: input is {} and {} is {}; cast one of them",
           net.op, name(dtype_of(input)), what, name(dtype_of(other)));
}

std::int64_t num_sequences(const RecurrentNetwork& net, const TensorImpl& input) {
  return input.shape[net.batch_first ? 0 : 1];
}

}  // namespace

void check_states(const RecurrentNetwork& net, const TensorImpl& input, const TensorImpl& state,
                  std::size_t num_params) {
  BP_CHECK(input.abi.dl.ndim == 3 && state.abi.dl.ndim == 3,
           "{}: input has shape {} and the state {}; both need three dimensions", net.op,
           bp::to_string(shape_of(input)), bp::to_string(shape_of(state)));
  check_like_input(net, input, "the state", state);
  BP_CHECK(net.num_layers >= 1, "{}: {} layers; pass 1 or more", net.op, net.num_layers);
  // First without a product, which could overflow.
  BP_CHECK(static_cast<std::size_t>(net.num_layers) <= num_params &&
               num_params == net.num_runs() * net.num_params(),
           "{}: {} weights; {} layers in {} directions need {} each", net.op, num_params,
           net.num_layers, net.num_directions(), net.num_directions() * net.num_params());
  const std::int64_t batch = num_sequences(net, input), hidden = state.shape[2];
  BP_CHECK(state.shape[0] == static_cast<std::int64_t>(net.num_runs()) && state.shape[1] == batch,
           "{}: a state of shape {}; {} layers in {} directions and {} sequences need [{}, {}, {}]",
           net.op, bp::to_string(shape_of(state)), net.num_layers, net.num_directions(), batch,
           net.num_runs(), batch, hidden);
  BP_CHECK(input.shape[net.batch_first ? 1 : 0] > 0,
           "{}: input has shape {}; pass one step or more", net.op, bp::to_string(shape_of(input)));
  BP_CHECK(!net.train || (net.dropout >= 0 && net.dropout <= 1),
           "{}: dropout {} is not a probability; pass one from 0 to 1", net.op, net.dropout);
}

void check_param(const RecurrentNetwork& net, const TensorImpl& input, const TensorImpl& state,
                 std::size_t number, const TensorImpl& param) {
  check_like_input(net, input, "a weight", param);
  const std::int64_t hidden = state.shape[2];
  const std::int64_t rows = checked_numel(net.op, Dims{net.num_gates, hidden});
  const bool is_first_layer = number < net.num_directions() * net.num_params();
  const auto directions = static_cast<std::int64_t>(net.num_directions());
  Dims wanted{rows};
  if (number % net.num_params() == 0)
    wanted.push_back(is_first_layer ? input.shape[2]
                                    : checked_numel(net.op, Dims{directions, hidden}));
  else if (number % net.num_params() == 1)
    wanted.push_back(hidden);
  BP_CHECK(shape_of(param) == IntList(wanted),
           "{}: weight {} has shape {}; for input of {} and states of {} it needs {}", net.op,
           number, bp::to_string(shape_of(param)), input.shape[2], hidden,
           bp::to_string(IntList(wanted)));
}

void check_cell(const TensorImpl& hidden, const TensorImpl& cell) {
  BP_CHECK(shape_of(cell) == shape_of(hidden), "lstm: states of shape {} and {}; make them equal",
           bp::to_string(shape_of(hidden)), bp::to_string(shape_of(cell)));
  BP_CHECK(dtype_of(cell) == dtype_of(hidden), "lstm: states of {} and {}; cast one of them",
           name(dtype_of(hidden)), name(dtype_of(cell)));
}

namespace {

void infer_recurrence(const Call& call, Inferred& out, const TensorImpl& state,
                      std::int64_t num_gates) {
  const TensorImpl& input = impl_arg(call, 0);
  check_dtype(call.op, dtype_of(input));
  const RecurrentNetwork net{call.op.name(),    bool_arg(call, 3), int_arg(call, 4),
                             real_arg(call, 5), bool_arg(call, 6), bool_arg(call, 7),
                             bool_arg(call, 8), num_gates};
  auto* params = static_cast<const bp_tensor* const*>(call.args[2].u.ptr);
  check_network(net, input, state, call.args[2].aux,
                [&](std::size_t i) -> const TensorImpl& { return *TensorImpl::of(params[i]); });
  const Dtype dtype = dtype_of(input);
  const auto directions = static_cast<std::int64_t>(net.num_directions());
  out.compute_dtype = dtype;
  out.outputs[0] = {
      dtype,
      {input.shape[0], input.shape[1], checked_numel(net.op, Dims{directions, state.shape[2]})}};
  for (std::uint32_t i = 1; i < call.num_results; ++i)
    out.outputs[i] = {dtype, Dims(shape_of(state))};
}

}  // namespace

void lstm(const Call& call, Inferred& out) {
  const bp_value& list = call.args[1];
  auto* states = static_cast<const bp_tensor* const*>(list.u.ptr);
  BP_CHECK(list.aux == 2, "lstm: {} states; pass the hidden and the cell state", list.aux);
  const TensorImpl &hidden = *TensorImpl::of(states[0]), &cell = *TensorImpl::of(states[1]);
  check_cell(hidden, cell);
  infer_recurrence(call, out, hidden, 4);
}

void gru(const Call& call, Inferred& out) {
  infer_recurrence(call, out, impl_arg(call, 1), 3);
}

void plain_recurrence(const Call& call, Inferred& out) {
  infer_recurrence(call, out, impl_arg(call, 1), 1);
}

}  // namespace bp::rules
