// What the rows of recurrent networks check, for their shape rules and for their decompositions.
#pragma once

#include <cstdint>

#include <backplane/tensor/check.hpp>

#include "arguments.hpp"

namespace bp {

// What a row was called with, but for its tensors.
struct RecurrentNetwork {
  const char* op;
  bool has_biases;
  std::int64_t num_layers;
  double dropout;
  bool train, bidirectional, batch_first;
  std::int64_t num_gates;

  std::size_t num_directions() const { return bidirectional ? 2 : 1; }
  std::size_t num_params() const { return has_biases ? 4 : 2; }
  // A layer runs once in each direction.
  std::size_t num_runs() const { return static_cast<std::size_t>(num_layers) * num_directions(); }
};

namespace rules {

void check_states(const RecurrentNetwork& net, const TensorImpl& input, const TensorImpl& state,
                  std::size_t num_params);
// `number`: its place in the list.
void check_param(const RecurrentNetwork& net, const TensorImpl& input, const TensorImpl& state,
                 std::size_t number, const TensorImpl& param);

// Throws unless the tensors fit together; `param(i)` is parameter i.
template <class Param>
void check_network(const RecurrentNetwork& net, const TensorImpl& input, const TensorImpl& state,
                   std::size_t num_params, Param param) {
  check_states(net, input, state, num_params);
  for (std::size_t i = 0; i < num_params; ++i) check_param(net, input, state, i, param(i));
}

// That the cell of a long short-term memory is as its hidden state.
void check_cell(const TensorImpl& hidden, const TensorImpl& cell);

}  // namespace rules
}  // namespace bp
