// What recurrent layers are inside.
#pragma once

#include <backplane/nn/packed_sequence.hpp>
#include <backplane/nn/recurrent.hpp>

namespace bp::nn {

struct RNNBase::Kind {
  const char* name;
  std::int64_t num_gates;
  bool has_cell;
};

// What one direction of a layer hands on: outputs [..., features], and states [batch, features].
struct RNNBase::Pass {
  Tensor output, hidden, cell;
};

// Throws bad_argument, naming `function`, unless the indices of the sequence, where there are some, are of `batch` sequences.
void check_order(const char* function, const PackedSequence& sequence, std::int64_t batch);

}  // namespace bp::nn
