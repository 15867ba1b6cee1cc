// Which calls the plugin's kernels get: what a case is for them.
#pragma once

#include <string_view>

#include "cases/case.hpp"
#include "cases/subject.hpp"
#include "inputs/problem.hpp"

namespace bp::conform {

// A call of the direct lane: arguments as a kernel gets them, and where the outputs lie.
struct DirectProblem {
  Problem problem;            // canonical
  std::vector<Laid> outputs;  // with room, without values
  int in_place_of = -1;       // the tensor that is the output as well

  // The outputs' shapes are known after the call.
  bool is_allocated_by_kernel() const;
};

// The form "kernel2" calls the row's second kernel, in the plugin's order, though another one may be preferred.
inline constexpr std::string_view form_of_kernel = "kernel";
// Its place among all of the plugin's; -1 if the form names none.
int place_of_kernel(const Case& one, const Subject& subject);

// What a kernel declares.
struct Declaration {
  std::string_view op;
  const std::vector<bp_arg>& args;  // of the arguments that it knows, then of the outputs
  std::size_t num_known;
};
// Does it take a call of these arguments and outputs? As the core asks, without `supports`.
bool declaration_takes(const Declaration& kernel, const Operator& op,
                       const std::vector<bp_value>& args,
                       const std::vector<const bp_tensor*>& outputs);

// The call that a case makes of the plugin's kernels. False if none of them gets it in one piece.
bool make_direct_call(const Case& one, const Problem& asked, const Subject& subject,
                      DirectProblem& out);

}  // namespace bp::conform
