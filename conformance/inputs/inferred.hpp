// What the row's shape rule says of a call, found from metadata alone.
#pragma once

#include <deque>
#include <vector>

#include <backplane/dispatcher/operator.hpp>

#include "inputs/problem.hpp"

namespace bp::conform {

struct InferredCall {
  std::vector<Tensor>
      tensors;  // one for each of the problem's, without memory unless the rule reads values
  std::vector<bp_value> args;  // in schema order, defaults filled in, rewritten by the rule
  std::deque<std::vector<const bp_tensor*>> lists;
  Inferred inferred;
  // The position in Problem::tensors.
  int position_of(const bp_tensor* tensor) const;
};

// Does the row have a rule (composite rows and views have none)?
bool has_rule(const Operator& op);
// How many results the call has; of one that must be refused, as many as the schema names.
std::size_t count_results(const Problem& problem);
// Throws what the rule throws.
void infer_call(const Problem& problem, InferredCall& out);

}  // namespace bp::conform
