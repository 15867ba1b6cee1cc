// What recurrent layers are inside.
#pragma once

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

}  // namespace bp::nn
