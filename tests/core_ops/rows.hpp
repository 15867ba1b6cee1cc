// What several tests of the table begin with.
#pragma once

#include <vector>

#include <backplane/dispatcher/operator_source.hpp>
#include <backplane/samples/row_facts.hpp>
#include <backplane/tensors.hpp>

namespace bp::test {

// The operators that come from the table.
inline std::vector<Operator*> rows() {
  ensure_operators();
  std::vector<Operator*> found;
  for (Operator* op : registered_operators())
    if (find_row_facts(op->name())) found.push_back(op);
  return found;
}

// A shape and a dtype, without values.
inline Tensor meta(IntList shape, Dtype dtype = f32) {
  return empty(shape, dtype, meta_device);
}

}  // namespace bp::test
