// What reductions share: which dimensions go and which stay. Inside kernels/.
#pragma once

#include <optional>

#include <backplane/plugin/values.hpp>

#include "tile/space.hpp"

namespace bp::cpu {

// A reduction's two spaces. Elements of the input are kept offset + reduced offset from its element 0.
struct ReductionPlan {
  tile::Space kept;     // operand 0: the input, operand 1: the output
  tile::Space reduced;  // operand 0: the input
  // How often each reduced element counts: dimensions of stride 0 are left out of the space.
  int64_t repeats = 1;

  // `dims`: none for all. `in_order`: the reduced elements are visited in logical order and none is left out, for who counts them.
  ReductionPlan(const bp_tensor& in, const bp_tensor& out, const std::optional<Ints>& dims,
                bool in_order = false);

  // The elements that lie closest together are reduced, and not kept.
  bool reduces_rows() const;
};

}  // namespace bp::cpu
